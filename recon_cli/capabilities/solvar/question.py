"""The question of `recon solvar`: how far any other solution can be.

See *solution variability* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import polars as pl

from recon_cli.ask.quarantine import NO_QUARANTINE, Quarantine
from recon_cli.ask.question import Answer, PlannedQuestion, RegionData, Rows, count_statuses
from recon_cli.capabilities.reconstruct.known_batch import KnownBatch
from recon_cli.capabilities.score.variability import solvar_percentiles, variability_by_size
from recon_cli.capabilities.solvar.frames import REGIONS, interval_schema, narrow, unit_schema
from recon_cli.capabilities.solvar.histogram import histogram_columns, histogram_masks
from recon_cli.capabilities.solvar.options import Mode, Solvar
from recon_cli.capabilities.solvar.regions import MeasuredRegions, UnitsAlone
from recon_cli.coverage import Coverage
from recon_cli.frames import ShownBySize, is_place
from recon_cli.model.counts import arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan, make_plan, make_relaxed_plan
from recon_cli.model.system import build_systems
from recon_cli.page.sizes import Sizes
from recon_cli.plurals import plural
from recon_cli.progress import OnProgress, ProgressSoFar, ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table

#: Lowest population of each size class of the result tables, as in the study's Table 7.
SIZES = Sizes((1, 10, 50, 100, 250, 500, 1000))


@dataclass(frozen=True, repr=False)
class Variability(ShownBySize):
    """The variability of one partition.

    Attributes:
        units: One row per unit: its geoid, ``population``, ``solvar_pct`` and
            ``solvar_upper_pct`` (a distance that a solution reaches, and one that none exceeds),
            ``diameter_pct`` and ``diameter_upper_pct`` if asked for, ``certain_records`` and
            ``certain_upper`` (people in every solution, at least and at most), ``status``
            (``proven``: the two solvar columns agree; ``bounded``; ``open``: the tables in use
            do not bound the number of people, so there is no upper bound; ``undecided``: the
            search was stopped, and the columns have what was proven until then), ``method``
            (``propagation``, ``solver``) and ``seconds``, the solver's deterministic effort.
        intervals: One row per histogram cell that varies or is never empty: the unit's geoid, the
            histogram columns, ``lower``, ``upper``, and ``exact``, whether solutions reach both.
        regions: One row per region in exact mode: ``geoid``, ``population`` and the solvar columns,
            for all units of the region at once.
    """

    columns: tuple[str, ...]
    units: pl.DataFrame
    intervals: pl.DataFrame
    regions: pl.DataFrame

    def only(self, geoid: str) -> Variability:
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
    options: Solvar,
) -> Variability:
    """Measure how far other solutions can be from records that ``tables`` imply."""
    coverage, is_exact = published.coverage, published.is_exact
    question = VariabilityQuestion.of(
        release, tables, coverage, options, is_exact=is_exact, people=microdata.height
    )
    return question.measured(RegionData(published, microdata))


def flag_certain(
    release: Release, microdata: pl.DataFrame, measurement: Variability
) -> pl.DataFrame:
    """Flag the records in every solution: the first ``lower`` of each cell, Eq. (certain).

    Returns:
        The records in their order: the unit's geoid, the histogram columns that the tables
        distinguish, and ``certain``.


    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> published = recon.publish(release, recon.tabulate(release, patients))
    >>> found = recon.reconstruct(release, published, seed=2)
    >>> variability = recon.measure_variability(release, published, found.microdata)
    >>> recon.flag_certain(release, found.microdata, variability)["certain"].sum()
    1
    """
    key = [release.geoid_column, *measurement.columns]
    ranked = microdata.select(*key, rank=pl.int_range(pl.len()).over(key))
    lower = measurement.intervals.select(*key, "lower")
    # A record with a null, a feature that the unit's tables do not distinguish, is not certain.
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
    """Make a plan for one mode, whose grain resolves the histogram as far as published."""
    columns = histogram_columns(release, tables, coverage)
    make = make_relaxed_plan if mode == "relaxed" else make_plan
    if not is_exact:
        make = make_interval_plan
    return make(release, tables, coverage, histogram_masks(release, columns))


@dataclass(frozen=True)
class VariabilityQuestion(PlannedQuestion):
    """The question of how far other solutions can be, and which records all share.

    Attributes:
        people: People of the whole run, who share ``options.total_seconds``.
    """

    options: Solvar
    people: int

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        options: Solvar,
        *,
        is_exact: bool,
        people: int,
    ) -> Self:
        plan = make_variability_plan(release, tables, coverage, options.mode, is_exact=is_exact)
        return cls(plan, options, people)

    @staticmethod
    def decides(release: Release) -> str:
        return plural(release.geography.unit.name).replace("_", " ")

    def measured(
        self,
        part: RegionData,
        on_progress: OnProgress = ignore_progress,
        quarantine: Quarantine = NO_QUARANTINE,
    ) -> Variability:
        plan, options, published = self.plan, self.options, part.published
        columns = histogram_columns(plan.release, plan.tables, published.coverage)
        if options.diameter:
            published.require_exact("the diameter")
        counts = arrange_counts(plan, published, joins_statistics=True)
        systems = build_systems(plan, counts)
        if counts.statistics is not None:  # single values are listed
            systems = build_systems(plan, counts, 1)
        elif counts.intervals is not None:  # one region at a time: candidates may be too many
            systems = build_systems(plan, counts, 1, must_list=False)
        of_units = unit_schema(plan, diameter=options.diameter)
        of_cells = interval_schema(plan, columns)
        units, intervals, regions = ([each.to_frame()] for each in (of_units, of_cells, REGIONS))
        alone = UnitsAlone(
            plan, part, options.model_copy(update={"mode": "relaxed"}), self.people, quarantine
        )
        for number, known in enumerate(KnownBatch.each(plan, counts, systems, part, quarantine)):
            system, progress = known.system, ProgressSoFar(on_progress)
            found = MeasuredRegions(
                known, options, self.people, f"batch-{number:05d}", progress
            ).measured(columns)
            if counts.intervals is not None:
                name = f"alone-{number:05d}"
                found = narrow(found, partial(alone.measured, system, columns, name))
            units.append(found.units(of_units))
            intervals.append(found.intervals(of_cells))
            regions.append(found.regions())
            statuses = count_statuses(units[-1])
            progress.tell(len(system.units), int(found.people.sum()), statuses)
        return Variability(columns, pl.concat(units), pl.concat(intervals), pl.concat(regions))

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        """Compute rows of ``solvar/``, ``intervals/``, ``certainty/`` and ``regions/``."""
        found = self.measured(part, on_progress, quarantine)
        units = _with_uniques(self.release, found.units, part.records)
        methods = units["method"].value_counts().iter_rows()
        places = units.filter(is_place(self.release.geoid_column))
        inhabited = places.filter(pl.col("population").fill_null(1) > 0)
        zero = inhabited.filter(pl.col("solvar_upper_pct") == 0)
        return Answer(
            {
                "solvar": units,
                "intervals": found.intervals,
                "certainty": flag_certain(self.release, part.records, found),
                "regions": found.regions,
            },
            statuses=count_statuses(places),
            totals={
                "units": places.height,
                "inhabited": inhabited.height,
                "people": int(units["population"].sum()),
                "zero": zero.height,
                "people_in_zero": int(zero["population"].sum()),
                "certain": int(units["certain_records"].sum()),
                **{f"by_{method}": count for method, count in methods},
            },
        )

    @staticmethod
    def result_tables(rows: Rows, seed: int) -> Mapping[str, Mapping[str, pl.DataFrame]]:
        """Compute percentiles and size classes of all units; ``seed`` orders units with ties."""
        units = pl.concat(rows("solvar"))
        return {
            "solvar": {
                "percentiles": solvar_percentiles(units, seed),
                "by_size": variability_by_size(units, SIZES),
            }
        }


def _with_uniques(release: Release, units: pl.DataFrame, microdata: pl.DataFrame) -> pl.DataFrame:
    """Add ``uniques``: people who are unique in their unit on the release's binned linking key."""
    name = release.geoid_column
    if release.attack is None:
        return units.with_columns(uniques=pl.lit(None, dtype=pl.Int32))
    key = [name, *release.attack.binned]
    alone = microdata.group_by(key).len().filter(pl.col("len") == 1).group_by(name).len("uniques")
    return units.join(alone, on=name, how="left", maintain_order="left").with_columns(
        pl.col("uniques").fill_null(0).cast(pl.Int32)
    )
