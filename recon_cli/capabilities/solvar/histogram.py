"""The histogram cells of a release over the candidates of a system, with propagated bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.capabilities.reconstruct.dense_bounds import propagate_dense
from recon_cli.capabilities.reconstruct.dense_domain import DenseDomain
from recon_cli.coverage import Coverage
from recon_cli.frames import OPEN
from recon_cli.model.bounds import propagate
from recon_cli.model.candidates import Candidates, find_unmentioned
from recon_cli.model.components import Component
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.grain import unravel
from recon_cli.model.placed import placed
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan, make_plan
from recon_cli.model.predicates import Masks
from recon_cli.model.statistics import statistic_features
from recon_cli.model.system import MOST_LISTED, System, build_systems
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table


def histogram_columns(
    release: Release, tables: Sequence[Table], coverage: Coverage
) -> tuple[str, ...]:
    """Return the histogram columns whose feature a published cell or statistic distinguishes.

    The publication has no information about other columns: they do not vary, they are unknown.
    """
    seen = release.distinguished_by(
        cell for pattern in coverage for _, cell in pattern.published_cells(tables)
    )
    seen |= statistic_features(release)
    return tuple(
        name
        for name in release.histogram
        if release.feature_index[release.column_groups(name).feature] in seen
    )


def histogram_masks(release: Release, columns: tuple[str, ...]) -> list[Masks]:
    """Return one predicate for each group of each column, for a plan to distinguish."""
    predicates = []
    for name in columns:
        groups = release.column_groups(name)
        f = release.feature_index[groups.feature]
        predicates += [(*release.full[:f], mask, *release.full[f + 1 :]) for mask in groups.masks]
    return predicates


def histogram_schema(
    release: Release, columns: Sequence[str], further: Mapping[str, pl.DataType]
) -> pl.Schema:
    """Return the schema of the unit's geoid, histogram columns, and further columns."""
    of_cell = {name: release.column_groups(name).dtype() for name in columns}
    return pl.Schema({release.geoid_column: pl.String(), **of_cell, **further})


@dataclass(frozen=True)
class HistogramCells:
    """The histogram cells that contain a batch's candidates.

    Attributes:
        of_cell: For each candidate its histogram cell; numbered by unit, then by group.
        groups: (histogram cells × columns) group numbers.
    """

    columns: tuple[str, ...]
    of_cell: IntArray
    unit: IntArray
    groups: IntArray

    @property
    def sums(self) -> sparse.csr_array:
        """Return (histogram cells × candidates) ones."""
        return placed(self.of_cell, len(self.unit))

    def within(self, component: Component) -> tuple[IntArray, sparse.csr_array]:
        """Return the histogram cells of a component, and them as sums of its columns."""
        numbers, place = np.unique(self.of_cell[component.columns], return_inverse=True)
        return numbers, placed(place.ravel(), len(numbers))

    def frame(self, plan: Plan, counts: PartitionCounts, system: System) -> pl.DataFrame:
        """Make one row per histogram cell: the unit's geoid and the histogram columns."""
        columns = [
            counts.geoids.gather(system.units).gather(self.unit).alias(plan.release.geoid_column)
        ]
        for at, name in enumerate(self.columns):
            groups = plan.release.column_groups(name)
            labels = pl.Series(name, list(groups.labels), dtype=groups.dtype)
            columns.append(labels.gather(self.groups[:, at]))
        return pl.DataFrame(columns)


def unbounded_histogram(plan: Plan, system: System, columns: tuple[str, ...]) -> HistogramCells:
    """Return the histogram cells of open units whose records no row mentions."""
    found = Candidates(np.empty(0, np.int64), np.empty((0, len(plan.grain.sizes)), np.int16))
    if not system.is_bounded.all() and system.is_listed.all():
        found = find_unmentioned(plan.grain, len(system.units), system.strata, plan.impossible)
    is_open = ~system.is_bounded[found.unit]
    return histogram_of(plan, Candidates(found.unit[is_open], found.atoms[is_open]), columns)


def with_open_ends(
    intervals: pl.DataFrame,
    plan: Plan,
    counts: PartitionCounts,
    system: System,
    columns: tuple[str, ...],
) -> pl.DataFrame:
    """Set ``upper`` null and ``exact`` false for unbounded histogram cells.

    Cells of an open unit that no row mentions get a row, too, starting at 0.

    Args:
        intervals: The geoid column, ``columns``, ``lower``, ``upper`` (`OPEN` if unbounded),
            and optionally ``exact``.
    """
    beyond = unbounded_histogram(plan, system, columns).frame(plan, counts, system)
    key = beyond.columns
    empty = {
        name: pl.lit(False if name == "exact" else 0) for name in intervals.columns[len(key) :]
    }
    further = beyond.join(intervals, on=key, how="anti", nulls_equal=True).with_columns(**empty)
    further = further.select(intervals.columns).cast(intervals.schema)
    marked = pl.concat([intervals, further])
    marked = marked.join(
        beyond.with_columns(beyond=True),
        on=key,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    is_open = pl.col("beyond").fill_null(value=False) | (pl.col("upper") >= OPEN)
    values = [pl.when(~is_open).then("upper").alias("upper")]
    if "exact" in intervals.columns:
        values.append(pl.col("exact") & ~is_open)
    return marked.with_columns(values).drop("beyond").sort(key[0], maintain_order=True)


def histogram_of(plan: Plan, candidates: Candidates, columns: tuple[str, ...]) -> HistogramCells:
    """Assign candidates to histogram cells; the plan's grain resolves ``columns``."""
    keys = [candidates.unit]
    for name in columns:
        groups = plan.release.column_groups(name)
        f = plan.release.feature_index[groups.feature]
        group_of_atom = np.array(
            [
                next(g for g, mask in enumerate(groups.masks) if atom & ~mask == 0)
                for atom in plan.grain.atoms[f]
            ]
        )
        keys.append(group_of_atom[candidates.atoms[:, f]])
    # Column by column: NumPy sorts numbers ten times as fast as rows.
    of_cell = first = np.zeros(len(candidates.unit), dtype=np.int64)
    for key in keys:
        number = of_cell * (int(key.max(initial=0)) + 1) + key
        _, first, of_cell = np.unique(number, return_index=True, return_inverse=True)
    cells = np.stack([key[first] for key in keys], axis=1)
    return HistogramCells(columns, of_cell.astype(np.int64), cells[:, 0], cells[:, 1:])


def propagated_intervals(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    columns: tuple[str, ...] | None = None,
) -> pl.DataFrame:
    """Compute valid intervals of the histogram cells of whole regions, without a solver.

    Args:
        columns: By default the histogram columns that the tables distinguish.

    Returns:
        One row per histogram cell that may hold people: the unit's geoid, the columns, ``lower``
        and ``upper``.
    """
    columns = columns or histogram_columns(release, tables, published.coverage)
    if release.statistics:
        # Bounds by counts alone stay valid beside statistics. A release without statistics is kept
        # as it is: closed margins are cached for the run's own release, not for a copy.
        release = replace(release, statistics=())
    make = make_plan if published.is_exact else make_interval_plan
    plan = make(release, tables, published.coverage, histogram_masks(release, columns))
    counts = arrange_counts(plan, published)
    schema = histogram_schema(release, columns, {"lower": pl.Int32(), "upper": pl.Int32()})
    frames = [schema.to_frame()]
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
        frames.append(frame.select(schema.names()).cast(schema))
    return pl.concat(frames)


def _bounded_candidates(plan: Plan, system: System) -> tuple[Candidates, IntArray, IntArray]:
    """Return the candidates of a batch with their least and most people."""
    if system.is_listed.all():
        bounds = propagate(system.rows)
        return system.candidates, bounds.lower, np.where(bounds.is_open, OPEN, bounds.upper)
    dense = propagate_dense(DenseDomain.of(plan, system.strata, len(system.units)))
    unit, cell = np.nonzero((dense.upper > 0) | dense.is_open)
    candidates = Candidates(unit, unravel(cell, plan.grain.sizes))
    most = np.where(dense.is_open, OPEN, dense.upper)
    lower, upper = (ends[unit, cell].astype(np.int64) for ends in (dense.lower, most))
    return candidates, lower, upper
