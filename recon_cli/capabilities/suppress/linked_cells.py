"""The cells of a region at all levels together, as complementary suppression needs them.

A cell is a functional of the numbers of people in the histogram cells that no published zero
excludes. Cells with the same functional are merged: they have the same count, and must be
suppressed together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.capabilities.audit.cells import IntervalCells
from recon_cli.capabilities.audit.clique_ends import AskedCounts
from recon_cli.capabilities.reconstruct.cliques import CliqueForm, CliqueSystem
from recon_cli.frames import STATEMENTS
from recon_cli.model.bounds import propagate_signed
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.distinct_rows import distinct_columns, distinct_rows
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan
from recon_cli.model.program import connected_parts
from recon_cli.model.system import build_system, whole_regions_of
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.statement import Protection, Statement
from recon_cli.statement.suppression import Suppressed

#: Histogram cells of a batch's units, up to which they are listed.
_FEW = 1_000
#: Wider than any interval of a count, and finite, so that no cell goes without a row.
_WIDE = 10_000_000


@dataclass(frozen=True)
class LinkedCells:
    """The distinct cells of one region.

    Attributes:
        region: Its geoid.
        names: ``geoid, table, cell, distinct``: every published cell that may be suppressed, with
            the place of its functional.
        coefficients: Sparse (functionals × columns), no two rows alike. A column is a group of
            histogram cells in the same counts, or of cells of clique tables.
        agreement: Sparse (rows × columns): zero where clique tables agree; no rows where the
            columns are histogram cells.
    """

    region: str
    names: pl.DataFrame
    coefficients: sparse.csr_array
    agreement: sparse.csr_array

    @property
    def rows(self) -> sparse.csr_array:
        """Return the functionals, then `agreement`."""
        return sparse.csr_array(sparse.vstack([self.coefficients, self.agreement]))


def linked_cells(
    release: Release, truth: Publication, tables: Sequence[Table], *, zeros_hidden: bool
) -> Iterator[LinkedCells]:
    """Yield the cells of each region.

    Args:
        truth: Exact counts of one partition.
        tables: Published tables.
        zeros_hidden: Whether counts of zero may be suppressed too; else they are published, and
            rule histogram cells out.

    Raises:
        SourceError: The counts do not fit together.
        SolverError: More histogram cells are possible than can be listed.
    """
    published = _all_suppressed(truth, zeros_hidden=zeros_hidden)
    plan = make_interval_plan(release, tables, truth.coverage)
    counts = arrange_counts(plan, published)
    form = CliqueForm.of(plan)
    for batch in whole_regions_of(counts):
        cells = None
        if form.is_narrow:
            cells = _by_cliques(form, counts, batch)
        if cells is None:
            cells = _by_histograms(plan, counts, batch)
        if cells is None:
            continue
        of_cell = release.region.enclosing(cells.names["geoid"])
        for number in np.unique(counts.region[batch]).tolist():
            region = counts.region_geoids[number]
            rows = np.flatnonzero((of_cell == region).to_numpy())
            columns = np.flatnonzero(cells.region == number)
            here = sparse.csr_array(cells.coefficients[rows][:, columns])
            agreement = sparse.csr_array(cells.agreement[:, columns])
            agreement = sparse.csr_array(agreement[np.flatnonzero(np.diff(agreement.indptr))])
            if len(rows):
                yield _distinct(region, cells.names[rows], here, agreement)


@dataclass(frozen=True)
class _BatchCells:
    """The cells of some regions.

    Attributes:
        names: ``geoid, table, cell``.
        coefficients: Sparse (cells × columns).
        agreement: As in `LinkedCells`.
        region: Region of each column.
    """

    names: pl.DataFrame
    coefficients: sparse.csr_array
    agreement: sparse.csr_array
    region: IntArray


def _by_histograms(plan: Plan, counts: PartitionCounts, batch: slice) -> _BatchCells | None:
    """Use histogram cells that no published zero excludes; None if nothing is published."""
    system = build_system(plan, counts, batch)
    if not system.strata:
        return None
    cells = IntervalCells.of(plan, counts, system)
    names = cells.names(plan, counts, system).drop("level")
    nothing = sparse.csr_array((0, len(system.candidates.unit)), dtype=np.int64)
    regions = system.regions[system.candidates.unit]
    return _BatchCells(names, cells.coefficients, nothing, regions)


def _by_cliques(form: CliqueForm, counts: PartitionCounts, batch: slice) -> _BatchCells | None:
    """Use clique tables, if histograms have more cells than a program takes; else None."""
    number = batch.stop - batch.start
    if number * form.joint_width <= _FEW or not counts.is_listed[counts.units[batch]].all():
        return None
    system = CliqueSystem.of(form, counts, batch)
    bounds = propagate_signed(system.rows, system.ceiling)
    columns = np.flatnonzero(bounds.upper > 0)
    asked = [AskedCounts.of(system, counts, rows) for rows in system.published]
    rows = np.concatenate([each.row for each in asked])
    A = sparse.csr_array(system.rows.A[:, columns])
    return _BatchCells(
        names=pl.concat(each.names for each in asked).drop("level"),
        coefficients=sparse.csr_array(A[rows]),
        agreement=sparse.csr_array(A[: system.separators]),
        region=counts.region[batch][system.unit[columns]],
    )


def _all_suppressed(truth: Publication, *, zeros_hidden: bool) -> Publication:
    """Treat every count that may be suppressed as open."""
    counts = truth.counts.select("geoid", "table", "cell")
    if zeros_hidden:
        frames = []
        for number, pattern in enumerate(truth.coverage):
            geoids = truth.geounits.filter(pl.col("pattern") == number).select("geoid")
            cells = [(name, cell) for name, numbers in pattern.cells.items() for cell in numbers]
            schema = {"table": pl.String, "cell": pl.Int16}
            frames.append(
                geoids.join(pl.DataFrame(cells, schema=schema, orient="row"), how="cross")
            )
        counts = pl.concat(frames)
    statements = counts.with_columns(
        count=pl.lit(None), low=pl.lit(0), high=pl.lit(_WIDE), law=pl.lit(None)
    )
    law = Suppressed(flagged="may-be-zero", complementary=True)
    return Publication(
        truth.geounits, statements.cast(STATEMENTS), truth.coverage, Protection((Statement(law),))
    )


def _distinct(
    region: str,
    names: pl.DataFrame,
    coefficients: sparse.csr_array,
    agreement: sparse.csr_array,
) -> LinkedCells:
    """Merge cells with the same functional, and columns in the same rows."""
    rows, functional = distinct_rows(coefficients)
    columns, _ = distinct_columns(sparse.csc_array(sparse.vstack([coefficients[rows], agreement])))
    return LinkedCells(
        region,
        names.with_columns(distinct=pl.Series(functional, dtype=pl.Int64)),
        sparse.csr_array(coefficients[rows][:, columns]),
        sparse.csr_array(agreement[:, columns]),
    )


@dataclass(frozen=True)
class Likeness:
    """The columns of each unit by kinds; those of a kind lie in the same cells of coarser levels.

    Attributes:
        present: Sparse (units × kinds): whether a unit has columns of a kind.
        inhabited: The same for columns with people.
    """

    present: sparse.csr_array
    inhabited: sparse.csr_array

    @classmethod
    def of(cls, coarser: sparse.csr_array, unit: IntArray, known: IntArray) -> Likeness:
        """Find the kinds.

        Args:
            coarser: Sparse (cells × columns) coefficients of the coarser levels.
            unit: Unit of each column.
            known: People in each column.
        """
        by_column = sparse.csc_array(coarser)
        _, kind = distinct_columns(by_column)
        shape = (int(unit.max(initial=-1)) + 1, int(kind.max(initial=-1)) + 1)
        shown = np.diff(by_column.indptr) > 0  # others show in no coarser cell

        def among(some: IntArray) -> sparse.csr_array:
            some = some[shown[some]]
            ones = np.ones(len(some), dtype=np.int64)
            counted = sparse.csr_array((ones, (unit[some], kind[some])), shape=shape)
            return sparse.csr_array(counted.minimum(1))

        return cls(among(np.arange(len(unit))), among(np.flatnonzero(known > 0)))

    def most_alike(self, units: IntArray, size: int) -> IntArray:
        """Return up to ``size`` other units, those with the most kinds in common with ``units``."""
        shared = self.present[units] @ self._inhabited_in + self.inhabited[units] @ self._present_in
        entries = sparse.coo_array(shared)
        other, place = np.unique(entries.col, return_inverse=True)
        alike = np.bincount(place.ravel(), entries.data)
        order = np.lexsort((other, -alike))
        found: IntArray = other[order].astype(np.int64)
        return found[~np.isin(found, units)][:size]

    @cached_property
    def _present_in(self) -> sparse.csr_array:
        return sparse.csr_array(self.present.T)

    @cached_property
    def _inhabited_in(self) -> sparse.csr_array:
        return sparse.csr_array(self.inhabited.T)


@dataclass(frozen=True)
class Neighbourhoods:
    """The units of a region, and the units that could compensate a change of another unit.

    A change of the records of one unit shows in the cells of coarser geounits, unless other units
    change the other way round. Units that have records in the same coarse cells can do so. A
    program over a few such units is small, and nearly always enough. For a change of a coarser
    geounit's cell, they are units with records in the same cells of even coarser levels.

    Attributes:
        unit: Unit of each column; units share no fine cell.
        level: Level of each cell, 0 for the finest.
        likeness: For each level of the cell that is to change, the likeness of the units.
    """

    unit: IntArray
    level: IntArray
    likeness: tuple[Likeness, ...]

    @classmethod
    def of(cls, rows: sparse.csr_array, level: IntArray, known: IntArray) -> Neighbourhoods:
        """Find the neighbourhoods of a region.

        Args:
            rows: Sparse (cells × columns) coefficients.
            level: Level of each cell, 0 for the finest.
            known: People in each column.
        """
        _, unit = connected_parts(sparse.csr_array(rows[level == 0]))
        levels = range(int(level.max(initial=0)) + 1)
        found = (Likeness.of(sparse.csr_array(rows[level > at]), unit, known) for at in levels)
        return cls(unit, level, tuple(found))

    def of_columns(self, columns: IntArray) -> IntArray:
        """Return the sorted units that some columns belong to."""
        return np.unique(self.unit[columns])

    def around(self, units: IntArray, size: int, level: int = 0) -> IntArray:
        """Return the sorted columns of some units, and of the ``size`` most similar units.

        Args:
            level: Level of the cell that is to change.
        """
        columns, first = self._columns_of
        if size >= len(first) - 1 - len(units):
            return np.arange(len(self.unit))
        chosen = np.concatenate([units, self.likeness[level].most_alike(units, size)])
        return np.sort(np.concatenate([columns[first[at] : first[at + 1]] for at in chosen]))

    def blocks(self, rows: sparse.csr_array) -> IntArray:
        """Return the block of each cell, such as its district; the last for those in several.

        Units of two blocks are not similar, if a cell of the finest level is to change.
        """
        _, block = connected_parts(sparse.csr_array(self.likeness[0].present.T))
        of_column = block[self.unit]
        first = of_column[rows.indices[rows.indptr[:-1]]]
        differs = of_column[rows.indices] != np.repeat(first, np.diff(rows.indptr))
        several = np.add.reduceat(differs, rows.indptr[:-1]) > 0
        return np.where(several, int(block.max(initial=0)) + 1, first)

    @cached_property
    def _columns_of(self) -> tuple[IntArray, IntArray]:
        """Return the columns of one unit after the other, and where those of each begin."""
        units = np.arange(int(self.unit.max(initial=-1)) + 2)
        return np.argsort(self.unit, kind="stable"), np.searchsorted(np.sort(self.unit), units)
