"""Intervals of histogram cells from propagation alone, where solvar was not run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.attack.variability.histogram import (
    histogram_columns,
    histogram_masks,
    histogram_of,
    with_open_ends,
)
from recon_cli.frames import OPEN
from recon_cli.model.bounds import propagate
from recon_cli.model.candidates import Candidates
from recon_cli.model.counts import arrange_counts
from recon_cli.model.dense_bounds import propagate_dense
from recon_cli.model.dense_domain import DenseDomain
from recon_cli.model.grain import unravel
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan, make_plan
from recon_cli.model.system import MOST_LISTED, System, build_systems
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table


def propagated_intervals(
    release: Release, published: Publication, tables: Sequence[Table]
) -> pl.DataFrame:
    """Valid intervals of the histogram cells of whole regions, without a solver.

    Args:
        published: The regions.
        tables: The tables in use.

    Returns:
        One row per histogram cell that may hold people: the unit's geoid, the histogram columns
        that the tables see, ``lower`` and ``upper``.
    """
    columns = histogram_columns(release, tables, published.coverage)
    make = make_plan if published.is_exact else make_interval_plan
    plan = make(release, tables, published.coverage, histogram_masks(release, columns))
    counts = arrange_counts(plan, published)
    schema: dict[str, type[pl.DataType]] = {release.geoid_column: pl.String}
    schema |= {name: release.column_groups(name).dtype for name in columns}
    schema |= {"lower": pl.Int32, "upper": pl.Int32}
    frames = [pl.DataFrame(schema=schema)]
    most_listed = None if published.is_exact else MOST_LISTED
    for system in build_systems(plan, counts, most_listed=most_listed):
        candidates, *ends = _bounded_candidates(plan, system)
        histogram = histogram_of(plan, candidates, columns)
        lower, upper = (
            np.bincount(histogram.of_cell, each, len(histogram.unit)).astype(np.int64)
            for each in ends
        )
        frame = histogram.frame(plan, counts, system).with_columns(
            lower=pl.Series(lower), upper=pl.Series(upper)
        )
        frame = frame.filter(pl.col("upper") > 0)
        frame = with_open_ends(frame, plan, counts, system, columns)
        frames.append(frame.select(pl.col(name).cast(dtype) for name, dtype in schema.items()))
    return pl.concat(frames)


def _bounded_candidates(plan: Plan, system: System) -> tuple[Candidates, IntArray, IntArray]:
    """The candidates of a batch with their least and most people."""
    if system.is_listed.all():
        bounds = propagate(system.rows)
        return system.candidates, bounds.lower, np.where(bounds.is_open, OPEN, bounds.upper)
    dense = propagate_dense(DenseDomain.of(plan, system.strata, len(system.units)))
    unit, cell = np.nonzero((dense.upper > 0) | dense.is_open)
    candidates = Candidates(unit, unravel(cell, plan.grain.sizes))
    most = np.where(dense.is_open, OPEN, dense.upper)
    lower, upper = (ends[unit, cell].astype(np.int64) for ends in (dense.lower, most))
    return candidates, lower, upper
