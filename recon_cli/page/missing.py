"""Parts of a page for which the work folder has no data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Missing:
    """A part that the work folder has no data for.

    Attributes:
        why: Half a sentence: what is not there, or does not fit.
        commands: Commands that make it, in this order.
        change: Change to the input that must come first, where commands alone do not make it.
    """

    why: str
    commands: tuple[str, ...]
    change: str = ""

    @property
    def remedy(self) -> str:
        """Return the remedy, as the end of a sentence."""
        steps = enumerate_commands(self.commands)
        return f"{self.change}, then {steps}" if self.change else steps


def enumerate_commands(commands: Sequence[str]) -> str:
    """Join commands in the order in which to type them.

    >>> enumerate_commands(["recon link", "recon score"])
    '`recon link`, then `recon score`'
    """
    return ", then ".join(f"`{command}`" for command in commands)
