"""Solution variability of a partition: from reconstructed records to frames.

See *solution variability* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.attack.excluded_units import NO_QUARANTINE, Quarantine
from recon_cli.attack.reconstruction.partition import count_statuses
from recon_cli.attack.reconstruction.solution import errors_naming, quarantine_of_batch
from recon_cli.attack.variability.batch import (
    BatchVariability,
    Distances,
    SolutionSpace,
    measure_batch,
)
from recon_cli.attack.variability.distance import LOST, BoolArray
from recon_cli.attack.variability.effort import EffortBudget
from recon_cli.attack.variability.histogram import (
    HistogramCells,
    histogram_columns,
    histogram_masks,
    histogram_of,
)
from recon_cli.attack.variability.incumbent import encode_incumbent
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
    units = [pl.DataFrame(schema=_unit_schema(plan, options))]
    intervals = [pl.DataFrame(schema=_interval_schema(plan, columns))]
    regions = [pl.DataFrame(schema=_REGIONS)]
    for system in build_systems(plan, counts):
        watched = quarantine_of_batch(quarantine, counts, system)
        missing_units = _among(watched.units, missing)
        incumbent = encode_incumbent(plan, counts, system, microdata, missing_units)
        histogram = histogram_of(plan, system.candidates, columns)
        name = counts.region_geoids[int(system.regions[0])]
        people = _people(counts, system, incumbent, missing_units)
        space = _space(system, incumbent, options, people, missing_units)
        if not published.is_exact:
            space = replace(space, measure=LOST)
        budget = EffortBudget(
            _seeds(options, counts, system),
            options.unit_seconds,
            options.diameter,
            _region_seconds(options, system.regions, people),
            options.intervals == "exact",
        )
        with errors_naming(f"{plan.release.region.name}s from", name):
            variability = measure_batch(space, histogram, system.regions, budget, watched)
        frames = _BatchFrames(plan, counts, system, histogram, variability, people)
        batch_units = frames.units(_unit_schema(plan, options))
        units.append(batch_units)
        intervals.append(frames.intervals(_interval_schema(plan, columns)))
        regions.append(frames.regions())
        on_progress(len(system.units), int(people.sum()), count_statuses(batch_units))
    return Variability(columns, pl.concat(units), pl.concat(intervals), pl.concat(regions))


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


_REGIONS = pl.Schema(
    {
        "geoid": pl.String,
        "population": pl.Int32,
        "solvar_pct": pl.Float64,
        "solvar_upper_pct": pl.Float64,
        "certain_records": pl.Int32,
        "status": pl.String,
    }
)


def _unit_schema(plan: Plan, options: VariabilityOptions) -> pl.Schema:
    percentages = ["solvar_pct", "solvar_upper_pct"]
    if options.diameter:
        percentages += ["diameter_pct", "diameter_upper_pct"]
    schema = pl.Schema({plan.release.geoid_column: pl.String, "population": pl.Int32})
    schema.update(dict.fromkeys(percentages, pl.Float64()))
    schema.update(dict.fromkeys(("certain_records", "certain_upper"), pl.Int32()))
    schema.update({"status": pl.String(), "method": pl.String(), "seconds": pl.Float64()})
    return schema


def _interval_schema(plan: Plan, columns: tuple[str, ...]) -> pl.Schema:
    schema = pl.Schema({plan.release.geoid_column: pl.String})
    schema.update({name: plan.release.column_groups(name).dtype() for name in columns})
    schema.update({"lower": pl.Int32(), "upper": pl.Int32(), "exact": pl.Boolean()})
    return schema


@dataclass(frozen=True)
class _BatchFrames:
    """The variability of one batch as frames."""

    plan: Plan
    counts: PartitionCounts
    system: System
    histogram: HistogramCells
    variability: BatchVariability
    people: IntArray

    def units(self, schema: pl.Schema) -> pl.DataFrame:
        variability, bounded = self.variability, self.system.is_bounded
        intervals = variability.intervals
        columns: dict[str, Any] = {
            self.plan.release.geoid_column: self.counts.geoids.gather(self.system.units),
            "population": self.people,
            **_percent("solvar", variability.solvar, self.people, bounded),
            "certain_records": self._by_unit(intervals.lower),
            "certain_upper": self._by_unit(intervals.lowest),
            "status": _status(variability.solvar, bounded),
            "method": pl.Series(["propagation", "solver"]).gather(
                variability.used_solver.astype(np.int64)
            ),
            "seconds": variability.deterministic_time.round(6),
        }
        if variability.diameter is not None:
            columns |= _percent("diameter", variability.diameter, self.people, bounded)
        return pl.DataFrame([pl.Series(n, columns[n]).cast(t) for n, t in schema.items()])

    def intervals(self, schema: pl.Schema) -> pl.DataFrame:
        intervals = self.variability.intervals
        frame = self.histogram.frame(self.plan, self.counts, self.system).with_columns(
            lower=pl.Series(intervals.lower),
            upper=pl.Series(intervals.upper),
            exact=intervals.is_exact,
        )
        frame = frame.filter((pl.col("lower") > 0) | (pl.col("lower") < pl.col("upper")))
        return frame.select(pl.col(name).cast(dtype) for name, dtype in schema.items())

    def regions(self) -> pl.DataFrame:
        region = self.variability.region
        if region is None:
            return pl.DataFrame(schema=_REGIONS)
        numbers, place = np.unique(self.system.regions, return_inverse=True)
        people = np.bincount(place, weights=self.people).astype(np.int64)
        certain = np.bincount(place, weights=self._by_unit(self.variability.intervals.lower))
        bounded = np.bincount(place, weights=~self.system.is_bounded) == 0
        columns: dict[str, Any] = {
            "geoid": self.counts.region_geoids.gather(numbers),
            "population": people,
            **_percent("solvar", region, people, bounded),
            "certain_records": certain,
            "status": _status(region, bounded),
        }
        return pl.DataFrame([pl.Series(n, columns[n]).cast(t) for n, t in _REGIONS.items()])

    def _by_unit(self, values: IntArray) -> IntArray:
        unit = self.histogram.unit
        return np.bincount(unit, weights=values, minlength=len(self.people)).astype(np.int64)


def _percent(
    name: str, distances: Distances, people: IntArray, bounded: BoolArray
) -> dict[str, pl.Series]:
    """The value reached, and the bound, which is null where more people are possible."""
    upper = pl.Series(_share(distances.bound, people)).set(pl.Series(~bounded), None)
    return {f"{name}_pct": pl.Series(_share(distances.reached, people)), f"{name}_upper_pct": upper}


def _share(distance: IntArray, people: IntArray) -> npt.NDArray[np.float64]:
    """Percent of twice the people; of an empty unit, 100 if another solution has people there."""
    twice = np.where(people > 0, 2 * people, np.maximum(distance, 1))
    return 100 * distance / twice


def _status(distances: Distances, bounded: BoolArray) -> pl.Series:
    proven = (distances.reached == distances.bound).astype(np.int64)
    return pl.Series(["bounded", "proven", "open"]).gather(np.where(bounded, proven, 2))
