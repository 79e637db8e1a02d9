"""The published cells of a batch as functionals, by default those published as intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.model.candidates import Candidates, ListingLimit, find_endless
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import PatternPlan, Plan
from recon_cli.model.strata import Stratum
from recon_cli.model.system import MOST_CANDIDATES, System, row_entries


@dataclass(frozen=True)
class CountEnds:
    """Published, proven and seen bounds of counts.

    Attributes:
        low: Stated lower bound.
        high: Stated upper bound, `OPEN` where there is none.
        lower: Proven lower bound: no solution has less.
        upper: Proven upper bound: no solution has more.
        least: The least count in a known solution.
        greatest: The greatest count in a known solution; `OPEN` where no solution has the most.
    """

    low: IntArray
    high: IntArray
    lower: IntArray
    upper: IntArray
    least: IntArray
    greatest: IntArray


@dataclass(frozen=True)
class EndsSoFar:
    """Bounds of some counts while their ends are being found.

    Attributes:
        moved: The indices of the counts that the present component contributes to.
        lower: No solution has less, for each count.
        upper: No solution has more.
        least: The least count in a known solution of the components searched so far.
        greatest: The greatest count in such a solution.
    """

    moved: IntArray
    lower: IntArray
    upper: IntArray
    least: IntArray
    greatest: IntArray


#: Receives the bounds of counts while they are found.
OnEnds = Callable[[EndsSoFar], None]


@dataclass(frozen=True)
class StatedCounts:
    """Counts of some geounits that are published as intervals.

    Attributes:
        names: Columns ``geoid, level, table, cell``.
        place: The place of each count's geounit among the geounits.
        column: The place of each count among the published cells.
        low: Stated lower bound.
        high: Stated upper bound, `OPEN` where there is none.
    """

    names: pl.DataFrame
    place: IntArray
    column: IntArray
    low: IntArray
    high: IntArray

    @classmethod
    def of(
        cls, plan: Plan, counts: PartitionCounts, pattern: PatternPlan, geounits: IntArray
    ) -> StatedCounts:
        """Select the counts of geounits with one coverage pattern."""
        if counts.intervals is None:
            raise ValueError("an audit needs a plan for intervals")
        columns = np.array([plan.columns[cell] for cell in pattern.margins.columns], dtype=np.int64)
        low, high = (ends[:, columns] for ends in counts.intervals.of(geounits))
        place, column = np.nonzero(counts.intervals.is_withheld(geounits)[:, columns])
        schema = {"table": pl.String, "cell": pl.Int16}
        cells = pl.DataFrame(pattern.margins.columns, schema=schema, orient="row")
        names = cells[column].select(
            counts.geoids.gather(geounits[place]).alias("geoid"),
            pl.lit(pattern.level).alias("level"),
            "table",
            "cell",
        )
        return cls(names, place, column, low[place, column], high[place, column])


@dataclass(frozen=True)
class IntervalCells:
    """Cells published as intervals.

    Attributes:
        geounit: Row number of each cell's geounit in the partition.
        column: The place of each cell among the published cells of its pattern.
        least: Lower bounds from propagation over the margins.
        most: Upper bounds from propagation over the margins, `OPEN` where there is none.
        is_bounded: Whether all records that the cell counts are listed, and each is in a bounded
            row.
        is_endless: Whether no row bounds some of these records, so that any number can be added.
        coefficients: Sparse (cells × candidates): the count as a functional of a solution.
    """

    stratum: IntArray
    geounit: IntArray
    column: IntArray
    low: IntArray
    high: IntArray
    least: IntArray
    most: IntArray
    is_bounded: BoolArray
    is_endless: BoolArray
    coefficients: sparse.csr_array

    @classmethod
    def of(
        cls,
        plan: Plan,
        counts: PartitionCounts,
        system: System,
        among: Literal["intervals", "all"] = "intervals",
    ) -> IntervalCells:
        """Select a batch's cells published as intervals, or all its published cells."""
        endless = _endless(plan, system)
        parts = [
            _of_stratum(plan, counts, system, endless, at, among=among)
            for at in range(len(system.strata))
        ]
        names = [field.name for field in fields(cls) if field.name != "coefficients"]
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        coefficients = sparse.csr_array(sparse.vstack([part.coefficients for part in parts]))
        return cls(**arrays, coefficients=coefficients)

    def where(self, kept: BoolArray) -> IntervalCells:
        names = [field.name for field in fields(self) if field.name != "coefficients"]
        some = {name: getattr(self, name)[kept] for name in names}
        return IntervalCells(**some, coefficients=sparse.csr_array(self.coefficients[kept]))

    def names(self, plan: Plan, counts: PartitionCounts, system: System) -> pl.DataFrame:
        """Return the names of the cells: ``geoid, level, table, cell``, one row each."""
        patterns = [plan.patterns[stratum.pattern] for stratum in system.strata]
        sizes = [len(pattern.margins.columns) for pattern in patterns]
        first = np.cumsum([0, *sizes])
        cells = [
            (pattern.level, *column) for pattern in patterns for column in pattern.margins.columns
        ]
        schema = {"level": pl.String, "table": pl.String, "cell": pl.Int16}
        frame = pl.DataFrame(cells, schema=schema, orient="row")
        return frame[first[self.stratum] + self.column].select(
            counts.geoids.gather(self.geounit).alias("geoid"), "level", "table", "cell"
        )


def _endless(plan: Plan, system: System) -> tuple[Candidates, BoolArray]:
    """Return possible records that no row bounds, and for each unit whether they are listed."""
    units, sizes = len(system.units), len(plan.grain.sizes)
    nobody = Candidates(np.empty(0, dtype=np.int64), np.empty((0, sizes), dtype=np.int16))
    if system.is_bounded.all() or not system.strata:
        return nobody, np.ones(units, dtype=bool)
    limit = ListingLimit(system.regions, max(MOST_CANDIDATES // units, 1))
    return find_endless(plan.grain, units, system.strata, plan.impossible, limit)


def _of_stratum(
    plan: Plan,
    counts: PartitionCounts,
    system: System,
    endless: tuple[Candidates, BoolArray],
    at: int,
    *,
    among: str,
) -> IntervalCells:
    stratum = system.strata[at]
    pattern = plan.patterns[stratum.pattern]
    if counts.intervals is None or pattern.lattice is None or stratum.least is None:
        raise ValueError("an audit needs a plan for intervals")
    cells = np.array([plan.columns[cell] for cell in pattern.margins.columns])
    low, high = (ends[:, cells] for ends in counts.intervals.of(stratum.geounits))
    withheld = counts.intervals.is_withheld(stratum.geounits)[:, cells]
    place, column = np.nonzero(withheld | (among == "all"))
    node = pattern.lattice.node[column]
    beyond, listed = endless
    unlisted = (stratum.of_unit >= 0) & ~(listed & system.is_listed)
    has_all = np.ones(len(stratum.geounits), dtype=bool)
    has_all[stratum.of_unit[unlisted]] = False
    counted = _functionals(plan, stratum, replace(system, candidates=beyond), place, node)
    is_endless = np.diff(counted.indptr) > 0
    return IntervalCells(
        stratum=np.full(len(place), at),
        geounit=stratum.geounits[place],
        column=column,
        low=low[place, column],
        high=high[place, column],
        least=stratum.least[place, node],
        most=stratum.rhs[place, node],
        is_bounded=has_all[place] & ~is_endless,
        is_endless=is_endless,
        coefficients=_functionals(plan, stratum, system, place, node),
    )


def _functionals(
    plan: Plan, stratum: Stratum, system: System, place: IntArray, node: IntArray
) -> sparse.csr_array:
    """Return sparse (cells × candidates) contributions of a person in each candidate."""
    width = stratum.rhs.shape[1]
    asked = np.zeros((len(stratum.geounits), width), dtype=bool)
    asked[place, node] = True
    rows, columns, values = [], [], []
    for cell, row, coefficient in row_entries(
        plan, replace(stratum, needed=asked), system.candidates
    ):
        rows.append(stratum.of_unit[system.candidates.unit[cell]] * width + row)
        columns.append(cell)
        values.append(coefficient)
    entries = (np.concatenate(rows), np.concatenate(columns))
    shape = (len(stratum.geounits) * width, len(system.candidates.unit))
    every = sparse.csr_array((np.concatenate(values), entries), shape=shape)
    return sparse.csr_array(every[place * width + node])
