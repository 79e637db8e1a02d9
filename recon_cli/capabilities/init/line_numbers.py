"""Numbers of the lines of a table, and the relations between lines that these numbers allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.possible_sums import possible_splits
from recon_cli.capabilities.init.proposal.relation import Relation

#: Lines are the same if their numbers would agree by chance once in two to this power, or less.
FEWEST_BITS: Final = 10.0

#: Most people left for withheld numbers that count as giving them away.
_FEW: Final = 10
#: Positions in which two totals must agree: in a single one they may do so by chance.
_FEWEST_EQUAL: Final = 2


@dataclass(frozen=True)
class LineNumbers:
    """The numbers of some lines.

    Attributes:
        block: Lines by positions.
        at: Line → its place in the block.
        base: What numbers are rounded to.
    """

    block: Intervals
    at: Mapping[int, int]
    base: int

    def divide_twice(self, one: Relation, other: Relation) -> bool:
        """Test whether two sums divide the same total differently, and so by two features."""
        wholes = self._off(one.line, other.line)
        pairs = zip(one.of, other.of, strict=True)
        slack = 2 * (self.base - 1)
        is_same = len(wholes) >= _FEWEST_EQUAL and bool((wholes <= slack).all())
        return is_same and any((self._off(*pair) > slack).any() for pair in pairs)

    def _off(self, one: int, other: int) -> FloatArray:
        """Return the absolute differences of two lines where both are told."""
        a, b = self.at[one], self.at[other]
        both = self.block.known[a] & self.block.known[b]
        found: FloatArray = np.abs(self.block.low[a] - self.block.low[b])[both]
        return found

    def largest(self, lines: Sequence[int]) -> int:
        """Return the line whose numbers add up to most."""
        return max(lines, key=lambda line: float(self.block.low[self.at[line]].sum()))

    def exceeds(self, largest: int, others: Sequence[int]) -> bool:
        """Test whether a line is nowhere less than others where both are told, else by bounds."""
        block, at = self.block, self.at[largest]
        if not block.low.shape[1]:
            return False
        for line in others:
            own = self.at[line]
            if not (block.present[at] & block.present[own]).any():
                return False
            both = block.known[at] & block.known[own]
            most = block.low[at] if both.any() else block.high[at]
            if (block.low[own] > most)[both if both.any() else slice(None)].any():
                return False
        return True

    def may_exclude(self, whole: int, parts: Sequence[int]) -> bool:
        """Test whether parts of a whole may exclude each other, and would give numbers away.

        Nowhere do they add up to more, and somewhere they leave few people for a withheld part.
        """
        block, at, own = self.block, self.at[whole], [self.at[line] for line in parts]
        slack = (self.base - 1) * (len(parts) + 1)
        low = block.low[own].sum(axis=0)
        left = block.high[at] + slack - low
        is_open = (block.present[own] & ~block.known[own]).any(axis=0)
        return bool((left >= 0).all()) and bool((is_open & (left <= _FEW)).any())

    def may_add_up(self, total: int, parts: Sequence[int]) -> bool:
        """Test whether lines may add up to another, and somewhere at most one is withheld."""
        block = self._lines((total, *parts))
        slack = (self.base - 1) * (len(parts) + 1)
        low, high = block.low[1:].sum(axis=0), block.high[1:].sum(axis=0)
        fits = (low <= block.high[0] + slack) & (high >= block.low[0] - slack)
        telling = (block.known.sum(axis=0) >= len(parts)) & (block.high[0] > 0)
        return bool(fits.all() and telling.any())

    def possible_sums(
        self, total: int, others: Sequence[int]
    ) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Yield the ways in which lines may add up to a total, all of them or in two groups.

        It yields nothing where all numbers are printed: such sums are found by other means.
        """
        block = self._lines((total, *others))
        parts = list(range(1, len(others) + 1))
        slack = (self.base - 1) * (len(others) + 1)
        low, high = block.low[parts].sum(axis=0), block.high[parts].sum(axis=0)
        if block.known.all() or len(parts) < 2:
            return
        if (low <= block.high[0] + slack).all() and (high >= block.low[0] - slack).all():
            yield ((total, *others),)
        for split in possible_splits(block, 0, parts):
            yield tuple((total, *(others[i] for i in own)) for own in split)

    def groups_of_one_sum(self, lines: list[int]) -> list[list[int]]:
        """Split lines into consecutive groups with the same sum in all positions.

        Each group divides the same whole, which is not printed.

        Returns:
            All lines in one group if there are no such groups.
        """
        own = self._lines(lines)
        told = own.known.all(axis=0)
        if not told.any() or len(lines) < 4:
            return [lines]
        low = own.low[:, told]
        slack = (self.base - 1) * len(lines)
        for first in range(2, len(lines) - 1):
            whole = low[:first].sum(axis=0)
            bits = np.log2((1 + whole) / (1 + 2 * slack)).clip(0).sum()
            groups = [lines[:first]]
            start = first
            for stop in range(first + 1, len(lines) + 1):
                if (np.abs(low[start:stop].sum(axis=0) - whole) <= slack).all():
                    groups.append(lines[start:stop])
                    start = stop
            if start == len(lines) and len(groups) > 1 and bits >= FEWEST_BITS:
                return groups
        return [lines]

    def are_equal(self, one: int, other: int, *, are_totals: bool) -> bool:
        """Test whether two lines have the same numbers, within rounding, and hardly by chance.

        Args:
            are_totals: Whether words call both lines a total, so that chance is not tested.
        """
        a, b = self.at[one], self.at[other]
        both = self.block.known[a] & self.block.known[b]
        first: FloatArray = self.block.low[a][both]
        second: FloatArray = self.block.low[b][both]
        if int(both.sum()) < 2 or len(np.unique(first)) < 2:
            return False
        # Two roundings of one number are less than two bases apart.
        slack = 2 * (self.base - 1)
        bits = np.log2((1 + np.maximum(first, 0)) / (1 + 2 * slack)).clip(0).sum()
        is_told = bits >= FEWEST_BITS or are_totals
        return bool((np.abs(first - second) <= slack).all()) and is_told

    def have_room(
        self, line: int, steps: frozenset[int], told: Mapping[int, frozenset[int]]
    ) -> bool:
        """Test whether a line is between the sums of the lines within it and of those it meets."""
        values = told.values()
        single = [at for at, own in told.items() if not any(other < own for other in values)]
        inner = [at for at in single if told[at] <= steps]
        outer = [at for at in single if told[at] & steps]
        block, at = self.block, self.at[line]
        slack = (self.base - 1) * (len(outer) + 1)
        least = block.low[[self.at[other] for other in inner]].sum(axis=0)
        most = block.high[[self.at[other] for other in outer]].sum(axis=0)
        is_met = not outer or bool((most + slack >= block.low[at]).all())
        return is_met and bool((least <= block.high[at] + slack).all())

    def _lines(self, lines: Sequence[int]) -> Intervals:
        rows = np.array([self.at[line] for line in lines], dtype=np.intp)
        return self.block.take(rows, np.arange(self.block.low.shape[1]))
