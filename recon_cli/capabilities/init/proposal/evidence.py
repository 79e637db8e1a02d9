"""Sums of lines, and how far their numbers bear them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Least margin: chance makes such a relation among all tried once in two to this power, or less.
MARGIN_BITS: Final = 3.0
#: Fewest shown positions of a relation that needs no question.
STRONG_POSITIONS: Final = 2
#: A sum with a smaller margin than this needs a word, or other sums like it, to be accepted.
CERTAIN_BITS: Final = 10.0


@dataclass(frozen=True)
class Support:
    """The evidence of numbers for a relation.

    Attributes:
        shown: Positions in which all numbers are printed, and agree.
        open: Positions in which a text or a blank leaves it possible.
        broken: Positions in which it cannot hold.
        bits: −log2 of the probability of that much agreement by chance.
        tried: log2 of the number of relations that were tried beside this one.
        is_alike: Whether numbers show sums with alike headers, and break this one nowhere.
        is_doubted: Whether to ask about the relation, though it is hardly chance.
        is_said: Whether the user says that the relation holds.
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
        """Return the bits beyond those that chance reaches among all relations tried."""
        return self.bits - self.tried

    @property
    def is_strong(self) -> bool:
        """Test whether the user, alike sums, or enough positions and bits confirm the relation."""
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
        """Test whether the relation is worth a question: shown, unbroken and unlikely by chance."""
        return self.broken == 0 and self.shown >= 1 and self.margin >= MARGIN_BITS


@dataclass(frozen=True)
class Sum:
    """A line, and the lines that add up to it.

    Attributes:
        parts: In order of their places.
        step: Distance between the parts; 0 where totals among them were skipped.
        is_rounded: Whether it holds within the rounding of its numbers only.
        rivals: Other parts that add up to the total about as well.
        is_complete: Whether all of the rivals, but not these parts, leave out a line beside them.
    """

    total: int
    parts: tuple[int, ...]
    step: int
    support: Support
    is_rounded: bool = False
    rivals: tuple[tuple[int, ...], ...] = ()
    is_complete: bool = False
