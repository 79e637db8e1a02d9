"""One part of a joint release: its candidates, place by place, under its own counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.joint.links import LinkedPart, link_masks
from recon_cli.capabilities.joint.release import JointRelease
from recon_cli.capabilities.reconstruct.contradictions import contradiction
from recon_cli.capabilities.solvar.histogram import (
    HistogramCells,
    histogram_columns,
    histogram_masks,
    histogram_of,
)
from recon_cli.coverage import Coverage
from recon_cli.model.bounds import Bounds, propagate
from recon_cli.model.candidates import Candidates
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_relaxed_plan
from recon_cli.model.program import LinearConstraints, relax
from recon_cli.model.system import System, build_system
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table


@dataclass(frozen=True)
class PartInput:
    """The inputs of a part's plan."""

    release: Release
    tables: Sequence[Table]
    coverage: Coverage


@dataclass(frozen=True)
class PartPlan:
    """The plan of one of the two releases, which does not depend on counts.

    Attributes:
        columns: The histogram columns, as far as its tables distinguish them.
    """

    plan: Plan
    columns: tuple[str, ...]

    @classmethod
    def of(cls, joint: JointRelease, side: int, given: PartInput) -> PartPlan:
        """Plan the first (0) or second part."""
        release, tables, coverage = given.release, given.tables, given.coverage
        columns = histogram_columns(release, tables, coverage)
        masks = [*histogram_masks(release, columns), *link_masks(joint.links, release, side)]
        return cls(make_relaxed_plan(release, tables, coverage, masks), columns)


@dataclass(frozen=True)
class Part:
    """A part in one partition, each place alone: Eq. 4.9 of the 2010 study.

    Attributes:
        rows: Its relaxed rows.
        bounds: Bounds from propagation in the part alone.
    """

    made: PartPlan
    counts: PartitionCounts
    system: System
    rows: LinearConstraints
    bounds: Bounds
    histogram: HistogramCells
    geoids: pl.Series

    @classmethod
    def of(cls, made: PartPlan, published: Publication) -> Part:
        """Build the part from published counts.

        Raises:
            ContradictionError: The counts contradict each other.
            SourceError: The counts are not exact.
        """
        published.require_exact("a joint release")
        plan = made.plan
        counts = arrange_counts(plan, published)
        system = build_system(plan, counts, slice(0, len(counts.units)))
        unit = system.candidates.unit
        own = np.isin(system.row_geounit, system.units)
        rows = relax(system.rows, own, unit)
        bounds = propagate(rows)
        suspects = system.suspects
        if bounds.conflict.any():
            inside = rows.A[np.flatnonzero(bounds.conflict)].nonzero()[1]
            suspects = np.union1d(suspects, system.units[unit[inside]])
        if len(suspects):
            raise contradiction(plan, published, counts, suspects)
        return cls(
            made,
            counts,
            system,
            rows,
            bounds,
            histogram_of(plan, system.candidates, made.columns),
            counts.geoids.gather(system.units),
        )

    @cached_property
    def _row_ends(self) -> tuple[IntArray, IntArray]:
        """Return the rows sorted by unit, and the units in that order."""
        of_row = self.system.candidates.unit[self.rows.A.indices[self.rows.A.indptr[:-1]]]
        order = np.argsort(of_row, kind="stable")
        return order, of_row[order]

    def within(self, geoids: pl.Series, is_asked: BoolArray) -> PlacesOfPart:
        """Restrict the part to the candidates in some neighbouring places.

        Args:
            geoids: Geoids of the places, sorted.
            is_asked: Mask of the places in question.
        """
        first = self.geoids.search_sorted(geoids[0], "left")
        last = self.geoids.search_sorted(geoids[-1], "right")
        place = geoids.search_sorted(self.geoids.slice(first, last - first))
        of_unit = place.cast(pl.Int64).to_numpy()
        candidates, histogram = self.system.candidates, self.histogram
        columns = slice(*np.searchsorted(candidates.unit, [first, last]).tolist())
        cells = slice(*np.searchsorted(histogram.unit, [first, last]).tolist())
        order, of_row = self._row_ends
        rows = order[slice(*np.searchsorted(of_row, [first, last]).tolist())]
        unit = candidates.unit[columns] - first
        return PlacesOfPart(
            self.made.plan,
            Candidates(unit, candidates.atoms[columns]),
            of_unit[unit],
            np.where(is_asked[of_unit], of_unit, -1)[unit],
            self.bounds.lower[columns],
            self.bounds.upper[columns],
            LinearConstraints(
                sparse.csr_array(self.rows.A[rows][:, columns]),
                self.rows.least[rows],
                self.rows.most[rows],
            ),
            histogram.of_cell[columns] - cells.start,
            cells.stop - cells.start,
            columns.start,
            cells.start,
        )

    def numbered(self, geoids: pl.Series) -> IntArray:
        """Return for each candidate the index of its unit in ``geoids``; −1 if absent."""
        table = pl.DataFrame({"geoid": geoids, "at": np.arange(len(geoids))})
        found = pl.DataFrame({"geoid": self.geoids}).join(
            table, on="geoid", how="left", maintain_order="left"
        )
        of_unit = found["at"].fill_null(-1).to_numpy().astype(np.int64)
        numbered: IntArray = of_unit[self.system.candidates.unit]
        return numbered

    def linked(self, unit: IntArray) -> LinkedPart:
        """Return the inputs of links; ``unit`` from `numbered`."""
        return LinkedPart(self.made.plan, self.system.candidates, unit, self.bounds.upper)

    @property
    def is_bounded(self) -> BoolArray:
        """Test for each place whether its counts bound all records there."""
        return self.system.is_bounded & self.system.is_listed

    def frame(self) -> pl.DataFrame:
        """Return one row for each histogram cell: the unit's geoid and the columns."""
        return self.histogram.frame(self.made.plan, self.counts, self.system)


@dataclass(frozen=True)
class PlacesOfPart:
    """A part's candidates in some places.

    Attributes:
        of_unit: For each candidate its place, from 0.
        place: As `of_unit`, but −1 for places that are not examined.
        lower: Lower bounds from propagation in the part alone.
        upper: Upper bounds from propagation in the part alone.
        rows: The part's relaxed rows in these places.
        of_cell: For each candidate its histogram cell, from 0.
        first_column: Index of the first candidate among those of the part.
        first_cell: Index of the first histogram cell among those of the part.
    """

    plan: Plan
    candidates: Candidates
    of_unit: IntArray
    place: IntArray
    lower: IntArray
    upper: IntArray
    rows: LinearConstraints
    of_cell: IntArray
    cells: int
    first_column: int
    first_cell: int

    @property
    def linked(self) -> LinkedPart:
        return LinkedPart(self.plan, self.candidates, self.place, self.upper)


def rows_within(rows: LinearConstraints, columns: IntArray) -> LinearConstraints:
    """Select the rows with any of some columns, none of which may have other columns."""
    inside = over(rows, columns)
    keep = np.flatnonzero(np.diff(inside.A.indptr) > 0)
    A = sparse.csr_array(inside.A[keep])
    return LinearConstraints(A, rows.least[keep], rows.most[keep])


def over(rows: LinearConstraints, columns: IntArray) -> LinearConstraints:
    """Restrict rows to some columns."""
    return LinearConstraints(sparse.csr_array(rows.A[:, columns]), rows.least, rows.most)
