"""Solution variability of a partition: from reconstructed records to frames.

See *solution variability* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.attack.excluded_units import NO_QUARANTINE, BatchQuarantine, Quarantine
from recon_cli.attack.reconstruction.partition import count_statuses
from recon_cli.attack.reconstruction.solution import errors_naming, quarantine_of_batch
from recon_cli.attack.variability.batch import (
    SolutionSpace,
    measure_batch,
)
from recon_cli.attack.variability.dense import DenseRegion
from recon_cli.attack.variability.distance import LOST, BoolArray
from recon_cli.attack.variability.effort import EffortBudget
from recon_cli.attack.variability.frames import (
    REGIONS,
    BatchFrames,
    interval_schema,
    unit_schema,
)
from recon_cli.attack.variability.histogram import (
    histogram_columns,
    histogram_masks,
    histogram_of,
)
from recon_cli.attack.variability.incumbent import count_records, encode_incumbent
from recon_cli.model.constraints import relax
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.grain import IntArray
from recon_cli.model.interval_plan import make_interval_plan
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_plan, make_relaxed_plan
from recon_cli.model.system import System, build_systems
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.publication import Coverage, Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import digest_seed
from recon_cli.solve.cp_sat import Effort

Mode = Literal["relaxed", "exact"]
Intervals = Literal["exact", "propagation"]


@dataclass(frozen=True)
class VariabilityOptions:
    """What to measure.

    Attributes:
        mode: ``relaxed`` (Eq. 4.9, unit by unit) or ``exact`` (Eq. 4.6, whole regions).
        seed: For the solver's own choices.
        unit_seconds: Deterministic seconds of solving for each problem about a unit, or about
            all units of a region at once.
        diameter: Whether to measure the largest distance between any two solutions, too.
        person_seconds: Deterministic seconds that a region may take in all, for each of its
            people; None for no such limit.
        intervals: ``exact``, or what ``propagation`` and the solutions found on the way give.
    """

    mode: Mode
    seed: int
    unit_seconds: float
    diameter: bool = False
    person_seconds: float | None = None
    intervals: Intervals = "exact"


@dataclass(frozen=True)
class Variability:
    """The variability of one partition.

    Attributes:
        columns: The histogram columns in use: those that the tables say something about.
        units: One row per unit: its geoid, ``population``, ``solvar_pct`` and
            ``solvar_upper_pct`` (a distance that a solution reaches, and one that none exceeds),
            ``diameter_pct`` and ``diameter_upper_pct`` if asked for, ``certain_records`` and
            ``certain_upper`` (people in every solution, at least and at most), ``status``
            (``proven``: the two solvar columns agree; ``bounded``; ``open``: the tables in use
            do not bound the number of people, so there is no upper bound), ``method``
            (``propagation``, ``solver``) and ``seconds``, the solver's deterministic effort.
        intervals: One row per histogram cell that varies or is never empty: the unit's geoid, the
            histogram columns, ``lower``, ``upper``, and ``exact``, whether solutions reach both.
        regions: One row per region in exact mode: ``geoid``, ``population`` and the solvar columns
            for all its units at once.
    """

    columns: tuple[str, ...]
    units: pl.DataFrame
    intervals: pl.DataFrame
    regions: pl.DataFrame

    def only(self, geoid: str) -> Variability:
        """The part of one unit."""
        name = self.units.columns[0]
        return Variability(
            self.columns,
            self.units.filter(pl.col(name) == geoid),
            self.intervals.filter(pl.col(name) == geoid),
            self.regions.clear(),
        )


def measure_variability(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    microdata: pl.DataFrame,
    options: VariabilityOptions,
) -> Variability:
    """How far other solutions can be from ``microdata``, and what is in all of them.

    Args:
        release: The schema.
        published: Counts of one partition.
        tables: The tables that ``microdata`` was reconstructed from.
        microdata: Reconstructed records of the partition.
        options: What to measure.

    Raises:
        StageError: The records do not reproduce the published counts.
        SolverError: Two engines disagree on a certificate.
    """
    plan = make_variability_plan(
        release, tables, published.coverage, options.mode, is_exact=published.is_exact
    )
    return measure_with_plan(plan, published, microdata, options)


def flag_certain(
    release: Release, microdata: pl.DataFrame, measurement: Variability
) -> pl.DataFrame:
    """Which records are in every solution: the first ``lower`` of each cell, Eq. (certain).

    Args:
        release: The schema.
        microdata: The records that were measured.
        measurement: What was found.

    Returns:
        The rows of ``microdata`` in their order: the unit's geoid, the histogram columns that
        the tables see, and ``certain``.
    """
    key = [release.geoid_column, *measurement.columns]
    ranked = microdata.select(*key, rank=pl.int_range(pl.len()).over(key))
    lower = measurement.intervals.select(*key, "lower")
    # A null, where the tables of a unit do not see a feature, is certain of nothing.
    joined = ranked.join(lower, on=key, how="left", maintain_order="left")
    certain = (pl.col("rank") < pl.col("lower")).fill_null(value=False)
    return joined.select(*key, certain=certain)


def make_variability_plan(
    release: Release,
    tables: Sequence[Table],
    coverage: Coverage,
    mode: Mode,
    *,
    is_exact: bool = True,
) -> Plan:
    """A plan for one mode, whose grain resolves the histogram as far as the tables see it."""
    columns = histogram_columns(release, tables, coverage)
    make = make_relaxed_plan if mode == "relaxed" else make_plan
    if not is_exact:
        make = make_interval_plan
    return make(release, tables, coverage, histogram_masks(release, columns))


def measure_with_plan(
    plan: Plan,
    published: Publication,
    microdata: pl.DataFrame,
    options: VariabilityOptions,
    on_progress: OnProgress = ignore_progress,
    *,
    quarantine: Quarantine = NO_QUARANTINE,
    missing: pl.Series | None = None,
) -> Variability:
    """`measure_variability` with a plan already made; see there.

    ``quarantine`` is for attempts that died; ``missing`` are the geoids of units that were
    quarantined when ``microdata`` was made.
    """
    columns = histogram_columns(plan.release, plan.tables, published.coverage)
    if options.diameter:
        published.require_exact("the diameter")
    counts = arrange_counts(plan, published)
    units = [pl.DataFrame(schema=unit_schema(plan, diameter=options.diameter))]
    intervals = [pl.DataFrame(schema=interval_schema(plan, columns))]
    regions = [pl.DataFrame(schema=REGIONS)]
    for system in _systems(plan, counts):
        watched = quarantine_of_batch(quarantine, counts, system)
        batch = _Batch(plan, counts, system, options, _among(watched.units, missing), watched)
        frames = batch.measured(microdata, columns)
        batch_units = frames.units(unit_schema(plan, diameter=options.diameter))
        units.append(batch_units)
        intervals.append(frames.intervals(interval_schema(plan, columns)))
        regions.append(frames.regions())
        on_progress(len(system.units), int(frames.people.sum()), count_statuses(batch_units))
    return Variability(columns, pl.concat(units), pl.concat(intervals), pl.concat(regions))


def _systems(plan: Plan, counts: PartitionCounts) -> Iterator[System]:
    """Batches of regions; of intervals one region at a time, whose candidates may be too many."""
    if counts.intervals is None:
        return build_systems(plan, counts)
    return build_systems(plan, counts, 1, must_list=False)


@dataclass(frozen=True)
class _Batch:
    """A batch to be measured.

    Attributes:
        plan: The static half.
        counts: The partition.
        system: The batch.
        options: What to measure.
        missing: For each unit whether it was quarantined when it was reconstructed.
        watched: The quarantine.
    """

    plan: Plan
    counts: PartitionCounts
    system: System
    options: VariabilityOptions
    missing: BoolArray
    watched: BatchQuarantine

    def measured(self, microdata: pl.DataFrame, columns: tuple[str, ...]) -> BatchFrames:
        """How far other solutions can be from ``microdata``.

        Raises:
            StageError: The records do not reproduce the published counts.
            SolverError: Two engines disagree on a certificate.
        """
        name = self.counts.region_geoids[int(self.system.regions[0])]
        with errors_naming(f"{self.plan.release.region.name}s from", name):
            if self.system.is_listed.all():
                return self._listed(microdata, columns)
            return self._dense(microdata, columns)

    def _listed(self, microdata: pl.DataFrame, columns: tuple[str, ...]) -> BatchFrames:
        plan, counts, system, options = self.plan, self.counts, self.system, self.options
        incumbent = encode_incumbent(plan, counts, system, microdata, self.missing)
        histogram = histogram_of(plan, system.candidates, columns)
        people = _people(counts, system, incumbent, self.missing)
        space = _space(system, incumbent, options, people, self.missing)
        if counts.intervals is not None:
            space = replace(space, measure=LOST)
        budget = EffortBudget(
            _seeds(options, counts, system),
            options.unit_seconds,
            options.diameter,
            _region_seconds(options, system.regions, people),
            options.intervals == "exact",
        )
        found = measure_batch(space, histogram, system.regions, budget, self.watched)
        return BatchFrames(plan, counts, system, histogram, found, people)

    def _dense(self, microdata: pl.DataFrame, columns: tuple[str, ...]) -> BatchFrames:
        region = DenseRegion.of(self.plan, self.system)
        system = replace(self.system, candidates=region.candidates)
        incumbent = count_records(self.plan, self.counts, system, microdata)
        region.require_solution(incumbent, self.missing)
        histogram = histogram_of(self.plan, region.candidates, columns)
        people = _people(self.counts, system, incumbent, self.missing)
        seed = _seeds(self.options, self.counts, system)[int(system.regions[0])]
        effort = Effort(seed, self.options.unit_seconds)
        found = region.measure(
            histogram, incumbent, people, self.missing, self.watched, effort=effort
        )
        if self.options.mode == "relaxed":
            found = replace(found, region=None)
        return BatchFrames(self.plan, self.counts, system, histogram, found, people)


def _seeds(options: VariabilityOptions, counts: PartitionCounts, system: System) -> dict[int, int]:
    """For each region of a batch the solver's seed."""
    return {
        region: digest_seed(options.seed, "solvar", counts.region_geoids[region])
        for region in np.unique(system.regions).tolist()
    }


def _region_seconds(
    options: VariabilityOptions, regions: IntArray, people: npt.NDArray[np.integer | np.floating]
) -> dict[int, float] | None:
    """What each region of a batch may take in all."""
    if options.person_seconds is None:
        return None
    numbers, place = np.unique(regions, return_inverse=True)
    total = np.bincount(place, weights=people) * options.person_seconds
    return dict(zip(numbers.tolist(), total.tolist(), strict=True))


def _among(units: pl.Series, missing: pl.Series | None) -> BoolArray:
    if missing is None:
        return np.zeros(len(units), dtype=bool)
    return units.is_in(missing.implode()).to_numpy()


def _people(
    counts: PartitionCounts, system: System, incumbent: IntArray, missing: BoolArray
) -> IntArray:
    """People of each unit: those of the incumbent, or as published where some are missing."""
    placed = np.bincount(system.candidates.unit, weights=incumbent, minlength=len(system.units))
    published = counts.population.gather(system.units).fill_null(0).to_numpy()
    people: IntArray = np.where(missing, np.maximum(published, placed), placed).astype(np.int64)
    return people


def _space(
    system: System,
    incumbent: IntArray,
    options: VariabilityOptions,
    people: IntArray,
    missing: BoolArray,
) -> SolutionSpace:
    unit = system.candidates.unit
    is_split = options.mode == "relaxed"
    own = np.isin(system.row_geounit, system.units)
    rows = relax(system.rows, own, unit) if is_split else system.rows
    return SolutionSpace(
        rows, incumbent, unit, len(system.units), is_split, system.has_total, people, missing
    )
