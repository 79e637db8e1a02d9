"""The question of `recon plan capacity`: equations and zeros in the counts of whole regions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.ask.quarantine import Quarantine
from recon_cli.ask.question import Answer, Question, RegionData
from recon_cli.capabilities.capacity.indistinguishable import Farthest, farthest_records
from recon_cli.capabilities.capacity.rank import design_matrix, matrix_rank
from recon_cli.coverage import Coverage
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_plan
from recon_cli.model.system import System, build_systems
from recon_cli.progress import OnProgress
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table


@dataclass(frozen=True)
class CapacityQuestion(Question):
    """The question of how many equations the tables leave after zeros, and their sums."""

    schema: Release
    tables: tuple[Table, ...]
    coverage: Coverage

    @classmethod
    def of(cls, release: Release, tables: Sequence[Table], coverage: Coverage) -> Self:
        return cls(release, tuple(tables), coverage)

    @property
    def release(self) -> Release:
        return self.schema

    @cached_property
    def plans(self) -> dict[str, Plan]:
        """Map names of tables of the finest level, of the finest two, …, to their plans."""
        found: dict[str, Plan] = {}
        names: list[str] = []
        used: set[str] = set()
        for level in self.release.geography.levels:
            tables = {t.name for t in self.tables if self.release.finest_level(t) == level}
            if tables:
                used |= tables
                names.append(level.name)
                chosen = [table for table in self.tables if table.name in used]
                found["+".join(names)] = make_plan(self.release, chosen, self.coverage)
        return found

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:  # noqa: ARG002
        """Compute rows of ``capacity/`` and ``capacity_sums/``; no solver is started."""
        published = part.published
        names = [table.name for table in self.tables]
        sums = (
            published.counts.filter(pl.col("table").is_in(names))
            .join(published.geounits.select("geoid", "pattern"), on="geoid")
            .group_by("pattern", "table", "cell")
            .agg(pl.col("count").sum().cast(pl.Int64))
            .sort("pattern", "table", "cell")
            .with_columns(pl.col("pattern").cast(pl.Int64), pl.col("cell").cast(pl.Int64))
        )
        equations = pl.concat(
            count_equations(plan, published, name) for name, plan in self.plans.items()
        )
        units = published.geounits.filter(level=self.release.geography.unit.name)
        people = int(units["population"].sum())
        on_progress(units.height, people)
        return Answer(
            {"capacity": equations, "capacity_sums": sums},
            totals={"units": units.height, "people": people},
        )


EQUATIONS = {
    "region": pl.String,
    "tables": pl.String,
    "units": pl.Int64,
    "people": pl.Int64,
    "before_zeros": pl.Int64,
    "rows": pl.Int64,
    "rank": pl.Int64,
    "exact": pl.Boolean,
    "unknowns": pl.Int64,
    "nullity": pl.Int64,
    "squared": pl.Int64,
    "absolute": pl.Int64,
}


def count_equations(plan: Plan, published: Publication, tables: str) -> pl.DataFrame:
    """Count equations, one row for each region of a partition.

    Args:
        plan: The plan for exact counts.
        tables: Name of the plan's tables.

    Returns:
        ``region`` (geoid), ``tables``, ``units``, ``people`` (0 where unknown),
        ``before_zeros`` (histogram cells of all units at the plan's grain), ``rows``, ``rank`` (at
        least; equal where ``exact``), ``unknowns``, ``nullity`` (``unknowns − rank``), and the
        distance of the farthest two records that one unit can hold: ``squared`` L2, ``absolute``
        L1, in the unit's own counts
        (see `recon_cli.capabilities.capacity.indistinguishable.Farthest`).
    """
    counts = arrange_counts(plan, published)
    rows = [
        row for system in build_systems(plan, counts) for row in _rows(plan, counts, system, tables)
    ]
    return pl.DataFrame(rows, schema=dict(EQUATIONS), orient="row")


def _rows(
    plan: Plan, counts: PartitionCounts, system: System, tables: str
) -> Iterator[tuple[str | int | bool, ...]]:
    A = system.rows.A
    region_of = system.regions[system.candidates.unit]
    first = A.indices[np.minimum(A.indptr[:-1], max(A.nnz - 1, 0))] if A.nnz else A.indices
    row_region = region_of[first]
    people = counts.population.fill_null(0).to_numpy()[system.units]
    histogram = math.prod(plan.grain.sizes)
    for region in np.unique(system.regions).tolist():
        columns = np.flatnonzero(region_of == region)
        here = np.flatnonzero(row_region == region)
        rank = matrix_rank(sparse.csr_array(A[here][:, columns]))
        units = int((system.regions == region).sum())
        far = _farthest(plan, system, columns)
        yield (
            str(counts.region_geoids[region]),
            tables,
            units,
            int(people[system.regions == region].sum()),
            histogram * units,
            len(here),
            rank.value,
            rank.is_exact,
            len(columns),
            len(columns) - rank.value,
            far.squared,
            far.absolute,
        )


def _farthest(plan: Plan, system: System, columns: IntArray) -> Farthest:
    """Find the farthest two candidates of one unit among ``columns``."""
    atoms, codes = np.unique(system.candidates.atoms[columns], axis=0, return_inverse=True)
    finest = plan.release.geography.unit.name
    cells = [
        plan.release.table_by_name[name].cells[number - 1]
        for name, number in max(
            (p.margins.columns for p in plan.patterns if p.level == finest), key=len, default=()
        )
    ]
    rows = [(cell.masks, cell.tally) for cell in cells]
    A = design_matrix(plan.release, plan.grain, rows, atoms)
    unit = system.candidates.unit[columns]
    once = np.ones(len(rows), dtype=np.int64)
    found = [
        farthest_records(sparse.csr_array(A[:, codes.ravel()[unit == one]]), once)
        for one in np.unique(unit).tolist()
    ]
    return Farthest(
        max((far.squared for far in found), default=0),
        max((far.absolute for far in found), default=0),
    )
