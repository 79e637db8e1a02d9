"""Printed statistics of some regions, joined to the rows of their counts.

They stand behind margins and lattice, which are about counts alone: Eq. (printed) of
docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.errors import SolverError
from recon_cli.frames import OPEN
from recon_cli.model.bounds import Bounds, propagate, propagate_signed
from recon_cli.model.candidates import Candidates
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.grain import Grain
from recon_cli.model.plan import Plan
from recon_cli.model.predicates import Masks
from recon_cli.model.program import LinearConstraints
from recon_cli.model.statistic_rows import (
    Measured,
    Row,
    impossible,
    maximum_rows,
    mean_rows,
    median_cases,
    median_rows,
    minimum_rows,
    mode_rows,
    nobody,
    outwards,
    quantile_cases,
    quantile_rows,
    share_rows,
    widened,
)
from recon_cli.model.summed_columns import SummedColumns, ValueRows, sum_columns
from recon_cli.schema import Release, Table
from recon_cli.schema.statistics import Statistic
from recon_cli.statement.printed import Ends, printed_value
from recon_cli.statement.statistics import Printed

#: Pairs of middle values that are tried, the closest ones.
_NEAR: Final = 4


@dataclass(frozen=True)
class JoinedRows:
    """The rows of counts and statistics of a batch.

    Attributes:
        columns: Over the people and excesses of its histogram cells.
        row_geounit: For each row the row number of its geounit, −1 for those of excesses.
        suspects: Row numbers of geounits with a statistic of nobody.
        is_exact: Whether people who meet the rows would print the same texts. Rows of a median
            whose definition, or whose middle values, are not known only hold for who does.
    """

    columns: SummedColumns
    row_geounit: IntArray
    suspects: IntArray
    is_exact: bool

    def bounds(self, counts: LinearConstraints) -> Bounds:
        """Tighten the bounds of all columns: by the counts, then by all rows.

        Args:
            counts: The rows of counts, over single histogram cells.
        """
        rows, number = self.columns.rows, len(counts.least)
        people = np.unique(self.columns.people)
        own = LinearConstraints(
            sparse.csr_array(rows.A[:number][:, people]), rows.least[:number], rows.most[:number]
        )
        first = propagate(own)
        upper = np.full(rows.A.shape[1], OPEN)
        upper[people] = first.upper
        is_open = np.zeros(rows.A.shape[1], dtype=bool)
        is_open[people] = first.is_open
        found = propagate_signed(rows, upper)
        return Bounds(found.lower, found.upper, is_open, found.conflict)


def statistic_predicates(release: Release) -> Iterator[Masks]:
    """Yield the predicates that the grain must resolve for the statistics of a release."""
    for table in release.statistics:
        of = statistic_of(table)
        for cell in table.cells:
            yield of.counted(cell.masks)
            yield of.based(cell.masks)
        if of.feature is not None:
            for number in sorted(set(of.values)):
                mask = sum(1 << at for at, value in enumerate(of.values) if value == number)
                yield (*release.full[: of.feature], mask, *release.full[of.feature + 1 :])


def statistic_features(release: Release) -> frozenset[int]:
    """Return the indices of features whose values some statistic tells apart."""
    found = {statistic_of(table).feature for table in release.statistics}
    masks = list(statistic_predicates(release))
    found |= {f for f, full in enumerate(release.full) if any(each[f] != full for each in masks)}
    return frozenset(f for f in found if f is not None)


def join_statistics(
    plan: Plan,
    counts: PartitionCounts,
    batch: slice,
    *,
    candidates: Candidates,
    rows: LinearConstraints,
    row_geounit: IntArray,
    apart: sparse.csr_array,
    is_whole: BoolArray,
) -> JoinedRows:
    """Join the statistics of a batch to the rows of its counts.

    Args:
        batch: Whole regions.
        candidates: Its histogram cells, all listed.
        rows: Of its counts.
        row_geounit: For each row the row number of its geounit.
        apart: Sparse (counts × cells): what may be asked about, which stays apart.
        is_whole: For each unit whether all its possible people are candidates, and bounded.

    Raises:
        SolverError: Nothing bounds the people of a statistic.
    """
    found = list(_statistic_rows(plan, counts, batch, candidates, is_whole))
    suspects = [each.geounit for each in found if not len(each.cells)]
    main = next((each.of.feature for each in found if each.of.kind == "mean"), None)
    own = _assembled([each for each in found if len(each.cells)], main, len(candidates.unit))
    empty = sparse.csr_array(rows.A.shape, dtype=np.int64)
    values = ValueRows(
        plain=sparse.csr_array(sparse.vstack([rows.A, own.plain])),
        by_value=sparse.csr_array(sparse.vstack([empty, own.by_value])),
        values=_summed_values(plan, found, main, candidates),
        least=np.concatenate([rows.least, own.least]),
        most=np.concatenate([rows.most, np.full(len(own.least), OPEN)]),
    )
    columns = sum_columns(values, candidates.unit, apart)
    known = np.concatenate([row_geounit, own.geounit])
    extra = np.full(columns.rows.A.shape[0] - len(known), -1)
    return JoinedRows(
        columns,
        np.concatenate([known, extra]),
        np.unique(np.array(suspects, dtype=np.int64)),
        is_exact=all(each.is_exact for each in found),
    )


@dataclass(frozen=True)
class _PlaceRows:
    """The rows of one statistic of one place.

    Attributes:
        geounit: Row number of the place.
        of: The statistic.
        cells: The histogram cells that it is about.
        values: Of these, in whole numbers; empty where it is of no values.
        rows: Over them.
        is_exact: Whether people who meet them would print the same.
    """

    geounit: int
    of: Statistic
    cells: IntArray
    values: IntArray
    rows: list[Row]
    is_exact: bool


@dataclass(frozen=True)
class _Assembled:
    """Rows over all histogram cells of a batch, as in `ValueRows`."""

    plain: sparse.csr_array
    by_value: sparse.csr_array
    least: IntArray
    geounit: IntArray


def _assembled(found: Sequence[_PlaceRows], main: int | None, width: int) -> _Assembled:
    """Put rows of places together; values of other features than ``main`` are multiplied out."""
    none = np.empty(0, dtype=np.int64)
    line, column, plain, by_value = [none], [none], [none], [none]
    least: list[int] = []
    geounit: list[int] = []
    for each in found:
        for row in each.rows:
            is_main = each.of.feature == main
            line.append(np.full(len(each.cells), len(least)))
            column.append(each.cells)
            plain.append(row.plain if is_main else row.coefficients(each.values))
            by_value.append(row.by_value if is_main else np.zeros_like(row.by_value))
            least.append(row.least)
            geounit.append(each.geounit)
    at, shape = (np.concatenate(line), np.concatenate(column)), (len(least), width)
    own, weights = (
        sparse.csr_array((np.concatenate(part), at), shape=shape) for part in (plain, by_value)
    )
    own.eliminate_zeros()
    weights.eliminate_zeros()
    sides = np.array(least, dtype=np.int64), np.array(geounit, dtype=np.int64)
    return _Assembled(own, weights, *sides)


def _summed_values(
    plan: Plan, found: Sequence[_PlaceRows], main: int | None, candidates: Candidates
) -> IntArray:
    """Return the value of each histogram cell by the feature whose means are printed."""
    if main is None:
        return np.zeros(len(candidates.unit), dtype=np.int64)
    of = next(each.of for each in found if each.of.kind == "mean")
    return _measured(plan.grain, of, candidates).values


def _statistic_rows(
    plan: Plan, counts: PartitionCounts, batch: slice, candidates: Candidates, is_whole: BoolArray
) -> Iterator[_PlaceRows]:
    """Yield the rows of each statistic of a batch."""
    texts = counts.statistics
    if texts is None:
        return
    for level in plan.release.geography.levels:
        of_unit = counts.parent[level.name][batch]
        here = texts.at(of_unit)
        of_cell = of_unit[candidates.unit]
        order = np.argsort(of_cell, kind="stable")
        ordered = of_cell[order]
        for (name, cell), rows in here.group_by("table", "cell", maintain_order=True):
            table, number = plan.release.statistic_by_name[str(name)], int(str(cell))
            kind = _CellVectors.of_cell(plan.grain, table, number, candidates)
            for geounit, text in rows.select("geounit", "text").iter_rows():
                if not is_whole[of_unit == geounit].all():
                    raise SolverError(
                        f"{counts.geoids[geounit]} table {table.name} cell {number}: no count "
                        "bounds the people of this statistic; publish or bound how many there "
                        "are (low, high), or take the statistic out"
                    )
                law = texts.protection.printing(table.name, level.name, text)
                if isinstance(law, Printed):
                    first, last = np.searchsorted(ordered, [geounit, geounit + 1])
                    part = kind.of_place(order[first:last])
                    read = part.read(law, text, _choice(texts.attempt, geounit, table, number))
                    yield _PlaceRows(geounit, kind.of, part.cells, part.measured.values, *read)


def _choice(attempt: int | None, geounit: int, table: Table, number: int) -> float | None:
    """Draw which of the near pairs of middle values is tried; first the closest."""
    if not attempt:
        return attempt
    seed = (attempt, geounit, number, *table.name.encode())
    return float(np.random.default_rng(seed).random())


@dataclass(frozen=True)
class _CellVectors:
    """The histogram cells of a batch that a statistic of a table's cell is about.

    Attributes:
        counted: Those that its numerator counts.
        base: Those that its denominator counts.
        measured: Their values; zeros where it is of no values.
    """

    of: Statistic
    counted: BoolArray
    base: BoolArray
    measured: Measured

    @classmethod
    def of_cell(
        cls, grain: Grain, table: Table, number: int, candidates: Candidates
    ) -> _CellVectors:
        of, masks = statistic_of(table), table.cells[number - 1].masks
        counted, base = (
            _inside(grain, each, candidates) for each in (of.counted(masks), of.based(masks))
        )
        return cls(of, counted, base, _measured(grain, of, candidates))

    def of_place(self, cells: IntArray) -> _PlaceVectors:
        """Select those of one place."""
        cells = cells[self.counted[cells] | self.base[cells]]
        here = Measured(self.measured.values[cells], self.measured.unit)
        return _PlaceVectors(self.of, cells, self.counted[cells], self.base[cells], here)


@dataclass(frozen=True)
class _PlaceVectors:
    """The histogram cells of one place that a statistic is about, as `_CellVectors`."""

    of: Statistic
    cells: IntArray
    counted: BoolArray
    base: BoolArray
    measured: Measured

    def read(self, law: Printed, text: str, choice: float | None) -> tuple[list[Row], bool]:
        """Return the rows of a text, and whether people who meet them would print the same.

        Args:
            choice: Return rows that are enough for the text, though others may print it, too:
                which of those that there are, from 0 to 1; None for rows that all meet.
        """
        ends = law.ends(text)
        if ends is None:
            return nobody(self.base), True
        match self.of.kind:
            case "share" | "ratio":
                rows = share_rows(self.counted, self.base, ends, self.of.times)
                return rows, widened(ends) == ends
            case "mean":
                return mean_rows(self.base, ends, self.measured.unit), widened(ends) == ends
            case "median" | "quantile":
                return self._ordered(ends, choice)
        exact = printed_value(law.plain(text))
        build = {"minimum": minimum_rows, "maximum": maximum_rows, "mode": mode_rows}
        return build[self.of.kind](self.measured, self.base, exact), True

    def _ordered(self, ends: Ends, choice: float | None) -> tuple[list[Row], bool]:
        of, measured, base = self.of, self.measured, self.base
        if of.kind == "quantile":
            cases = quantile_cases(measured, base, ends, of.order)
        else:
            cases = median_cases(measured, base, ends, of.definition)
        is_exact = of.kind == "median" and of.definition != "any" and len(cases) == 1
        if is_exact:
            return cases[0], True
        if choice is not None:
            near = cases[:_NEAR]
            return near[int(choice * len(near))] if near else impossible(base), True
        if of.kind == "quantile":
            return quantile_rows(measured, base, ends, of.order), False
        sharp = ends if of.definition != "any" else outwards(ends)
        return median_rows(measured, base, sharp), False


def _inside(grain: Grain, masks: Masks, candidates: Candidates) -> BoolArray:
    """Test which histogram cells a predicate counts."""
    found = np.ones(len(candidates.unit), dtype=bool)
    for feature, mask in enumerate(masks):
        atoms = grain.within(feature, mask)
        if len(atoms) < grain.sizes[feature]:
            found &= np.isin(candidates.atoms[:, feature], atoms)
    return found


def _measured(grain: Grain, of: Statistic, candidates: Candidates) -> Measured:
    """Return the values of histogram cells in whole numbers."""
    if of.feature is None:
        return Measured(np.zeros(len(candidates.unit), dtype=np.int64))
    unit = math.lcm(*(value.denominator for value in of.values))
    whole = np.array([int(value * unit) for value in of.values], dtype=np.int64)
    of_atom = whole[grain.lowest[of.feature]]
    return Measured(of_atom[candidates.atoms[:, of.feature]], unit)


def statistic_of(table: Table) -> Statistic:
    """Return the statistic of a table that has one.

    Raises:
        ValueError: Its cells are counts.
    """
    if table.statistic is None:
        raise ValueError(f"table {table.name} has counts")
    return table.statistic
