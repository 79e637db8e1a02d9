"""Numbers of a table: which are told, which are no counts, and what they are rounded to."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.markers import bounds
from recon_cli.sources.read.regions import Region

#: A column with a larger share of numbers that are not whole has statistics.
_FRACTIONAL: Final = 1 / 3
#: Most distinct negative numbers that may be codes for withheld counts.
_MOST_CODES: Final = 3
#: Fewest numbers that show a base; that fewer are all multiples of it may be chance.
_FEWEST_MULTIPLES: Final = 12
#: Whole numbers up to here may be percentages.
HUNDRED: Final = 100


class TableNumbers:
    """The numbers of a table, rows by columns.

    Attributes:
        numbers: NaN where none is told.
        codes: Negative numbers that stand for what is withheld.
    """

    def __init__(self, grid: Grid, region: Region, withheld: BoolArray | None) -> None:
        self.grid = grid
        self.region = region
        self.at = np.ix_(region.body, region.numeric)
        self.numbers = grid.values[self.at].copy()
        if withheld is not None:
            self.numbers[withheld[self.at]] = np.nan
        self.codes = self._negative_codes()
        self.numbers[np.isin(self.numbers, list(self.codes))] = np.nan

    def _negative_codes(self) -> frozenset[float]:
        """Return negative numbers that stand for withheld counts: few, in columns of counts."""
        decimals = self.grid.decimals[self.at]
        whole = ~((decimals > 0).any(axis=0))
        found = np.unique(self.numbers[:, whole][self.numbers[:, whole] < 0])
        told = self.numbers[:, whole]
        often = [int((told == each).sum()) for each in found.tolist()]
        if not 0 < len(found) <= _MOST_CODES or min(often) < 2:
            return frozenset()
        is_told = ~np.isnan(self.numbers)
        has_others = ((self.numbers >= 0) & is_told).sum(axis=0) > 0
        inside = np.isin(self.numbers, found).any(axis=0)
        return frozenset(found.tolist()) if has_others[inside].all() else frozenset()

    @cached_property
    def known(self) -> BoolArray:
        found: BoolArray = ~np.isnan(self.numbers)
        return found

    @cached_property
    def fractional(self) -> BoolArray:
        """Test for each number whether it cannot be a count: not whole, a percentage, negative."""
        own = self.grid.are_broken(self.at)
        own |= self.grid.percents[self.at] | (self.numbers < 0)
        found: BoolArray = self.known & own
        return found

    @cached_property
    def block(self) -> Intervals:
        """Return the numbers of the table as intervals, rows by columns."""
        unique, inverse = self.grid.coded(self.at)
        ends = np.array([bounds(text) for text in unique]).reshape(-1, 2)
        low, high = ends[inverse, 0], ends[inverse, 1]
        unit = 10.0 ** -np.minimum(self.grid.decimals[self.at], 9)
        return Intervals(
            np.where(self.known, np.nan_to_num(self.numbers), low),
            np.where(self.known, np.nan_to_num(self.numbers), high),
            self.known,
            self.grid.filled[self.at],
            unit,
        )

    def statistics(self) -> tuple[BoolArray, BoolArray]:
        """Return rows, and columns, of statistics: those with numbers that are not whole."""
        told = np.maximum(self.known.sum(axis=0), 1)
        columns = self.fractional.sum(axis=0) / told > 0.5
        inner = ~columns
        rows = np.zeros(len(self.numbers), dtype=bool)
        if inner.any():
            some = self.known[:, inner].sum(axis=1)
            rows = 2 * self.fractional[:, inner].sum(axis=1) > np.maximum(some, 1)
        left = ~rows
        if left.any():
            told = np.maximum(self.known[left].sum(axis=0), 1)
            columns = self.fractional[left].sum(axis=0) / told > _FRACTIONAL
        wholes = np.flatnonzero(~columns).tolist()
        if rows.all() or (columns.any() and all(map(self.is_hundred, wholes))):
            return np.zeros(len(rows), dtype=bool), np.ones(len(columns), dtype=bool)
        return rows, columns

    def is_hundred(self, column: int) -> bool:
        """Test whether all numbers of a column are 100, and there are several."""
        own = self.numbers[:, column][self.known[:, column]]
        return len(own) > 1 and bool((own == HUNDRED).all())

    def base(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> int:
        """Return the number of which all counts are multiples.

        Columns without numbers above a hundred may be percentages, and are used only if the other
        columns have too few numbers.
        """
        own = self.numbers[np.ix_(rows, columns)]
        top = np.nanmax(np.where(np.isnan(own), -1.0, own), axis=0, initial=-1.0)
        large = columns[top > HUNDRED]
        divisors, told = self._divisors(rows, large)
        if told < _FEWEST_MULTIPLES:
            divisors, told = self._divisors(rows, columns)
        # A column that is no count, and not rounded, says nothing of the others.
        rounded = [each for each in divisors if each > 1]
        if told < _FEWEST_MULTIPLES or 2 * len(rounded) <= len(divisors):
            return 1
        return math.gcd(*rounded)

    def _divisors(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> tuple[list[int], int]:
        """Return the greatest common divisor of each column, and the number of counts used."""
        divisors: list[int] = []
        told = 0
        for column in columns.tolist():
            numbers = self.numbers[rows, column][self.known[rows, column]]
            numbers = numbers[(numbers > 0) & (numbers == np.floor(numbers))]
            if len(numbers):
                divisors.append(int(np.gcd.reduce(numbers.astype(np.int64))))
                told += len(numbers)
        return divisors, told


def intervals_of(grid: Grid, region: Region) -> Intervals:
    """Return the numbers of a table as intervals, rows by columns."""
    return TableNumbers(grid, region, None).block


def columns_of(grid: Grid, region: Region) -> Intervals:
    """Return the numbers of all columns in the rows of a table, columns as lines."""
    return intervals_of(grid, replace(region, numeric=np.arange(grid.shape[1]))).transposed
