"""A part of a page for which the work folder has no data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Missing:
    """A part that the work folder does not hold.

    Attributes:
        why: Half a sentence: what is not there, or does not fit.
        commands: What makes it, in this order.
        change: What has to be added to the input before, where commands alone do not make it.
    """

    why: str
    commands: tuple[str, ...]
    change: str = ""

    @property
    def remedy(self) -> str:
        """What to do, as the end of a sentence."""
        steps = _enumerate_commands(self.commands)
        return f"{self.change}, then {steps}" if self.change else steps


def _enumerate_commands(commands: Sequence[str]) -> str:
    """Commands in the order in which they are typed.

    >>> _enumerate_commands(["recon link", "recon score"])
    '`recon link`, then `recon score`'
    """
    return ", then ".join(f"`{command}`" for command in commands)
