"""Equations and unknowns of each region once published zeros have ruled histogram cells out."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.capacity.design import design_matrix
from recon_cli.capacity.indistinguishable import Farthest, farthest_records
from recon_cli.capacity.rank import matrix_rank
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.system import System, build_systems
from recon_cli.publication import Publication

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
    """One row for each region of a partition.

    Args:
        plan: For exact counts.
        tables: What the plan's tables are called.

    Returns:
        ``region`` (geoid), ``tables``, ``units``, ``people`` (0 where unknown),
        ``before_zeros`` (histogram cells of all units at the plan's grain), ``rows``, ``rank`` (at
        least; equal where ``exact``), ``unknowns``, ``nullity`` (``unknowns − rank``), and the
        distance of the farthest two records that one unit can hold: ``squared`` L2, ``absolute``
        L1, in the unit's own counts
        (see `recon_cli.capacity.indistinguishable.Farthest`).
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
    """The farthest two candidates of one unit among ``columns``."""
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
