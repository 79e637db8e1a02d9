"""Sums among the values of each dimension of a long table, found as those among columns are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.init.proposal.evidence import Sum, Support
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.possible_sums import possible_whole
from recon_cli.capabilities.init.proposal.relations import sums_of
from recon_cli.capabilities.init.proposal.slips import Slip, slip, slips
from recon_cli.capabilities.init.proposal.sum_weights import support_of
from recon_cli.capabilities.init.proposal.sums import find_sums
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.markers import bounds
from recon_cli.sources.read.regions import Region

#: Most cells of a block of values by combinations that is searched for sums.
_MOST_CELLS: Final = 8_000_000
#: Most cells of a block that is searched for sums of values beside those of strong sums.
_MOST_RUNS: Final = 100_000
#: Most cells of a block that is searched again without some of its positions.
_MOST_TRIED: Final = 20_000


@dataclass(frozen=True)
class ValueSum:
    """A value of a dimension, and the values that add up to it.

    Attributes:
        dimension: The column of the dimension.
        count: The column of the numbers that show the sum.
        slip: Rows (from 0 in the body) of the total and its parts where a number breaks the sum.
        rivals: Other sets of parts that fit the numbers, and the list, about as well.
    """

    dimension: int
    count: int
    total: str
    parts: tuple[str, ...]
    support: Support
    is_rounded: bool = False
    slip: tuple[int, ...] = ()
    rivals: tuple[tuple[str, ...], ...] = ()


def value_sums(
    grid: Grid, region: Region, keys: Sequence[int], count: int, withheld: BoolArray | None = None
) -> list[ValueSum]:
    """Return the sums among the values of each dimension of a long table, in one column of numbers.

    Args:
        keys: The columns of the dimensions.
        withheld: Cells whose numbers a flag beside them takes back.
    """
    body, cells = region.body, numbers_of_rows(grid, region, count, withheld)
    found: list[ValueSum] = []
    for key in keys:
        values, codes = grid.coded((body, key))
        position = grid.combinations(body, [at for at in keys if at != key])[1]
        shape = len(values), int(position.max(initial=-1)) + 1
        if len(values) < 3 or shape[0] * shape[1] > _MOST_CELLS:
            continue
        order = _as_listed(codes, position)
        values, codes = [values[i] for i in order], np.argsort(order)[codes]
        base = _base(cells)
        block = numbers_by_line(cells, codes, position).in_steps(base)
        exact = find_sums(block)
        sums = sums_of(block, base) if base > 1 else exact or find_sums(block, np.ones(shape[1]))
        off = slips(block) if base == 1 and not exact and block.low.size <= _MOST_TRIED else []
        sums = [each for each in sums if (each.total, each.parts) not in {s.sum for s in off}]
        if not any(each.support.is_strong for each in sums):
            whole = possible_whole(block, range(len(values)))
            if whole is not None:
                parts = tuple(value for value in values if value != values[whole])
                told = Support(0, shape[1], 0, 0.0, 0.0)
                found.append(ValueSum(key, count, values[whole], parts, told))
        found += [
            ValueSum(
                key,
                count,
                values[each.total],
                tuple(values[part] for part in each.parts),
                each.support,
                is_rounded=each.is_rounded,
                rivals=tuple(
                    tuple(values[part] for part in parts)
                    for parts in (() if each.is_complete else each.rivals)
                ),
            )
            for each in sums
        ]
        if base == 1 and block.low.size <= _MOST_RUNS:
            at = np.full(shape, -1)
            at[codes, position] = np.arange(len(body))
            found += [
                ValueSum(
                    key,
                    count,
                    values[total],
                    tuple(values[part] for part in parts),
                    support,
                    slip=tuple(at[[total, *parts], broken[0]].tolist()) if broken else (),
                )
                for total, parts, support, broken in (*_beside(block, exact), *map(_broken, off))
            ]
    return found


def _broken(each: Slip) -> tuple[int, tuple[int, ...], Support, tuple[int, ...]]:
    """Return a sum that a few numbers break, as `_beside` yields it."""
    return (*each.sum, Support(each.shown, 0, len(each.broken), 0.0, 0.0), each.broken)


def _beside(
    block: Intervals, sums: Sequence[Sum]
) -> Iterator[tuple[int, tuple[int, ...], Support, tuple[int, ...]]]:
    """Yield sums of consecutive values that are in no strong sum, if others are in one.

    Too few numbers show such a sum, or a few numbers break it.

    Yields:
        The total; its parts; how far numbers bear it out; and the positions that break it.
    """
    strong = [each for each in sums if each.support.is_strong]
    totals = {each.total for each in strong}
    placed = totals | {part for each in strong for part in each.parts}
    rest = [i for i in range(len(block.low)) if i not in placed]
    for _, group in itertools.groupby(enumerate(rest), key=lambda pair: pair[1] - pair[0]):
        run = tuple(i for _, i in group)
        able = [(run[0] - 1, run), (run[-1] + 1, run), (run[0], run[1:]), (run[-1], run[:-1])]
        for total, parts in able if strong else ():
            if total in totals or not 0 <= total < len(block.low) or len(parts) < 2:
                continue
            lines = np.array([total, *parts], dtype=np.intp)
            own = block.take(lines, np.arange(block.low.shape[1], dtype=np.intp))
            support = support_of(own, np.zeros(block.low.shape[1]))
            off = slip(block, total, parts)
            if not support.broken and (support.shown or support.open):
                yield total, parts, replace(support, is_doubted=True), ()
                break
            if off is not None:
                yield _broken(off)
                break


def _as_listed(codes: IntArray, position: IntArray) -> list[int]:
    """Return values in the order in which groups of rows list them, the fullest group first.

    A value that this group lacks follows the same value as in another: a total is beside its parts.

    Args:
        codes: The value of each row, numbered.
        position: The group of each row.
    """
    sizes = np.bincount(position)
    found = list(dict.fromkeys(codes[position == int(sizes.argmax())].tolist()))
    lacking = np.unique(position[~np.isin(codes, found)])
    if not len(lacking):
        return found
    rows = np.argsort(position, kind="stable")
    starts = np.cumsum(sizes) - sizes
    for group in lacking[np.argsort(-sizes[lacking], kind="stable")].tolist():
        before = -1
        for value in codes[rows[starts[group] : starts[group] + sizes[group]]].tolist():
            if value not in found:
                found.insert(found.index(before) + 1 if before in found else 0, value)
            before = value
    return found


def totals_and_parts(
    grid: Grid, region: Region, keys: Sequence[int], each: ValueSum
) -> Iterator[list[int]]:
    """Yield the places in the body of a total and its parts, wherever all of them have a row.

    Args:
        keys: The columns of the dimensions.
        each: A sum of the values of one dimension.
    """
    body = region.body
    own = grid.texts[body, each.dimension]
    beside = np.array([at for at in keys if at != each.dimension], dtype=np.intp)
    others = grid.codes[np.ix_(body, beside)]
    lines: dict[tuple[int, ...], dict[str, int]] = {}
    for i, (value, position) in enumerate(zip(own.tolist(), others.tolist(), strict=True)):
        lines.setdefault(tuple(position), {})[value] = i
    for line in lines.values():
        places = [line[value] for value in (each.total, *each.parts) if value in line]
        if len(places) == len(each.parts) + 1:
            yield places


def numbers_by_line(cells: Intervals, lines: IntArray, position: IntArray) -> Intervals:
    """Return the numbers of one line as a block of several lines, unknown where there is none.

    A block that would be too large to search has no positions.

    Args:
        lines: The line of each number.
        position: The position of each number in its line.
    """
    shape = int(lines.max(initial=-1)) + 1, int(position.max(initial=-1)) + 1
    if shape[0] * shape[1] > _MOST_CELLS:
        return Intervals.unknown((shape[0], 0))
    block = Intervals.unknown(shape)
    block.put(lines, position, cells)
    return block


def numbers_of_rows(
    grid: Grid, region: Region, count: int, withheld: BoolArray | None
) -> Intervals:
    """Return the numbers of a column as one line, a position for each row of the body.

    Args:
        withheld: Cells whose numbers a flag beside them takes back.
    """
    body = region.body
    numbers = grid.values[body, count].copy()
    if withheld is not None:
        numbers[withheld[body, count]] = np.nan
    unique, inverse = grid.coded((body, count))
    low, high = np.array([bounds(text) for text in unique]).reshape(-1, 2)[inverse].T
    known = ~np.isnan(numbers) & (numbers >= 0)
    unit = 10.0 ** -np.minimum(grid.decimals[body, count], 9)
    low, high = np.where(known, numbers, low), np.where(known, numbers, high)
    return Intervals(low, high, known, np.ones_like(known), unit)


def _base(cells: Intervals) -> int:
    """Return the number of which all counts are multiples; 1 where too few say so."""
    told = cells.low[cells.known & (cells.low > 0) & (cells.low == np.floor(cells.low))]
    return max(int(np.gcd.reduce(told.astype(np.int64))), 1) if len(told) >= 12 else 1
