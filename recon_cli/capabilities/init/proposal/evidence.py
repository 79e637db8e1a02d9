"""Sums of lines, and how far their numbers bear them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: A coincidence among all that were tried is less likely than one in two to this power.
MARGIN_BITS: Final = 3.0
#: Shown positions of a relation that needs no question.
STRONG_POSITIONS: Final = 2
#: A sum that is no further from chance needs a word, or others like it, to be taken for one.
CERTAIN_BITS: Final = 10.0


@dataclass(frozen=True)
class Support:
    """Say how far the numbers bear a relation out.

    Attributes:
        shown: Positions in which all numbers are printed, and agree.
        open: Positions in which a text or a blank leaves it possible.
        broken: Positions in which it cannot hold.
        bits: How unlikely that much agreement is by chance, as a power of two.
        tried: How many relations were tried beside it, as a power of two.
        is_alike: Whether sums that read as it does are shown, and nothing breaks it.
        is_doubted: Whether it is to be asked about, though hardly chance.
        is_said: Whether somebody says so.
    """

    shown: int
    open: int
    broken: int
    bits: float
    tried: float
    is_alike: bool = False
    is_doubted: bool = False
    is_said: bool = False

    @property
    def margin(self) -> float:
        """Return how far it is from what chance makes among all that were tried, as `bits`."""
        return self.bits - self.tried

    @property
    def is_strong(self) -> bool:
        """Test whether two positions show it, hardly by chance, or others that are alike do."""
        return (
            self.is_alike
            or self.is_said
            or (
                not self.is_doubted
                and self.shown >= STRONG_POSITIONS
                and self.margin >= MARGIN_BITS
            )
        )

    @property
    def is_told(self) -> bool:
        """Test whether it is worth a question at least: it beats what chance alone would give."""
        return self.broken == 0 and self.shown >= 1 and self.margin >= MARGIN_BITS


@dataclass(frozen=True)
class Sum:
    """A line, and the lines that add up to it.

    Attributes:
        parts: In order of their places.
        step: Distance between the parts; 0 where totals among them were skipped.
        is_rounded: Whether it holds within the rounding of its numbers only.
        rivals: Other parts that its numbers fit about as well.
        is_complete: Whether all of these, and not it, leave a line beside them to no sum.
    """

    total: int
    parts: tuple[int, ...]
    step: int
    support: Support
    is_rounded: bool = False
    rivals: tuple[tuple[int, ...], ...] = ()
    is_complete: bool = False
