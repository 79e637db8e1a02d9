"""Statements of the user about lines of counts, on what numbers leave open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Said:
    """Statements of the user about lines, on what numbers leave open.

    Attributes:
        counted: Lines that count some of the people of others.
        apart: Lines that exclude each other.
        within: Sums with unnamed parts (`TOTAL = PART + ...`): the total, then its named parts.
    """

    counted: frozenset[int] = frozenset()
    apart: frozenset[int] = frozenset()
    within: tuple[tuple[int, ...], ...] = ()

    @property
    def inner(self) -> dict[int, int]:
        """Map each named part of a sum to its total."""
        return {part: total for total, *parts in self.within for part in parts}


NOTHING_SAID: Final = Said()
