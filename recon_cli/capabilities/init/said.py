"""What somebody says of lines of counts that numbers leave open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Said:
    """What somebody says of lines that numbers leave open.

    Attributes:
        counted: Lines that count some of the people of others.
        apart: Lines that exclude each other.
        within: Lines of sums in which others are, too, each total before its parts.
    """

    counted: frozenset[int] = frozenset()
    apart: frozenset[int] = frozenset()
    within: tuple[tuple[int, ...], ...] = ()

    @property
    def inner(self) -> dict[int, int]:
        """Map lines to those whose people they count some of."""
        return {part: total for total, *parts in self.within for part in parts}


NOTHING_SAID: Final = Said()
