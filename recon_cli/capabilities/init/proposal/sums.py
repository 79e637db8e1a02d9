"""Lines of a block that are sums of other lines, by their numbers alone.

Lines are columns or rows; nothing here knows which. Several searches cover the ways in which tables
are printed: a total beside its parts, with totals among the parts skipped, or with lines that are
some of the part before them; the same among every k-th line, where two features cross; and a total
anywhere with its parts side by side elsewhere.
The ends of a run are found by prefix sums, whatever is withheld in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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
    Support,
)
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.rivals import with_rivals

#: Relative error of sums of printed decimals in binary.
BINARY: Final = 1e-9
#: More parts are looked for nowhere: a run of all single years, or of all counties of a state.
_MOST_PARTS: Final = 400
#: Positions by which the ends of runs are searched; all are used to judge what was found.
_POSITIONS: Final = 24
#: Positions that tell most lines that add up to no other apart.
_FIRST_POSITIONS: Final = 8
#: Parts of a total are no further from each other: two features that cross have no more values.
_MOST_STEPS: Final = 400
#: Every k-th line is looked at so often in all, small steps first: stars leave all possible.
_MOST_LINES: Final = 150_000
#: Of more lines no total is looked for in the midst of every k-th.
_MOST_AROUND: Final = 200
#: More lines are places, which are side by side with what they are part of.
_MOST_STRIDED: Final = 3_000
#: More lines are searched side by side only, not for totals that stand elsewhere.
_MOST_FREE: Final = 600
#: Of rounded numbers, longer runs are not looked for elsewhere: rounding allows too many.
_MOST_ROUNDED: Final = 12
#: Where more runs are possible, the numbers say too little to choose among them.
_MOST_RUNS: Final = 20_000
#: Parts before a total that stands in their midst.
_MOST_BEFORE: Final = 12
#: Lines beside a total among which any may be its parts, others being some of these.
_MOST_GAPPED: Final = 10


def find_sums(
    block: Intervals, units: FloatArray | None = None, *, beside_only: bool = False
) -> list[Sum]:
    """Return the sums among the lines of a block.

    Args:
        beside_only: Whether only totals beside their parts are looked for.
        units: For each position the unit to which its numbers are rounded, where sums need hold
            only as far as rounding allows; None for numbers that are as they were counted.

    Example:
        >>> numbers = np.array([[9.0, 31.0], [4.0, 11.0], [5.0, 20.0]])
        >>> [(each.total, each.parts) for each in find_sums(Intervals.exact(numbers))]
        [(0, (1, 2))]
    """
    if block.low.shape[0] < 3 or not block.low.shape[1]:
        return []
    search = _Search(block, units)
    beside = search.beside(range(block.low.shape[0]))
    found = [*beside]
    if not beside_only:
        found += search.around(range(block.low.shape[0]), beside)
        found += search.with_gaps(beside)
        found += [*search.strided(), *search.elsewhere(beside)]
    return _settled(found, block, search.weigh)


def support_of(block: Intervals, units: FloatArray) -> Support:
    """How far the positions of a block bear out that its first line is the sum of all others.

    Nothing else is tried beside it.

    Args:
        units: For each position the unit to which its numbers are rounded; 0 where they are not.
    """
    return _Search(block, units).weigh(0, tuple(range(1, len(block.low))))


@dataclass(frozen=True)
class _Run:
    """Lines side by side, summed.

    Attributes:
        known: Where all of them are printed.
        filled: How many of them are printed and not zero.
        terms: How many they are.
    """

    low: FloatArray
    high: FloatArray
    known: BoolArray
    filled: NDArray[np.int64]
    terms: int


class _Search:
    def __init__(self, block: Intervals, units: FloatArray | None) -> None:
        self.block = block
        self.units = units
        self.count, self.width = block.low.shape
        scale = float(np.max(np.where(block.known, np.abs(block.low), 0.0), initial=1.0))
        self.slack = BINARY * scale
        self._rooms: dict[int, FloatArray] = {}

    # --- totals beside their parts ----------------------------------------------------------

    def beside(self, lines: Sequence[int], step: int = 1) -> list[Sum]:
        """Totals before or behind their parts, among ``lines``; totals among these are skipped."""
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
            Places in the order of those that show a number, and which of them are nowhere less
            than the next two lines together: no others begin a sum.
        """
        at = np.array(order, dtype=np.intp)
        low, most = self.block.low[at], self.block.high[at] + self.slack
        is_no_less = (low[1:] <= most[:-1] + self._tolerance(2)).all(axis=1)
        places = np.flatnonzero(is_no_less & self._tells[at[:-1]])
        holds_two = np.zeros(len(places), dtype=bool)
        inner = places[places + 2 < len(at)]
        together = low[inner + 1] + low[inner + 2]
        holds_two[: len(inner)] = (together <= most[inner] + self._tolerance(2)).all(axis=1)
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
        most = block.high[total] + self.slack
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
            room = self._tolerance(len(parts))
            if (low > most + room).any():
                break
            if len(parts) < 2 or (high < block.low[total] - self.slack - room).any():
                continue
            run = _Run(low, high, known, filled, len(parts))
            support = self.support(total, run, self._tried_beside(step))
            if support.is_told and (best is None or support.bits > best[0].support.bits):
                chosen = tuple(sorted(parts))
                found = Sum(total, chosen, 0 if skipped else step, support, self._is_rounded)
                best = found, at
        return best

    def around(self, lines: Sequence[int], beside: Iterable[Sum], step: int = 1) -> Iterator[Sum]:
        """Yield totals in the midst of their parts, which no parts beside them add up to."""
        order, block = list(lines), self.block
        known = {each.total for each in beside if each.support.is_strong}
        room = self._tolerance(2) + self.slack
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
        """Yield totals of lines near them, between which others are some of the one before.

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
        """Yield the one sum of some of the lines near a total that is far from chance."""
        block, size = self.block, self._sizes[total]
        if size < math.log2(2 * self.count) + 2 + CERTAIN_BITS:
            return
        most_of_one = block.high[total] + self._tolerance(1) + self.slack
        may_be_in = (block.low[near] <= most_of_one).all(axis=1).tolist()
        lines = [line for line, is_in in zip(near, may_be_in, strict=True) if is_in]
        tried = math.log2(2 * self.count) + len(lines)
        if len(lines) < 2 or size < tried + CERTAIN_BITS:
            return
        chosen = (np.arange(1 << len(lines))[:, None] >> np.arange(len(lines))) & 1
        chosen = chosen[chosen.sum(axis=1) >= 2]
        room = self._tolerance(len(lines)) + self.slack
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
            support = replace(self.weigh(total, parts), tried=tried)
            if support.is_strong and support.margin >= CERTAIN_BITS:
                found.append(Sum(total, tuple(parts), 0, support, self._is_rounded))
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
        room = self._tolerance(1) + self.slack
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
        """Lines that are no less than the first two lines at ``step`` before or behind them."""
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
        """(lines × positions) What two parts of a line are together at most."""
        return self.block.high + self._tolerance(2) + self.slack

    def _no_more(
        self, parts: tuple[NDArray[np.intp], NDArray[np.intp]], total: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Return the places where two lines are together no more than a third."""
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
        """Totals anywhere, of lines side by side; parts of a total beside them are skipped."""
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
        """Sums of lines side by side in ``lines``, by the ends that every position allows."""
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
        room = self._tolerance(2)
        for at in self._telling(lines):
            allowed = self.slack + room[at] * min(size, _MOST_ROUNDED) / 3
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
                run = _Run(
                    low[stop] - low[start],
                    np.where(opened[stop] > opened[start], np.inf, high[stop] - high[start]),
                    (known[stop] - known[start]) == stop - start,
                    filled[stop] - filled[start],
                    stop - start,
                )
                support = self.support(total, run, tried)
                if support.is_told and (best is None or support.bits > best.support.bits):
                    best = Sum(total, tuple(parts.tolist()), 1, support, self._is_rounded)
            if best is not None:
                yield best

    def _may_tell(self) -> BoolArray:
        """Totals of which a sum would be told from chance, if all their numbers showed it."""
        block = self.block
        bits = self._bits - self._surprise(np.zeros(self.width), 3, block.unit)
        most = np.where(block.known, np.maximum(bits, 0.0), 0.0).sum(axis=1)
        found: BoolArray = most >= self._tried_elsewhere + MARGIN_BITS
        return found

    def _telling(self, lines: NDArray[np.intp]) -> list[int]:
        """Return the positions that rule out most: those with most numbers, and large ones."""
        block = self.block
        told = block.known[lines].sum(axis=0) + (block.low[lines] > 0).sum(axis=0)
        ordered: list[int] = np.argsort(-told, kind="stable")[:_POSITIONS].tolist()
        return ordered

    # --- evidence ---------------------------------------------------------------------------

    @property
    def _is_rounded(self) -> bool:
        return self.units is not None

    def _tried_beside(self, step: int) -> float:
        """How many totals are tried before and behind their parts, at one distance or at all."""
        return math.log2(
            2 * self.count * (1 if step == 1 else max(min(self.count // 2, _MOST_STEPS), 1))
        )

    @property
    def _tried_elsewhere(self) -> float:
        return math.log2(self.count**2 / 2)

    def _tolerance(self, terms: int) -> FloatArray:
        """Measure how far a rounded total may be from the sum of as many rounded parts."""
        if terms not in self._rooms:
            units = np.zeros(self.width) if self.units is None else self.units
            self._rooms[terms] = units * (terms + 1) / 2
        return self._rooms[terms]

    def _surprise(
        self, off: FloatArray, terms: NDArray[np.int64] | int, unit: FloatArray
    ) -> FloatArray:
        """Measure how unlikely roundings are that leave sums so far off, in bits.

        Each of the numbers is off by anything up to half of what it is rounded to, the sum of as
        many by about a normal error; exact numbers are not off.

        Args:
            unit: The steps between sums.
        """
        if self.units is None:
            return np.zeros_like(off)
        error = np.sqrt(terms / 12.0) * np.maximum(self.units, BINARY) / unit
        spread = np.maximum(np.log2(error * math.sqrt(2 * math.pi)), 0.0)
        found: FloatArray = (
            spread + (off / unit / np.maximum(error, 0.5)) ** 2 * math.log2(math.e) / 2
        )
        return found

    @cached_property
    def _bits(self) -> FloatArray:
        """(lines × positions) How many bits each number has, in steps of its unit."""
        bits: FloatArray = np.log2(1 + np.abs(self.block.low) / self.block.unit)
        return bits

    def weigh(self, total: int, parts: Sequence[int]) -> Support:
        """Weigh that a line is the sum of some others, beside which nothing is tried."""
        block, own = self.block, list(parts)
        run = _Run(
            block.low[own].sum(axis=0),
            block.high[own].sum(axis=0),
            np.asarray(block.known[own].all(axis=0)),
            (block.known[own] & (block.low[own] != 0)).sum(axis=0),
            len(own),
        )
        return self.support(total, run, -MARGIN_BITS)

    def support(self, total: int, run: _Run, tried: float) -> Support:
        """Count positions, and weigh those that are shown.

        A sum that is right by chance takes one of about as many values as its total is large, in
        steps of the unit: a shown position weighs the logarithm of that, less what rounding alone
        would make of it. A position with one part alone shows that two lines are equal, no sum.
        """
        block = self.block
        room = self._tolerance(run.terms)
        slack = self.slack + room
        broken = (run.low > block.high[total] + slack) | (run.high < block.low[total] - slack)
        broken &= block.present[total]
        may_show = ~broken & (block.low[total] != 0)
        shown = block.known[total] & run.known & may_show
        opened = block.present[total] & ~shown & may_show
        weighed = shown & (run.filled >= 2)
        bits = self._bits[total]
        if self.units is not None:
            off = np.where(shown, np.abs(block.low[total] - run.low), 0.0)
            bits = bits - self._surprise(off, run.filled + 1, block.unit[total])
        return Support(
            int(weighed.sum()),
            int(opened.sum() + (shown & ~weighed).sum()),
            int(broken.sum()),
            max(float(bits[weighed].sum()), 0.0),
            tried,
        )


def _settled(
    found: Sequence[Sum], block: Intervals, measure: Callable[[int, tuple[int, ...]], Support]
) -> list[Sum]:
    """One of each, without those that a part of them shows as often.

    Of two runs for one total that overlap one stays.
    """
    unique: dict[tuple[int, tuple[int, ...]], Sum] = {}
    for each in found:
        key = each.total, each.parts
        if key not in unique or each.support.tried < unique[key].support.tried:
            unique[key] = each
    by_total: dict[int, list[Sum]] = {}
    for each in unique.values():
        by_total.setdefault(each.total, []).append(each)
    kept: list[Sum] = []
    for sums in by_total.values():
        if sums[0].is_rounded:
            continue
        # Of overlapping runs the shorter follows from no other, unless far less shows it.
        ranked = sorted(
            (each for each in sums if not _is_outweighed(each, sums)),
            key=lambda s: (len(s.parts), -s.support.bits, s.parts),
        )
        chosen: list[Sum] = []
        for each in ranked:
            own = set(each.parts)
            if any(own & set(other.parts) for other in chosen):
                continue
            if not _is_one_line_alone(each, block):
                chosen.append(each)
        kept += sorted(chosen, key=lambda s: s.parts)
    rounded = [e for e in unique.values() if e.is_rounded and not _is_one_line_alone(e, block)]
    kept += with_rivals(rounded, measure, len(block.low))
    return sorted(_disjoint(kept), key=lambda s: (s.total, s.parts))


def _disjoint(sums: Sequence[Sum]) -> list[Sum]:
    """Return the sums without those that count a line beside its own parts, by better evidence."""
    inside: dict[tuple[int, int], float] = {}
    within: dict[int, list[Sum]] = {}
    for each in sums:
        for part in each.parts:
            key = each.total, part
            inside[key] = max(inside.get(key, 0.0), each.support.bits)
            within.setdefault(part, []).append(each)

    def is_beside_its_parts(each: Sum) -> bool:
        return any(
            other.support.bits > each.support.bits and not {*each.parts}.isdisjoint(other.parts)
            for other in within.get(each.total, [])
        )

    return [
        each
        for each in sums
        if not is_beside_its_parts(each)
        and not any(
            inside.get((one, other), 0.0) >= each.support.bits
            for one in each.parts
            for other in each.parts
        )
    ]


def _is_outweighed(each: Sum, sums: Sequence[Sum]) -> bool:
    """Test whether a run that overlaps it has more than twice its evidence."""
    own = set(each.parts)
    return any(
        other.support.bits > 2 * each.support.bits and own & set(other.parts) for other in sums
    )


def _is_one_line_alone(each: Sum, block: Intervals) -> bool:
    """Test whether one of the parts is the total wherever it is known, and all others nothing."""
    total = block.low[each.total]
    known = block.known[each.total]
    for part in each.parts:
        both = known & block.known[part]
        if both.any() and (block.low[part] == total)[both].all():
            rest = [other for other in each.parts if other != part]
            if not (block.low[rest] > 0).any():
                return True
    return False
