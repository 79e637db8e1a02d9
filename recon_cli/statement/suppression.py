"""Suppression: small counts are flagged, or published as zero."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

import numpy as np
from pydantic import Field

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.chance import Draws
from recon_cli.frames import OPEN
from recon_cli.statement.law import FLAGGED, CountLimit, Law
from recon_cli.statement.texts import interval_said, threshold_of

#: Texts in place of a suppressed count that agencies use; ``<3`` is read besides.
MARKERS: Final = ("", "*", "x", "X", "..", ":", "c", "C", "-", "#")


def is_marker(text: str) -> bool:
    """Test whether a text stands for a suppressed count in some agency's tables.

    >>> is_marker("<5"), is_marker("*"), is_marker("12")
    (True, True, False)
    """
    return text in MARKERS or threshold_of(text) is not None


class Suppressed(Law):
    """Counts below a threshold are flagged, all others exact.

    Attributes:
        below: Counts under it are suppressed; without it the rule is unknown, and a flag may hide
            any count.
        flagged: Whether a flag may also hide a zero.
        complementary: Whether further counts are flagged to protect those below the threshold, so
            that a flag may hide any count.
    """

    name: ClassVar[str] = "suppressed"

    below: CountLimit | None = None
    flagged: Literal["positive", "may-be-zero"] = "positive"
    complementary: bool = False

    @property
    def _least(self) -> int:
        return 1 if self.flagged == "positive" else 0

    @property
    def keeps_zeros(self) -> bool:
        """Report whether a flag never hides a zero."""
        return self.flagged == "positive"

    def fits(self, published: IntArray) -> BoolArray:
        threshold = 0 if self.below is None else self.below
        found: BoolArray = (published == FLAGGED) | (published == 0) | (published >= threshold)
        return found

    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """Return [c, c]; for a flag [1 or 0, below − 1], or unbounded.

        >>> least, most = Suppressed(below=5).intervals(np.array([FLAGGED, 12]))
        >>> least.tolist(), most.tolist()
        ([1, 12], [4, 12])
        """
        is_open = self.below is None or self.complementary
        most = OPEN if is_open or self.below is None else min(self.below - 1, OPEN)
        is_flag = published == FLAGGED
        return np.where(is_flag, self._least, published), np.where(is_flag, most, published)

    def threshold(self, high: IntArray) -> IntArray:
        """Return the flag's threshold, as in ``<3``, or `below` if a flag may hide any count."""
        return np.where(high < OPEN, high + 1, min(self.below or 0, OPEN))

    def publish(self, counts: IntArray, draws: Draws) -> IntArray:
        """Flag counts below the threshold, as primary suppression does."""
        if self.below is None:
            raise ValueError("suppressed: without `below` there is no rule to suppress by")
        counts, _ = np.broadcast_arrays(counts, draws.words)
        return np.where((counts >= self._least) & (counts < self.below), FLAGGED, counts)

    def reading(self, marker: str) -> Suppressed:
        """Return this rule, with the threshold of a marker such as ``<3`` if it has one."""
        if marker in MARKERS:
            return self
        threshold = threshold_of(marker)
        if threshold is None:
            known = " ".join(repr(each) for each in MARKERS[1:])
            raise ValueError(f"expected a count, nothing, {known} or <3, found {marker!r}")
        if self.below not in {None, threshold} or threshold < 2:
            raise ValueError(f"counts below {self.below} are suppressed, found {marker!r}")
        return self.model_copy(update={"below": threshold, "complementary": False})


class Stated(Law):
    """A text in place of a count says what it can be, such as ``1-9``; numbers are exact.

    Attributes:
        least: Least count of the text that is read.
        most: Greatest count of the text that is read; None if unbounded.
    """

    name: ClassVar[str] = "stated"

    least: Annotated[int, Field(ge=0)] = 0
    most: Annotated[int, Field(ge=0)] | None = None

    @property
    def keeps_zeros(self) -> bool:
        return False

    def fits(self, published: IntArray) -> BoolArray:
        found: BoolArray = (published == FLAGGED) | (published >= 0)
        return found

    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """Return [c, c]; for a text the interval that it states."""
        is_text = published == FLAGGED
        most = OPEN if self.most is None else self.most
        return np.where(is_text, self.least, published), np.where(is_text, most, published)

    def threshold(self, high: IntArray) -> IntArray:
        """Return the first count above the text's interval; 0 if this is unbounded."""
        return np.where(high < OPEN, high + 1, 0)

    def publish(self, counts: IntArray, draws: Draws) -> IntArray:
        _ = np.broadcast_arrays(counts, draws.words)
        raise ValueError("stated: it does not say which counts have a text in their place")

    def reading(self, marker: str) -> Stated:
        """Return the law with the interval that a text states.

        >>> Stated().reading("1-9")
        Stated(least=1, most=9)
        """
        said = interval_said(marker)
        if said is None:
            raise ValueError(f"expected a count or an interval, such as 1-9, found {marker!r}")
        least, most = said
        return Stated(least=least, most=None if most == OPEN else most)


class Zeroed(Law):
    """Counts below a threshold are published as zero, unmarked (the 1980 census).

    Attributes:
        below: Counts under it become zero.
    """

    name: ClassVar[str] = "zeroed"

    below: CountLimit

    @property
    def keeps_zeros(self) -> bool:
        return True

    def fits(self, published: IntArray) -> BoolArray:
        found: BoolArray = (published == 0) | (published >= self.below)
        return found

    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """Return [c, c]; for a zero [0, below − 1]."""
        return published, np.where(published == 0, min(self.below - 1, OPEN), published)

    def threshold(self, high: IntArray) -> IntArray:
        return np.full_like(high, min(self.below, OPEN))

    def publish(self, counts: IntArray, draws: Draws) -> IntArray:
        counts, _ = np.broadcast_arrays(counts, draws.words)
        return np.where(counts < self.below, 0, counts)
