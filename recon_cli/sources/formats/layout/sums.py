"""Rows of counts that are sums of other rows, as far as suppressed and rounded counts tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from recon_cli.arrays import FloatArray
from recon_cli.statement.suppression import threshold_of

_GROUPED: Final = re.compile(r"(\d{1,3})([,' \u00a0\u202f]\d{3})+")
#: Multiples of a base in fewer counts may be chance.
_FEWEST: Final = 12
#: A sum of fewer people, or in fewer columns, may be chance.
_FEWEST_PEOPLE: Final = 10
_FEWEST_COLUMNS: Final = 2


@dataclass(frozen=True)
class CountRows:
    """True counts between two ends.

    Attributes:
        low: (rows × columns) Least counts.
        high: (rows × columns) Greatest counts, infinite where nothing says; so is a count that is
            not there.
        is_exact: (rows × columns) Whether a number is written.
    """

    low: FloatArray
    high: FloatArray
    is_exact: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]]) -> CountRows:
        """Counts as they are written."""
        numbers = [[_number(text) for text in row] for row in texts]
        known = [n for row in numbers for n in row if n]
        base = int(np.gcd.reduce(known)) if len(known) >= _FEWEST else 1
        exact = np.array([[number is not None for number in row] for row in numbers])
        return cls(*interval_ends(texts, _number, base), exact)

    def add_up(self, total: int, parts: Sequence[int]) -> bool:
        """Whether a row can be the sum of others, in every column."""
        return self.share_that_adds_up(total, parts) == 1

    def share_that_adds_up(self, total: int, parts: Sequence[int]) -> float:
        """In which share of the columns a row can be the sum of others."""
        low, high = self.low[list(parts)].sum(axis=0), self.high[list(parts)].sum(axis=0)
        return float(((low <= self.high[total]) & (self.low[total] <= high)).mean())

    def is_surely_sum(self, total: int, parts: Sequence[int]) -> bool:
        """Whether a row is the sum of two others or more, and hardly by chance."""
        if len(parts) < 2 or not self.add_up(total, parts):
            return False
        told = self.is_exact[total] & np.isfinite(self.high[list(parts)]).all(axis=0)
        greatest = self.high[list(parts)].max(axis=0)
        positive = told & (self.low[total] > greatest)
        return bool(
            np.count_nonzero(positive) >= _FEWEST_COLUMNS
            and self.low[total][positive].sum() >= _FEWEST_PEOPLE
        )

    def first_difference(
        self, total: int, parts: Sequence[int]
    ) -> tuple[int, int, int, float] | None:
        """The first column whose parts are not the total: column, total, ends of their sum."""
        rows = list(parts)
        low, high = self.low[rows].sum(axis=0), self.high[rows].sum(axis=0)
        wrong = (low > self.high[total]) | (self.low[total] > high)
        if not wrong.any():
            return None
        at = int(np.argmax(wrong))
        return at, int(self.low[total, at]), int(low[at]), high[at]

    def blocks(self, rows: Sequence[int]) -> dict[int, list[int]]:
        """Row → the rows beside it of which it is surely the sum, if all rows are in such blocks.

        The totals all stand before their parts, or all behind them.
        """
        for order in (list(rows), list(reversed(rows))):
            found: dict[int, list[int]] = {}
            start = 0
            while start < len(order):
                total = order[start]
                end = next(
                    (
                        stop
                        for stop in range(start + 3, len(order) + 1)
                        if self.is_surely_sum(total, order[start + 1 : stop])
                    ),
                    None,
                )
                if end is None:
                    break
                found[total] = order[start + 1 : end]
                start = end
            if start == len(order) and found:
                return found
        return {}


def interval_ends(
    texts: Sequence[Sequence[str]], number_of: Callable[[str], int | None], base: int
) -> tuple[FloatArray, FloatArray]:
    """Least and greatest true counts: 0 and infinite of what is no number and says no threshold.

    Args:
        texts: Counts as they are written, row by row.
        number_of: The number that a text is; None of others.
        base: Less than this is a number away from the true count.
    """
    low = np.zeros((len(texts), len(texts[0]) if texts else 0))
    high = np.full(low.shape, np.inf)
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            if (number := number_of(text)) is not None:
                low[i, j], high[i, j] = max(number - base + 1, 0), number + base - 1
            elif (below := threshold_of(text.strip())) is not None:
                high[i, j] = below - 1
    return low, high


def _number(text: str) -> int | None:
    plain = text.strip()
    if _GROUPED.fullmatch(plain):
        plain = re.sub(r"[,' \u00a0\u202f]", "", plain)
    return int(plain) if plain.isdecimal() and plain.isascii() else None
