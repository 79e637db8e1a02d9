"""Lines of a block that are sums of other lines, by their numbers alone.

Lines are columns or rows; nothing here knows which. Several searches cover the ways in which tables
are printed: a total beside its parts, with totals among the parts skipped, or with lines that are
some of the part before them; the same among every k-th line, where two features cross; and a total
anywhere with its parts side by side elsewhere.
The ends of a run are found by prefix sums, whatever is withheld in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray, FloatArray
from recon_cli.capabilities.init.proposal.evidence import (
    CERTAIN_BITS,
    MARGIN_BITS,
    STRONG_POSITIONS,
    Sum,
)
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.settled_sums import settled
from recon_cli.capabilities.init.proposal.sum_weights import Run, SumWeights

#: Most parts of a sum: all single years of age, or all counties of a state.
_MOST_PARTS: Final = 400
#: Positions by which the ends of runs are searched; all are used to weigh the sums found.
_POSITIONS: Final = 24
#: Positions that rule out most lines that do not add up.
_FIRST_POSITIONS: Final = 8
#: Greatest distance between parts: the most values of a feature that is crossed with another.
_MOST_STEPS: Final = 400
#: Most lines that searches of every k-th line visit in all, small steps first.
_MOST_LINES: Final = 150_000
#: Most lines that are searched for gaps, and every k-th of them for totals amid their parts.
_MOST_AROUND: Final = 200
#: Most lines of which every k-th is searched; more are places, which stand beside their whole.
_MOST_STRIDED: Final = 3_000
#: Most lines that are searched for totals away from their parts, or amid them.
_MOST_FREE: Final = 600
#: Longest runs of rounded numbers that are searched elsewhere: rounding allows too many others.
_MOST_ROUNDED: Final = 12
#: Most possible runs: among more, the numbers say too little to choose.
_MOST_RUNS: Final = 20_000
#: Most parts before a total that stands amid its parts.
_MOST_BEFORE: Final = 12
#: Most lines beside a total of which any may be its parts, and others some of these.
_MOST_GAPPED: Final = 10


def find_sums(
    block: Intervals, units: FloatArray | None = None, *, beside_only: bool = False
) -> list[Sum]:
    """Return the sums among the lines of a block.

    Args:
        beside_only: Whether to search only for totals beside their parts.
        units: For each position the unit to which its numbers are rounded, so that sums need hold
            only within rounding; None for exact numbers.

    Example:
        >>> numbers = np.array([[9.0, 31.0], [4.0, 11.0], [5.0, 20.0]])
        >>> [(each.total, each.parts) for each in find_sums(Intervals.exact(numbers))]
        [(0, (1, 2))]
    """
    if block.low.shape[0] < 3 or not block.low.shape[1]:
        return []
    weights = SumWeights(block, units)
    search = _Search(weights)
    beside = search.beside(range(block.low.shape[0]))
    found = [*beside]
    if not beside_only:
        found += search.around(range(block.low.shape[0]), beside)
        found += search.with_gaps(beside)
        found += [*search.strided(), *search.elsewhere(beside)]
    return settled(found, block, weights.weigh)


class _Search:
    def __init__(self, weights: SumWeights) -> None:
        self.weights = weights
        self.block = weights.block
        self.count, self.width = weights.block.low.shape

    # --- totals beside their parts ----------------------------------------------------------

    def beside(self, lines: Sequence[int], step: int = 1) -> list[Sum]:
        """Find totals before or behind their parts among ``lines``, skipping totals among these."""
        found: dict[int, tuple[Sum, int]] = {}
        for order in (list(lines), list(lines)[::-1]):
            position = {line: i for i, line in enumerate(order)}
            end: dict[int, int] = {}
            possible, holds_two = self._no_less_than_next(order)
            for i, is_two in zip(possible[::-1].tolist(), holds_two[::-1].tolist(), strict=True):
                if not is_two and i + 1 not in end:
                    continue
                best = self._chain(order, i, end, step)
                if end:  # what looks like a total among the parts may be none
                    plain = self._chain(order, i, {}, step)
                    if best is None or (plain and plain[0].support.bits > best[0].support.bits):
                        best = plain
                if best is None:
                    continue
                at = best[1]
                before = found.get(order[i])
                if before is None or before[0].support.bits < best[0].support.bits:
                    found[order[i]] = best
                    end[position[order[i]]] = at
        return [each for each, _ in found.values()]

    def _no_less_than_next(self, order: Sequence[int]) -> tuple[NDArray[np.intp], BoolArray]:
        """Return the places of lines that are nowhere less than the line behind them.

        Returns:
            Positions in the order of those that show a number, and which of these are nowhere less
            than the next two lines together, as the total of two lines or more is.
        """
        at = np.array(order, dtype=np.intp)
        low, most = self.block.low[at], self.block.high[at] + self.weights.slack
        is_no_less = (low[1:] <= most[:-1] + self.weights.tolerance(2)).all(axis=1)
        places = np.flatnonzero(is_no_less & self._tells[at[:-1]])
        holds_two = np.zeros(len(places), dtype=bool)
        inner = places[places + 2 < len(at)]
        together = low[inner + 1] + low[inner + 2]
        holds_two[: len(inner)] = (together <= most[inner] + self.weights.tolerance(2)).all(axis=1)
        return places, holds_two

    @cached_property
    def _tells(self) -> BoolArray:
        """Return the lines that show a number other than zero."""
        found: BoolArray = (self.block.known & (self.block.low != 0)).any(axis=1)
        return found

    def _chain(
        self, order: Sequence[int], i: int, end: dict[int, int], step: int
    ) -> tuple[Sum, int] | None:
        """Return the best sum of the lines that follow ``order[i]``, and where it ends."""
        block, total = self.block, order[i]
        if not self._tells[total]:
            return None
        low = np.zeros(self.width)
        high = np.zeros(self.width)
        known = np.ones(self.width, dtype=bool)
        filled = np.zeros(self.width, dtype=np.int64)
        parts: list[int] = []
        best: tuple[Sum, int] | None = None
        most = block.high[total] + self.weights.slack
        at = i + 1
        skipped = False
        while at < len(order) and len(parts) < _MOST_PARTS:
            part = order[at]
            parts.append(part)
            low += block.low[part]
            high += block.high[part]
            known &= block.known[part]
            filled += block.known[part] & (block.low[part] != 0)
            skipped |= at in end
            at = end.get(at, at + 1)
            room = self.weights.tolerance(len(parts))
            if (low > most + room).any():
                break
            if len(parts) < 2 or (high < block.low[total] - self.weights.slack - room).any():
                continue
            run = Run(low, high, known, filled, len(parts))
            support = self.weights.support(total, run, self._tried_beside(step))
            if support.is_told and (best is None or support.bits > best[0].support.bits):
                chosen = tuple(sorted(parts))
                found = Sum(total, chosen, 0 if skipped else step, support, self.weights.is_rounded)
                best = found, at
        return best

    def around(self, lines: Sequence[int], beside: Iterable[Sum], step: int = 1) -> Iterator[Sum]:
        """Yield totals amid their parts, unless a strong sum of parts on one side has the total."""
        order, block = list(lines), self.block
        known = {each.total for each in beside if each.support.is_strong}
        room = self.weights.tolerance(2) + self.weights.slack
        for i in range(1, len(order) - 1) if len(order) <= _MOST_FREE else ():
            total, after = order[i], order[i + 1]
            least = block.low[order[i - 1]] + block.low[after]
            if total in known or (least > block.high[total] + room).any():
                continue
            best: Sum | None = None
            for start in range(i - 1, max(-1, i - 1 - _MOST_BEFORE), -1):
                chain = self._chain([total, *order[start:i], *order[i + 1 :]], 0, {}, step)
                if chain is None or after not in chain[0].parts:
                    continue
                more = chain[0].support.tried + math.log2(_MOST_BEFORE)
                support = replace(chain[0].support, tried=more)
                if support.is_told and (best is None or support.bits > best.support.bits):
                    best = replace(chain[0], step=0, support=support)
            if best is not None:
                yield best

    def with_gaps(self, beside: Iterable[Sum]) -> Iterator[Sum]:
        """Yield totals of lines near them, between which others are some of the part before.

        Any of the lines may be parts: with so many tries, a sum must be far from chance.
        """
        if not 4 <= self.count <= _MOST_AROUND:
            return
        known = {each.total for each in beside if each.support.is_strong}
        for order in (range(self.count), range(self.count - 1, -1, -1)):
            for total in order:
                if total not in known:
                    near = [*order[order.index(total) + 1 :]][:_MOST_GAPPED]
                    yield from self._gapped(total, sorted(near))

    def _gapped(self, total: int, near: Sequence[int]) -> Iterator[Sum]:
        """Yield the only sum of some lines near a total that is far from chance, if any."""
        block, size = self.block, self._sizes[total]
        if size < math.log2(2 * self.count) + 2 + CERTAIN_BITS:
            return
        most_of_one = block.high[total] + self.weights.tolerance(1) + self.weights.slack
        may_be_in = (block.low[near] <= most_of_one).all(axis=1).tolist()
        lines = [line for line, is_in in zip(near, may_be_in, strict=True) if is_in]
        tried = math.log2(2 * self.count) + len(lines)
        if len(lines) < 2 or size < tried + CERTAIN_BITS:
            return
        chosen = (np.arange(1 << len(lines))[:, None] >> np.arange(len(lines))) & 1
        chosen = chosen[chosen.sum(axis=1) >= 2]
        room = self.weights.tolerance(len(lines)) + self.weights.slack
        # Most do not fit in some of the first positions: the others need not be added up.
        for some in (slice(0, _FIRST_POSITIONS), slice(_FIRST_POSITIONS, None)):
            own = chosen.astype(np.float64)
            least, high = own @ block.low[lines, some], block.high[lines, some]
            most = own @ np.where(np.isinf(high), 0.0, high)
            is_open = own @ np.isinf(high).astype(np.float64) > 0
            fits = (least <= block.high[total, some] + room[some]) & (
                (most >= block.low[total, some] - room[some])
                | is_open
                | ~block.present[total, some]
            )
            chosen = chosen[fits.all(axis=1)]
        withheld = (~block.known[lines]).astype(np.int64)
        shown = (chosen @ withheld == 0) & block.known[total]
        able = shown.sum(axis=1) >= STRONG_POSITIONS
        found: list[Sum] = []
        for each in chosen[able].astype(bool):
            parts = [line for line, is_part in zip(lines, each, strict=True) if is_part]
            gaps = [line for line in near if line not in parts and line < parts[-1]]
            if not gaps or not all(self._has_before(line, parts) for line in gaps):
                continue
            support = replace(self.weights.weigh(total, parts), tried=tried)
            if support.is_strong and support.margin >= CERTAIN_BITS:
                found.append(Sum(total, tuple(parts), 0, support, self.weights.is_rounded))
        if len(found) == 1:
            yield found[0]

    @cached_property
    def _sizes(self) -> list[float]:
        """Return how many bits the numbers of each line have."""
        told = np.where(self.block.known, np.abs(self.block.low), 0)
        sizes: list[float] = np.log2(1 + told).sum(axis=1).tolist()
        return sizes

    def _may_be_in(self, line: int, other: int) -> bool:
        """Test whether a line is nowhere more than another."""
        room = self.weights.tolerance(1) + self.weights.slack
        return bool((self.block.low[line] <= self.block.high[other] + room).all())

    def _has_before(self, line: int, parts: Sequence[int]) -> bool:
        """Test whether a line may be some of the last part before it."""
        before = [part for part in parts if part < line]
        return bool(before) and self._may_be_in(line, before[-1])

    # --- every k-th line --------------------------------------------------------------------

    def strided(self) -> list[Sum]:
        """Return totals before or behind parts that are every second, third, … line."""
        found: list[Sum] = []
        if self.count > _MOST_STRIDED:
            return found
        looked = 0
        for step in range(2, min((self.count + 1) // 2, _MOST_STEPS) + 1):
            residues = sorted({line % step for line in self._possible_totals(step).tolist()})
            looked += len(residues) * self.count // step
            if looked > _MOST_LINES:
                break
            for residue in residues:
                own = range(residue, self.count, step)
                near = self.beside(own, step)
                found += near
                if self.count <= _MOST_AROUND:
                    found += self.around(own, near, step)
        return found

    def _possible_totals(self, step: int) -> NDArray[np.intp]:
        """Return lines that are no less than the first two lines at ``step`` before or behind."""
        possible = np.zeros(self.count, dtype=bool)
        span = self.count - 2 * step
        if span <= 0:
            return np.flatnonzero(possible)
        lines = np.arange(span)
        possible[self._no_more((lines + step, lines + 2 * step), lines)] = True
        possible[2 * step + self._no_more((lines, lines + step), lines + 2 * step)] = True
        return np.flatnonzero(possible)

    @cached_property
    def _most_of_two(self) -> FloatArray:
        """Return the greatest sum of two parts that each line allows, (lines × positions)."""
        return self.block.high + self.weights.tolerance(2) + self.weights.slack

    def _no_more(
        self, parts: tuple[NDArray[np.intp], NDArray[np.intp]], total: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Return the positions of triples in which two lines are together no more than a third."""
        (one, other), block = parts, self.block
        most = self._most_of_two
        left = np.arange(len(total))
        # Most are more in some of the first positions: the others need not be added up.
        for some in (slice(0, _FIRST_POSITIONS), slice(_FIRST_POSITIONS, None)):
            least = block.low[one[left], some] + block.low[other[left], some]
            left = left[(least <= most[total[left], some]).all(axis=1)]
        return left

    # --- totals elsewhere -------------------------------------------------------------------

    def elsewhere(self, beside: Iterable[Sum]) -> list[Sum]:
        """Find totals anywhere of lines side by side; skip parts of other totals between these."""
        inner = {part for each in beside for part in each.parts if each.support.is_strong}
        outer = np.array([line for line in range(self.count) if line not in inner], dtype=np.intp)
        lists = [np.arange(self.count, dtype=np.intp)]
        if 2 <= len(outer) < self.count:
            lists.append(outer)
        found: list[Sum] = []
        for lines in lists:
            if len(lines) <= _MOST_FREE:
                found += self._runs(lines)
        return found

    def _runs(self, lines: NDArray[np.intp]) -> Iterator[Sum]:
        """Yield sums of runs of ``lines``, searched by the ends that every position allows."""
        block, size = self.block, len(lines)
        low = np.concatenate([np.zeros((1, self.width)), block.low[lines].cumsum(axis=0)])
        endless = np.isinf(block.high[lines])
        finite = np.where(endless, 0.0, block.high[lines])
        high = np.concatenate([np.zeros((1, self.width)), finite.cumsum(axis=0)])
        opened = np.concatenate([np.zeros((1, self.width)), endless.cumsum(axis=0)])
        known = np.concatenate([np.zeros((1, self.width)), block.known[lines].cumsum(axis=0)])
        nonzero = block.known[lines] & (block.low[lines] != 0)
        filled = np.concatenate([np.zeros((1, self.width), dtype=np.int64), nonzero.cumsum(axis=0)])
        if (block.low[lines] < 0).any():
            return
        first = np.zeros((self.count, size), dtype=np.int64)
        last = np.full((self.count, size), size, dtype=np.int64)
        room = self.weights.tolerance(2)
        for at in self._telling(lines):
            allowed = self.weights.slack + room[at] * min(size, _MOST_ROUNDED) / 3
            least = block.low[:, at, None] - allowed
            most = block.high[:, at, None] + allowed
            # A run that ends behind the next open cell may be as large as one likes.
            starts = high[:-1, at]
            reach = np.searchsorted(high[:, at], starts + least, side="left")
            next_open = np.searchsorted(opened[:, at], opened[:-1, at] + 1, side="left")
            first = np.maximum(first, np.minimum(reach, next_open[None, :]))
            ends = np.searchsorted(low[:, at], low[:-1, at] + most, side="right") - 1
            last = np.minimum(last, ends)
        starts = np.arange(size)
        first = np.maximum(first, starts[None, :] + 2)
        possible = (first <= last) & self._may_tell()[:, None]
        runs = int(np.where(possible, last - first + 1, 0).sum())
        if runs > _MOST_RUNS:
            return
        # Where much is withheld, more runs are possible, and one of them fits by chance sooner.
        tried = max(self._tried_elsewhere, math.log2(max(runs, 1)))
        for total, start in np.argwhere(possible).tolist():
            if start and not nonzero[start].any():  # begins with a line of nothing
                continue
            best: Sum | None = None
            for stop in range(int(first[total, start]), int(last[total, start]) + 1):
                parts = lines[start:stop]
                if stop - start > _MOST_PARTS or total in parts:
                    break
                run = Run(
                    low[stop] - low[start],
                    np.where(opened[stop] > opened[start], np.inf, high[stop] - high[start]),
                    (known[stop] - known[start]) == stop - start,
                    filled[stop] - filled[start],
                    stop - start,
                )
                support = self.weights.support(total, run, tried)
                if support.is_told and (best is None or support.bits > best.support.bits):
                    best = Sum(total, tuple(parts.tolist()), 1, support, self.weights.is_rounded)
            if best is not None:
                yield best

    def _may_tell(self) -> BoolArray:
        """Test for each line whether its sum would differ from chance if all numbers showed it."""
        block = self.block
        bits = self.weights.bits - self.weights.surprise(np.zeros(self.width), 3, block.unit)
        most = np.where(block.known, np.maximum(bits, 0.0), 0.0).sum(axis=1)
        found: BoolArray = most >= self._tried_elsewhere + MARGIN_BITS
        return found

    def _telling(self, lines: NDArray[np.intp]) -> list[int]:
        """Return the positions that rule out most: those with the most numbers above zero."""
        block = self.block
        told = block.known[lines].sum(axis=0) + (block.low[lines] > 0).sum(axis=0)
        ordered: list[int] = np.argsort(-told, kind="stable")[:_POSITIONS].tolist()
        return ordered

    def _tried_beside(self, step: int) -> float:
        """Return log2 of the number of totals that are tried beside their parts, at this step."""
        return math.log2(
            2 * self.count * (1 if step == 1 else max(min(self.count // 2, _MOST_STEPS), 1))
        )

    @property
    def _tried_elsewhere(self) -> float:
        return math.log2(self.count**2 / 2)
