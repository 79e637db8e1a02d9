"""Solution variability of a partition: from reconstructed records to frames.

See *solution variability* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.attack.checkpoint import KeptSearch
from recon_cli.attack.excluded_units import NO_QUARANTINE, Quarantine
from recon_cli.attack.known_batch import KnownBatch
from recon_cli.attack.options import Mode, VariabilityOptions
from recon_cli.attack.question import RegionData
from recon_cli.attack.reconstruction.partition import count_statuses
from recon_cli.attack.variability.batch import (
    SolutionSpace,
    measure_batch,
)
from recon_cli.attack.variability.dense import DenseRegion
from recon_cli.attack.variability.distance import LOST, Distances
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
from recon_cli.attack.variability.incumbent import count_records
from recon_cli.attack.variability.unit_search import UnitSearch
from recon_cli.attack.variability.units_alone import narrow
from recon_cli.coverage import Coverage
from recon_cli.frames import OPEN
from recon_cli.model.constraints import relax
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan, make_plan, make_relaxed_plan, plan_of_units
from recon_cli.model.system import System, build_system, build_systems
from recon_cli.progress import OnProgress, ProgressSoFar, ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import digest_seed
from recon_cli.solve.cp_sat import Effort


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
            do not bound the number of people, so there is no upper bound; ``undecided``: the
            search was stopped, and only what was proven until then is said), ``method``
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
        tables: The tables that ``microdata`` was reconstructed from.
        microdata: Reconstructed records of the partition.

    Raises:
        StageError: The records do not reproduce the published counts.
    """
    plan = make_variability_plan(
        release, tables, published.coverage, options.mode, is_exact=published.is_exact
    )
    return measure_with_plan(plan, RegionData(published, microdata), options)


def flag_certain(
    release: Release, microdata: pl.DataFrame, measurement: Variability
) -> pl.DataFrame:
    """Which records are in every solution: the first ``lower`` of each cell, Eq. (certain).

    Args:
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
    data: RegionData,
    options: VariabilityOptions,
    on_progress: OnProgress = ignore_progress,
    quarantine: Quarantine = NO_QUARANTINE,
) -> Variability:
    """`measure_variability` with a plan already made; ``quarantine`` is for attempts that died."""
    published = data.published
    columns = histogram_columns(plan.release, plan.tables, published.coverage)
    if options.diameter:
        published.require_exact("the diameter")
    counts = arrange_counts(plan, published)
    units = [pl.DataFrame(schema=unit_schema(plan, diameter=options.diameter))]
    intervals = [pl.DataFrame(schema=interval_schema(plan, columns))]
    regions = [pl.DataFrame(schema=REGIONS)]
    alone = _UnitsAlone(plan, data, replace(options, mode="relaxed"), quarantine)
    batches = KnownBatch.each(plan, counts, _systems(plan, counts), data, quarantine)
    for number, known in enumerate(batches):
        system, told = known.system, ProgressSoFar(on_progress)
        frames = _Batch(known, options, f"batch-{number:05d}", told).measured(columns)
        if counts.intervals is not None:
            frames = narrow(frames, partial(alone.measured, system, columns, f"alone-{number:05d}"))
        batch_units = frames.units(unit_schema(plan, diameter=options.diameter))
        units.append(batch_units)
        intervals.append(frames.intervals(interval_schema(plan, columns)))
        regions.append(frames.regions())
        told.tell(len(system.units), int(frames.people.sum()), count_statuses(batch_units))
    return Variability(columns, pl.concat(units), pl.concat(intervals), pl.concat(regions))


def _systems(plan: Plan, counts: PartitionCounts) -> Iterator[System]:
    """Batches of regions; of intervals one region at a time, whose candidates may be too many."""
    if counts.intervals is None:
        return build_systems(plan, counts)
    return build_systems(plan, counts, 1, must_list=False)


@dataclass(frozen=True)
class _UnitsAlone:
    """The units of a partition by their own tables.

    Attributes:
        plan: Of all tables.
        options: With units taken alone.
    """

    plan: Plan
    data: RegionData
    options: VariabilityOptions
    quarantine: Quarantine

    @cached_property
    def _own(self) -> tuple[Plan, PartitionCounts] | None:
        plan, coverage = self.plan, self.data.published.coverage
        columns = histogram_columns(plan.release, plan.tables, coverage)
        own = plan_of_units(plan, coverage, histogram_masks(plan.release, columns))
        return None if own is None else (own, arrange_counts(own, self.data.published))

    def measured(self, system: System, columns: tuple[str, ...], name: str) -> BatchFrames | None:
        """The units of a region, by their own tables; None where that says no more.

        Args:
            name: That the search is kept under.
        """
        if self._own is None:
            return None
        plan, counts = self._own
        (inside,) = np.nonzero(np.isin(counts.units, system.units))
        region = slice(int(inside[0]), int(inside[-1]) + 1)
        alone = build_system(plan, counts, region, must_list=False)
        (known,) = KnownBatch.each(plan, counts, [alone], self.data, self.quarantine)
        return _Batch(known, self.options, name, ProgressSoFar(ignore_progress)).measured(columns)


@dataclass(frozen=True)
class _Batch:
    """A batch to be measured.

    Attributes:
        options: What to measure.
        name: That its search is kept under.
        told: Hears of units that are done.
    """

    known: KnownBatch
    options: VariabilityOptions
    name: str
    told: ProgressSoFar

    def search(self, people: IntArray) -> UnitSearch:
        """Keeps the search, and tells of units that are done.

        Args:
            people: Of each unit.
        """

        def tell(is_done: BoolArray, distances: Distances) -> None:
            is_proven = distances.reached == distances.bound
            is_asked = (distances.bound < OPEN) & ~is_done
            done, proven = int(is_done.sum()), int(is_proven[is_done].sum())
            measured = int(is_proven[is_asked].sum())
            statuses = {
                "proven": proven,
                "bounded": done - proven,
                "measured": measured,
                "asked": int(is_asked.sum()) - measured,
            }
            self.told.tell(done, int(people[is_done].sum()), statuses)

        return UnitSearch(KeptSearch(self.known.data.checkpoint, self.name), tell)

    def measured(self, columns: tuple[str, ...]) -> BatchFrames:
        """How far other solutions can be from the records.

        Raises:
            StageError: The records do not reproduce the published counts.
        """
        with self.known.errors_named():
            if self.known.system.is_listed.all():
                return self._listed(columns)
            return self._dense(columns)

    @property
    def seeds(self) -> dict[int, int]:
        """For each region the solver's seed."""
        names = self.known.regions.items()
        return {region: digest_seed(self.options.seed, "solvar", name) for region, name in names}

    def _listed(self, columns: tuple[str, ...]) -> BatchFrames:
        known, options, missing = self.known, self.options, self.known.missing
        plan, counts, system = known.plan, known.counts, known.system
        incumbent = known.incumbent()
        histogram = histogram_of(plan, system.candidates, columns)
        people = _people(counts, system, incumbent, missing)
        (inside,) = np.nonzero(np.isin(counts.units, system.units))
        space = _space(system, incumbent, options, people, missing)
        space = replace(space, lying_in=counts.lying_in(inside))
        if counts.intervals is not None:
            space = replace(space, measure=LOST)
        budget = EffortBudget(
            self.seeds,
            options.unit_seconds,
            options.diameter,
            _region_seconds(options, system.regions, people),
            options.intervals == "exact",
        )
        found = measure_batch(
            space,
            histogram,
            system.regions,
            budget,
            known.watched,
            search=self.search(people),
        )
        return BatchFrames(plan, counts, system, histogram, found, people)

    def _dense(self, columns: tuple[str, ...]) -> BatchFrames:
        known, missing = self.known, self.known.missing
        plan, counts = known.plan, known.counts
        region = DenseRegion.of(plan, known.system)
        system = replace(known.system, candidates=region.candidates)
        incumbent = count_records(plan, counts, system, known.data.records)
        region.require_solution(incumbent, missing)
        histogram = histogram_of(plan, region.candidates, columns)
        people = _people(counts, system, incumbent, missing)
        effort = Effort(self.seeds[int(system.regions[0])], self.options.unit_seconds)
        found = region.measure(
            histogram,
            incumbent,
            people,
            missing,
            known.watched,
            search=self.search(people),
            effort=effort,
        )
        if self.options.mode == "relaxed":
            found = replace(found, region=None)
        return BatchFrames(plan, counts, system, histogram, found, people)


def _region_seconds(
    options: VariabilityOptions, regions: IntArray, people: npt.NDArray[np.integer | np.floating]
) -> dict[int, float] | None:
    """What each region of a batch may take in all."""
    if options.person_seconds is None:
        return None
    numbers, place = np.unique(regions, return_inverse=True)
    total = np.bincount(place, weights=people) * options.person_seconds
    return dict(zip(numbers.tolist(), total.tolist(), strict=True))


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
        rows,
        incumbent,
        unit,
        len(system.units),
        is_split,
        system.has_total,
        people,
        missing,
    )
