"""Relations that the numbers of a table show: sums and ratios among its columns, and its rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray, FloatArray
from recon_cli.capabilities.init.proposal.evidence import CERTAIN_BITS, MARGIN_BITS, Sum, Support
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.ratios import find_ratios
from recon_cli.capabilities.init.proposal.relation import Axis, Kind, Relation
from recon_cli.capabilities.init.proposal.slips import slip
from recon_cli.capabilities.init.proposal.sum_weights import support_of
from recon_cli.capabilities.init.proposal.sums import find_sums
from recon_cli.capabilities.init.proposal.table_numbers import HUNDRED, TableNumbers
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.regions import Region

#: Most parts of a sum of rounded rows that chance easily makes.
_FEW_ROWS: Final = 3
#: Most rows that are searched for sums.
_MOST_ROWS: Final = 3_000


@dataclass(frozen=True)
class Relations:
    """The sums and ratios of a table, and the kinds of its columns and rows, by their numbers.

    Attributes:
        columns: Kind of each numeric column, by its place in the grid.
        rows: Kind of each row of the body, by its place in the grid.
        base: The number of which all counts are multiples; 1 where they are exact.
        codes: Negative numbers that stand for what is withheld.
    """

    found: tuple[Relation, ...]
    columns: dict[int, Kind]
    rows: dict[int, Kind]
    base: int
    codes: frozenset[float]

    @classmethod
    def of(
        cls,
        grid: Grid,
        region: Region,
        withheld: BoolArray | None = None,
        *,
        with_rows: bool = True,
        key: int | None = None,
    ) -> Relations:
        """Find the relations of a table.

        Args:
            withheld: (rows × columns of the grid) Numbers that a flag beside them takes back.
            with_rows: Whether sums of rows are looked for; not in a long table.
            key: The column that names the rows, whose indents group rows that may add up.
        """
        depths = None if key is None else grid.indents[region.body, key]
        return _Search(TableNumbers(grid, region, withheld)).relations(depths, with_rows=with_rows)

    def sums(self, axis: Axis) -> list[Relation]:
        """Return the sums among the columns, or the rows."""
        return [each for each in self.found if each.axis is axis and each.is_sum]

    def support(
        self,
        grid: Grid,
        region: Region,
        withheld: BoolArray,
        total: int,
        parts: Sequence[int],
        *,
        axis: Axis = Axis.COLUMNS,
    ) -> Support:
        """Return the support of one sum of columns, or of rows, with no others tried."""
        lines = np.array([total, *parts], dtype=np.intp)
        if axis is Axis.COLUMNS:
            block = TableNumbers(grid, replace(region, numeric=lines), withheld).block.transposed
        else:
            counts = [at for at in region.numeric if self.columns.get(at) is not Kind.STATISTIC]
            inner = replace(region, body=lines, numeric=np.array(counts, dtype=np.intp))
            block = TableNumbers(grid, inner, withheld).block
        units = np.full(block.low.shape[1], float(2 * (self.base - 1)) if self.base > 1 else 0.0)
        return support_of(block, units)

    def discounted(self, grid: Grid, region: Region, withheld: BoolArray) -> Relations:
        """Return relations in which totals of columns add no evidence to sums of rows."""
        return _Search(TableNumbers(grid, region, withheld)).discounted(self)

    def ratios(self, axis: Axis) -> list[Relation]:
        """Return the ratios among the columns, or the rows."""
        return [each for each in self.found if each.axis is axis and not each.is_sum]


def _without_near_misses(sums: Sequence[Relation], base: int) -> list[Relation]:
    """Remove sums that are off by a little, if another is exact and chance may have made them.

    Numbers that add up exactly are not rounded.
    """
    is_exact = any(each.support.is_strong and not each.is_rounded for each in sums)
    least = CERTAIN_BITS if base == 1 and is_exact else -math.inf
    return [each for each in sums if not each.is_rounded or each.support.margin >= least]


def _evidence(sums: Sequence[Sum]) -> float:
    """Return the margins of all strong sums together, in bits."""
    return sum(each.support.margin for each in sums if each.support.is_strong)


def doubt_coincidence(sums: Sequence[Relation]) -> list[Relation]:
    """Return sums of rounded numbers in which those that chance may have made are doubted.

    These have rivals, or are near to chance. Where kinds and ages add up to the same total, a kind
    is within rounding of the sum of some ages by chance, unless all kinds are.
    """
    strong = [each for each in sums if each.support.is_strong]
    wholes: dict[int, set[int]] = {}
    for each in strong:
        for part in each.of:
            wholes.setdefault(part, set()).add(each.line)

    def is_coincidence(each: Relation) -> bool:
        return any(
            other.line in wholes.get(each.line, ())
            and each.line not in other.of
            and not {*each.of}.isdisjoint(other.of)
            for other in strong
        )

    def is_doubted(each: Relation) -> bool:
        if each.rivals or (each.is_rounded and each.support.margin < CERTAIN_BITS):
            return True
        return is_coincidence(each) and not all(
            any(own.line == part and is_coincidence(own) for own in strong)
            for whole in wholes[each.line]
            for other in strong
            if other.line == whole and each.line in other.of
            for part in other.of
        )

    return [
        replace(each, support=replace(each.support, is_doubted=True)) if is_doubted(each) else each
        for each in sums
    ]


def sums_of(block: Intervals, base: int, *, beside_only: bool = False) -> list[Sum]:
    """Return the sums among the lines of a block: of numbers as printed, and within rounding.

    Args:
        block: Numbers in steps of the base.
        base: The number of which all are multiples; 1 where they are exact.
        beside_only: Whether only totals beside their parts are looked for.
    """
    exact = find_sums(block, beside_only=beside_only)
    units = _units(block)
    if base > 2:
        # Rounded at random, a number is up to a whole base off, less one.
        wide = units / base * 2 * (base - 1)
        rounded = find_sums(block, wide, beside_only=beside_only)
        # Few roundings leave small sums as they are by chance: those of a file do in all or none.
        return exact if _evidence(exact) > _evidence(rounded) + CERTAIN_BITS else rounded
    rounded = find_sums(block, units, beside_only=beside_only)
    if base == 1:  # of counts a sum that is off in a line or two is one in which a number is wrong
        rounded = [each for each in rounded if slip(block, each.total, each.parts) is None]
    told = {each.total for each in exact}
    # Beside sums that are exact, one that is off by a little is chance, unless far from it.
    least = CERTAIN_BITS if any(each.support.is_strong for each in exact) else -math.inf
    return exact + [e for e in rounded if e.total not in told and e.support.margin >= least]


def _units(block: Intervals) -> FloatArray:
    """Return the unit to which the numbers of each position are rounded."""
    unit: FloatArray = np.where(block.known, block.unit, np.inf).min(axis=0)
    return np.where(np.isinf(unit), block.unit.min(axis=0), unit)


class _Search:
    def __init__(self, table: TableNumbers) -> None:
        self.table = table
        self.region = table.region

    def relations(self, depths: NDArray[np.int64] | None, *, with_rows: bool) -> Relations:
        statistic_rows, statistic_columns = self.table.statistics()
        is_counted = not statistic_columns.all()
        columns = (
            np.flatnonzero(~statistic_columns) if is_counted else np.arange(len(statistic_columns))
        )
        rows = np.flatnonzero(~statistic_rows)
        base = self.table.base(rows, columns) if is_counted else 1
        found: list[Relation] = []
        shares = np.zeros(0, dtype=np.intp)
        if is_counted:
            ratios = self._ratios(np.flatnonzero(statistic_columns), columns, rows, base)
            whole = self._percentages(columns, rows, base)
            found += [*ratios, *whole]
            taken = {each.line for each in whole if each.support.is_strong}
            if any(each.per == 100.0 for each in found):  # the hundred per cent beside them
                hundred = [j for j in columns.tolist() if self.table.is_hundred(j)]
                taken |= {*self.region.numeric[hundred].tolist()}
            shares = np.array(
                [j for j in columns.tolist() if int(self.region.numeric[j]) in taken], dtype=np.intp
            )
            columns = np.setdiff1d(columns, shares)
        across = self._sums(columns, rows, Axis.COLUMNS, base)
        across = doubt_coincidence(across) if base > 1 else across
        core = {place for each in across for place in (each.line, *each.of)}
        inner = np.array(
            [j for j in columns.tolist() if int(self.region.numeric[j]) in core], dtype=np.intp
        )
        down: list[Relation] = []
        if with_rows:
            down = self._down(inner if len(inner) else columns, columns, rows, base)
            down += self._by_depth(inner if len(inner) else columns, rows, base, depths, down)
            down = [each for each in down if self._is_told_without(each, across, inner, base)]
        found += _without_near_misses([*across, *down], base)
        kinds = self._column_kinds(statistic_columns, shares, found, is_counted=is_counted)
        row_kinds = dict.fromkeys(self.region.body.tolist(), Kind.COUNT)
        row_kinds |= dict.fromkeys(self.region.body[statistic_rows].tolist(), Kind.STATISTIC)
        return Relations(tuple(found), kinds, row_kinds, base, self.table.codes)

    def _column_kinds(
        self,
        statistic: BoolArray,
        shares: NDArray[np.intp],
        found: Sequence[Relation],
        *,
        is_counted: bool,
    ) -> dict[int, Kind]:
        related = {
            place
            for each in found
            if each.axis is Axis.COLUMNS
            for place in ((each.line, *each.of) if each.is_sum else each.of)
        }
        kinds: dict[int, Kind] = {}
        for j, place in enumerate(self.region.numeric.tolist()):
            if statistic[j] or j in shares or not is_counted:
                kinds[place] = Kind.STATISTIC
            elif place in related:
                kinds[place] = Kind.COUNT
            elif related and self.table.fractional[:, j].sum() > 1:  # a median that is mostly whole
                kinds[place] = Kind.STATISTIC
            else:
                kinds[place] = Kind.UNRELATED
        return kinds

    # --- ratios -----------------------------------------------------------------------------

    def _ratios(
        self,
        candidates: NDArray[np.intp],
        counts: NDArray[np.intp],
        rows: NDArray[np.intp],
        base: int,
    ) -> list[Relation]:
        block = self.table.block.take(rows, np.arange(len(self.region.numeric))).transposed
        return [
            Relation(
                Axis.COLUMNS,
                int(self.region.numeric[each.line]),
                (int(self.region.numeric[each.part]), int(self.region.numeric[each.base])),
                each.support,
                per=each.per,
            )
            for each in find_ratios(block, candidates.tolist(), counts.tolist(), base - 1)
        ]

    def _percentages(
        self, counts: NDArray[np.intp], rows: NDArray[np.intp], base: int
    ) -> list[Relation]:
        """Return columns, mostly of whole numbers, that are percentages of others.

        They have no numbers above 100, and not only multiples of what counts are rounded to.
        """
        numbers = self.table.numbers[np.ix_(rows, counts)]
        top = np.nanmax(np.where(np.isnan(numbers), -1.0, numbers), axis=0, initial=-1.0)
        is_alike = (np.nan_to_num(numbers) % base == 0).all(axis=0) & (base > 1)
        small = counts[(top <= HUNDRED) & (top > 0) & ~is_alike]
        broken = self.table.fractional.sum(axis=0)
        found = self._ratios(small, counts[broken[counts] < 2], rows, base)
        # Whole numbers are counts sooner, unless it is far from chance.
        broken_at = dict(zip(self.region.numeric.tolist(), broken.tolist(), strict=True))
        certain = [
            each
            for each in found
            if each.support.is_strong
            and (each.support.margin >= CERTAIN_BITS or broken_at[each.line] > 1)
        ]
        lines = {each.line for each in certain}
        return [each for each in certain if not lines & set(each.of)]

    # --- sums -------------------------------------------------------------------------------

    def _sums(
        self,
        columns: NDArray[np.intp],
        rows: NDArray[np.intp],
        axis: Axis,
        base: int,
        *,
        beside_only: bool = False,
    ) -> list[Relation]:
        """Return the sums among columns, or rows."""
        block = self.table.block.take(rows, columns).in_steps(base)
        lines, places = (
            (rows, self.region.body) if axis is Axis.ROWS else (columns, self.region.numeric)
        )
        if axis is Axis.COLUMNS:
            block = block.transposed
        elif len(rows) > _MOST_ROWS:
            return []
        found = sums_of(block, base, beside_only=beside_only)
        return [self._relation(each, axis, lines, places) for each in found]

    def _relation(
        self, each: Sum, axis: Axis, lines: NDArray[np.intp], places: NDArray[np.intp]
    ) -> Relation:
        at = places[lines]
        return Relation(
            axis,
            int(at[each.total]),
            tuple(int(at[part]) for part in each.parts),
            each.support,
            step=each.step,
            is_rounded=each.is_rounded,
            rivals=tuple(tuple(int(at[part]) for part in own) for own in each.rivals),
        )

    def _down(
        self,
        core: NDArray[np.intp],
        columns: NDArray[np.intp],
        rows: NDArray[np.intp],
        base: int,
    ) -> list[Relation]:
        """Return sums among the rows: in columns that are counts, or that agree with each other."""
        found = self._sums(core, rows, Axis.ROWS, base)
        if found or len(columns) < 2 or len(columns) * len(rows) > 20_000:
            return found
        votes: dict[tuple[int, tuple[int, ...]], list[Relation]] = {}
        for column in columns.tolist():
            own = np.array([column], dtype=np.intp)
            for each in self._sums(own, rows, Axis.ROWS, 1, beside_only=True):
                votes.setdefault((each.line, each.of), []).append(each)
        return [
            self._joined(each)
            for each in votes.values()
            if len(each) > 1 and 2 * len(each) > self._told(columns, each[0])
        ]

    def _told(self, columns: NDArray[np.intp], each: Relation) -> int:
        """Count the columns in which all numbers of a sum of rows are printed, and not all zero."""
        lines = np.searchsorted(self.region.body, np.array([each.line, *each.of]))
        own = np.ix_(lines, columns)
        is_told = self.table.known[own].all(axis=0)
        return int((is_told & (self.table.numbers[own] > 0).any(axis=0)).sum())

    def _is_told_without(
        self, each: Relation, across: Sequence[Relation], columns: NDArray[np.intp], base: int
    ) -> bool:
        """Test whether columns that are no sums of others show a sum of rows by themselves.

        Rows that add up in two columns do so in the sum of these, which is no third witness.
        """
        exact = [every for every in across if not every.is_rounded]
        own = self._without_totals(exact, columns)
        lines = np.searchsorted(self.region.body, np.array([each.line, *each.of]))
        told = self.table.known[np.ix_(lines, own)]
        if base > 1 or each.is_rounded or len(own) == len(columns) or not told.all():
            return True
        block = self.table.block.take(lines, own)
        alone = support_of(block, np.zeros(len(own)))
        return alone.bits - each.support.tried >= MARGIN_BITS

    def _without_totals(
        self, across: Sequence[Relation], columns: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Return columns that are no sums of others."""
        totals = {every.line for every in across if every.support.is_strong}
        own = [j for j in columns.tolist() if int(self.region.numeric[j]) not in totals]
        return np.array(own, dtype=np.intp)

    def discounted(self, relations: Relations) -> Relations:
        """Return relations in which sums of few rows have the evidence of independent columns.

        Rows that add up in two columns do so in the sum of these, too. Independent are the columns
        that are no sums, or the parts of one sum, whichever give more bits.
        """
        columns = np.array(
            [
                j
                for j, at in enumerate(self.region.numeric.tolist())
                if relations.columns[at] is not Kind.STATISTIC
            ],
            dtype=np.intp,
        )
        own = self._without_totals(relations.sums(Axis.COLUMNS), columns)
        base = relations.base
        if base == 1 or not 0 < len(own) < len(columns):
            return relations  # of exact numbers chance is far enough
        block = self.table.block.in_steps(base)
        at = {place: j for j, place in enumerate(self.region.numeric.tolist())}
        strong = [each for each in relations.sums(Axis.COLUMNS) if each.support.is_strong]
        sets = [own, *(np.array([at[part] for part in each.of], np.intp) for each in strong)]
        found: list[Relation] = []
        for each in relations.found:
            is_few = each.axis is Axis.ROWS and len(each.of) <= _FEW_ROWS
            if not (each.is_sum and is_few):
                found.append(each)
                continue
            lines = np.searchsorted(self.region.body, np.array([each.line, *each.of]))
            slack = float(2 * (base - 1) if each.is_rounded else 0)
            told = [support_of(block.take(lines, s), np.full(len(s), slack)).bits for s in sets]
            bits = min(each.support.bits, max(told))
            found.append(replace(each, support=replace(each.support, bits=bits)))
        return replace(relations, found=tuple(found))

    def _by_depth(
        self,
        columns: NDArray[np.intp],
        rows: NDArray[np.intp],
        base: int,
        depths: NDArray[np.int64] | None,
        known: Sequence[Relation],
    ) -> list[Relation]:
        """Return the sums among the rows of each indent, which skip the rows between these."""
        if depths is None or len(np.unique(depths[rows])) < 2:
            return []
        told = {each.line for each in known}
        found: list[Relation] = []
        for depth in np.unique(depths[rows]).tolist():
            own = rows[depths[rows] == depth]
            found += [
                each for each in self._sums(columns, own, Axis.ROWS, base) if each.line not in told
            ]
        return found

    @staticmethod
    def _joined(votes: Sequence[Relation]) -> Relation:
        first = votes[0].support
        support = Support(
            sum(each.support.shown for each in votes),
            sum(each.support.open for each in votes),
            0,
            sum(each.support.bits for each in votes),
            first.tried,
        )
        return replace(votes[0], support=support)
