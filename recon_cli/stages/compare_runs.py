"""Running the protections of `recon compare`, and measuring what came of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

import polars as pl

from recon_cli.compare.errors import (
    count_deviations,
    distribution,
    error_table,
    resolved_tables,
    sum_errors,
    unit_errors,
    units_all_below,
)
from recon_cli.compare.summary import ProtectionSummary, score_table, summarise
from recon_cli.compare.sweep import (
    SweptDraw,
    difference_table,
    epsilon_spent,
    mean_of_draws,
    sweep_table,
)
from recon_cli.config import RunConfig
from recon_cli.config.sections.compare import Compare, Protected
from recon_cli.errors import ConfigError, ReconError, StageError
from recon_cli.evaluate.fresh import WorkFolder
from recon_cli.evaluate.proven import Proofs
from recon_cli.execute import OnProgress, Results, WorkItem, run_items
from recon_cli.noise.account import Spend, expected_posterior
from recon_cli.pipeline.execution import plan, run_stages
from recon_cli.pipeline.order import dependencies, stages_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import RECONSTRUCT, stage_named
from recon_cli.progress import Reporter, SilentReporter, Task
from recon_cli.protect.counts import count_records
from recon_cli.protections import PROTECTIONS
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.sources.records import open_records
from recon_cli.spreadsheet import csv_bytes
from recon_cli.stage import load
from recon_cli.stages.compare_protections import (
    EXACT,
    ProtectionRun,
    is_of_people,
    linking_config,
    methods_of,
    protection_run,
    published_by,
    truth_of,
    truth_run,
    units_path,
)
from recon_cli.stages.result_tables import read_disclosures
from recon_cli.stages.score import read_rates
from recon_cli.stages.tabulate import record_columns, typed_records
from recon_cli.stages.unit_lists import read_units
from recon_cli.store import Stage, open_folder
from recon_cli.store.files import key_of, parquet_bytes, write_bytes
from recon_cli.store.folder import Folder
from recon_cli.store.manifest import MANIFEST, read_manifest
from recon_cli.store.protection import read_published
from recon_cli.store.published import open_published
from recon_cli.store.usage import Usage

#: The page fills with every protection, and this takes seconds for each budget.
_believed = cache(expected_posterior)
#: In place of a digest where something is still to be made.
_TO_BE_MADE = "to be made"


@dataclass(frozen=True)
class ComparedRuns:
    """The runs of a comparison.

    Attributes:
        truth: The run whose tables are the truth's own.
        protected: Name → run of each protection.
        linking: The run that links and scores them; None where nobody can be linked.
    """

    truth: ProtectionRun
    protected: Mapping[str, ProtectionRun]
    linking: RunConfig | None

    @classmethod
    def of(cls, run: Run) -> ComparedRuns:
        """What the config asks for."""
        config = run.config.section(Compare)
        protected = {name: protection_run(run, name, each) for name, each in config.every.items()}
        exact = next((n for n, each in config.every.items() if not each.kinds), None)
        truth = truth_run(run) if exact is None else protected[exact]
        return cls(truth, protected, linking_config(run) if _can_link(run, config) else None)

    @property
    def first(self) -> dict[str, ProtectionRun]:
        """By name the runs that wait for none of the others; the truth's own comes first."""
        own = self.truth not in self.protected.values()
        every = {**({EXACT: self.truth} if own else {}), **self.protected}
        return dict(sorted(every.items(), key=lambda each: each[1] is not self.truth))

    def without(self, missing: Mapping[str, str]) -> ComparedRuns:
        """Those that are there, not linked where some are not."""
        kept = {name: each for name, each in self.protected.items() if name not in missing}
        return replace(self, protected=kept, linking=None if missing else self.linking)


def _can_link(run: Run, config: Compare) -> bool:
    """Whether the truth says who is who, and the release what an attacker links on.

    Raises:
        ConfigError: One of them does not, and the section names a column of identifiers.
    """
    columns = open_records("compare.truth", truth_of(run, config), run.release).columns()
    if "id" in config.model_fields_set:
        if config.id not in columns:
            raise ConfigError(
                f"compare.id: the truth has no column {config.id!r} (columns: {', '.join(columns)})"
            )
        if run.release.attack is None:
            raise ConfigError(
                f"compare.id: release {run.release.name!r} has no `attack:` to link by; add it to "
                "the schema, or leave compare.id out"
            )
    return run.release.attack is not None and config.id in columns


#: Publishes the page of what is there: name → what a run has made, and name → why one is missing.
_Show = Callable[[Mapping[str, str], Mapping[str, str]], None]
#: Why a protection is not on the page.
_NOT_YET = "not done yet"


def run_compared(run: Run, show: _Show) -> dict[str, str]:
    """Run what is not up to date: protections side by side, then the links.

    Args:
        run: The comparison.
        show: Called whenever another protection is done while others are not, or failed.

    Returns:
        What each run has made, as digests.

    Raises:
        StageError: Some failed; all others are done, and stay done.
        ReconError: What linking raised.
    """
    _write_units(run)
    runs = ComparedRuns.of(run)
    items = [WorkItem(name, each, 1) for name, each in runs.first.items()]
    stages = sum(len(each.stages) for each in runs.first.values())
    growing = _GrowingPage(replace(run, reporter=SilentReporter(), force=False), runs, show)
    for name in () if run.force else runs.first:
        growing.look(name)
    with run.reporter.bar(Task("compare", "stage", stages)) as bar:
        done: Results[str | None] = run_items(
            _run_one,
            lambda: (run.release, run.force),
            items,
            workers=run.config.top.workers,
            on_tick=bar.advance,
            on_done=growing.add,
        )
    outcomes = zip(items, done.values, strict=True)
    failed = {item.name: failure for item, failure in outcomes if failure}
    if failed:
        growing.end(failed)
        raise StageError(
            f"{len(failed)} of {len(items)} protections failed, the others are done and kept; "
            "mend or leave out, and run `recon compare` again\n  "
            + "\n  ".join(f"{name}: {why}" for name, why in failed.items())
        )
    if runs.linking is not None:
        _run_stages(replace(run, config=runs.linking), _untold)
    return {name: _made(config.work, stages) for name, config, stages, _ in _parts(run, runs)}


@dataclass
class _GrowingPage:
    """The page while protections are made.

    Attributes:
        run: The comparison, silent.
        show: Publishes the page.
        done: Name → what its run has made; those that failed are not there.
    """

    run: Run
    runs: ComparedRuns
    show: _Show
    done: dict[str, str] = field(default_factory=dict)

    def look(self, name: str) -> None:
        """A run is done if there is nothing to be made."""
        each = self.runs.first[name]
        try:
            is_open = any(_would_run(of_run) for of_run in each.runs(self.run))
        except ReconError:
            return  # what keeps it from being planned is what `_run_one` says of it
        if not is_open:
            self.done[name] = _made(each.config.work, each.stages)

    def add(self, name: str, usage: Usage) -> None:  # noqa: ARG002
        """A run has ended, well or not."""
        if name in self.done:
            return
        self.look(name)
        missing = dict.fromkeys(self._missing(), _NOT_YET)
        if name in self.done and missing:
            self._show(missing)

    def end(self, failed: Mapping[str, str]) -> None:
        """All runs have ended.

        Args:
            failed: Name → why.
        """
        self._show({name: f"failed: {failed[name]}" for name in self._missing() if name in failed})

    def _missing(self) -> list[str]:
        return [name for name in self.runs.protected if name not in self.done]

    def _show(self, missing: Mapping[str, str]) -> None:
        # Errors are measured once the truth's own tables are there.
        is_any = len(missing) < len(self.runs.protected)
        if is_any and any(self.runs.first[name] is self.runs.truth for name in self.done):
            self.show(self.done, missing)


def _write_units(run: Run) -> None:
    """Write the list of units: those of the truth, and where else a protection may put people."""
    place, config = run.release.geoid_column, run.config.section(Compare)
    truth = open_records("compare.truth", truth_of(run, config), run.release)
    parts = [truth.read(name, [place])[place] for name in truth.slices()]
    parts += [
        read_units(f"compare.protections.{name}.{kind}.geounits", path, run.release)[place]
        for name, each in config.every.items()
        for kind, section in each.sections.items()
        if PROTECTIONS[kind].publishes == "records"
        and (path := getattr(section, "geounits", None)) is not None
    ]
    units = pl.concat(parts).unique().sort().alias("geoid").to_frame()
    write_bytes(units_path(run), parquet_bytes(units))


def _run_one(
    shared: tuple[Release, bool], protection: ProtectionRun, tick: OnProgress
) -> str | None:
    """Run one protection; why it failed, so that the others go on. Runs in a worker."""
    release, force = shared
    try:
        for each in protection.runs(Run(protection.config, release, force=force)):
            _run_stages(each, tick)
    except ReconError as error:
        return str(error)
    return None


def _run_stages(run: Run, tick: OnProgress) -> None:
    run_stages(stages_of(run.config), run, _Ticking(run.reporter, tick))


def _untold(units: int, people: int, statuses: Mapping[str, int] | None = None) -> None:
    """For stages whose own progress bars are seen."""


@dataclass(frozen=True)
class _Ticking:
    """Follows the stages of a run within a stage, and tells of each that is done."""

    reporter: Reporter
    tick: OnProgress

    def stage_started(self, stage: Stage, index: int, of: int) -> Reporter:  # noqa: ARG002
        return self.reporter

    def stage_done(self, stage: Stage, outcome: StageOutcome) -> None:  # noqa: ARG002
        self.tick(1, 0)

    def stage_failed(self, stage: Stage, error: BaseException) -> None:
        pass


def planned_digests(run: Run) -> dict[str, str]:
    """What each run has made, as digests; or that it would make something."""
    found = {}
    for name, config, stages, of_run in _parts(run, ComparedRuns.of(run)):
        made = _made(config.work, stages)
        is_open = made != _TO_BE_MADE and any(_would_run(each) for each in of_run)
        found[name] = _TO_BE_MADE if is_open else made
    return found


def _parts(
    run: Run, runs: ComparedRuns
) -> Iterator[tuple[str, RunConfig, Sequence[Stage], Sequence[Run]]]:
    """Name, config, stages and runs of each part of a comparison."""
    for name, each in runs.first.items():
        yield name, each.config, each.stages, each.runs(run)
    if runs.linking is not None:
        linking = replace(run, config=runs.linking)
        yield "links", runs.linking, stages_of(runs.linking), (linking,)


def _made(work: Path, stages: Sequence[Stage]) -> str:
    keys = [_key(work, stage) for stage in stages]
    return _TO_BE_MADE if None in keys else key_of(keys)


def _would_run(run: Run) -> bool:
    stages = stages_of(run.config)
    return any(each.would_run for each in plan(run, stages, dependencies(stages, run.config)))


def _key(work: Path, stage: Stage) -> str | None:
    path = work / stage.folders[0]
    if not (path / MANIFEST).is_file():
        return None
    return read_manifest(path, command=stage.command).key


# --- what came of them ----------------------------------------------------------------------------


@dataclass(frozen=True)
class MeasuredErrors:
    """How far what a protection publishes is from the truth.

    Attributes:
        errors: Columns of `recon_cli.compare.errors.ERRORS`.
        deviations: Columns of `recon_cli.compare.errors.DEVIATIONS`.
        all_below: Units whose reconstructed people are all below the edge that the section names,
            while the truth's are not; None if it names none.
    """

    errors: pl.DataFrame
    deviations: pl.DataFrame
    all_below: int | None


def measure_errors(
    run: Run, runs: ComparedRuns, known: Collection[str]
) -> dict[str, MeasuredErrors]:
    """Name of each protection that is not among ``known`` → its errors."""
    config = run.config.section(Compare)
    items = [WorkItem(name, each, 1) for name, each in runs.protected.items() if name not in known]
    truth = _Truth(run.release, runs.truth.config.work, truth_of(run, config), config)
    with run.reporter.bar(Task("errors", "protection", len(items))) as bar:
        found: Results[MeasuredErrors] = run_items(
            _measure_errors,
            lambda: truth,
            items,
            workers=run.config.top.workers,
            on_tick=bar.advance,
        )
    return {item.name: each for item, each in zip(items, found.values, strict=True)}


@dataclass(frozen=True)
class _Truth:
    """What all protections are measured against.

    Attributes:
        home: Where its tables are.
        records: Its records.
    """

    release: Release
    home: Path
    records: Path
    config: Compare


def _measure_errors(truth: _Truth, protection: ProtectionRun, tick: OnProgress) -> MeasuredErrors:
    release = truth.release
    tables, _ = open_published(truth.home, release)
    read = _reader(release, protection)
    sums, deviations = [], []
    for partition in tables.partitions:
        true = read_published(truth.home, release, partition)
        shown = read(partition, true)
        sums.append(sum_errors(release, true, shown))
        deviations.append(count_deviations(release, true, shown))
    below = [_all_below(truth, protection, *each) for each in truth.config.all_below.items()]
    tick(1, 0)
    return MeasuredErrors(
        error_table(release, sums, truth.config.weights),
        pl.concat(deviations),
        sum(below) if below else None,
    )


def _all_below(truth: _Truth, protection: ProtectionRun, feature: str, edge: float) -> int:
    place, made = truth.release.geoid_column, _microdata(protection.config)
    records = open_records("compare.truth", truth.records, truth.release)
    return sum(
        units_all_below(
            records.read(name, [place, feature]),
            made.read(name, columns=[place, feature]),
            place,
            feature,
            edge,
        )
        for name in made.partitions
    )


#: A partition and its truth → what is published in the place of the truth.
_Reader = Callable[[str, Publication], Publication]


def _reader(release: Release, protection: ProtectionRun) -> _Reader:
    """Reads the tables of the truth's schema as a protection's readers know them.

    They are what is published; of other queries than tables, the tables of the records fitted to
    them.
    """
    work = protection.config.work
    if protection.measuring is None:
        partitions = open_published(work, release)[0].partitions
        return lambda partition, truth: (
            read_published(work, release, partition) if partition in partitions else _nothing(truth)
        )
    tables = resolved_tables(release, protection.release)
    if not tables:
        return lambda _, truth: _nothing(truth)
    return partial(_fitted, release, tables, _microdata(protection.config))


def _fitted(
    release: Release,
    tables: Sequence[Table],
    microdata: Folder,
    partition: str,
    truth: Publication,
) -> Publication:
    """Tables of fitted records: of a unit without any, zeros."""
    columns = record_columns(release)
    records = typed_records(microdata.read(partition, columns=[*columns]), microdata.path, release)
    is_unit = pl.col("level") == release.geography.unit.name
    return count_records(release, records, tables, truth.geounits.filter(is_unit)["geoid"])


def _nothing(truth: Publication) -> Publication:
    return replace(truth, geounits=truth.geounits.clear(), counts=truth.counts.clear())


def people_of_truth(run: Run) -> int:
    """How many records the truth has."""
    path = truth_of(run, run.config.section(Compare))
    slices = open_records("compare.truth", path, run.release).slices()
    return sum(each.rows for each in slices.values())


def summarise_runs(
    run: Run, runs: ComparedRuns, measured: Mapping[str, MeasuredErrors]
) -> tuple[ProtectionSummary, ...]:
    """One row a protection."""
    config = run.config.section(Compare)
    rates = None if runs.linking is None else read_rates(replace(run, config=runs.linking))
    people = people_of_truth(run)
    return tuple(
        summarise(
            run.release,
            name,
            describe(config.every[name]),
            measured[name].errors,
            rates,
            people=_microdata(made.config).manifest.rows,
            of=people,
            certain=Proofs.of(WorkFolder(made.config.work), made.release).records().at_least,
            disclosed=_disclosed(config, config.every[name], made.config),
            epsilon=_epsilon(config.every[name], made.config),
            posterior=_believed(spends)
            if (spends := _spends(run, config.every[name], made))
            else None,
            all_below=measured[name].all_below,
        )
        for name, made in runs.protected.items()
    )


@dataclass(frozen=True)
class Swept:
    """What came of a sweep.

    Attributes:
        means: Columns of `recon_cli.compare.sweep.SWEEP`.
        differences: Columns of `recon_cli.compare.sweep.DIFFERENCES`.
        units: Columns of `recon_cli.compare.errors.UNIT_ERRORS`.
    """

    means: pl.DataFrame
    differences: pl.DataFrame
    units: pl.DataFrame


@dataclass(frozen=True)
class Means:
    """What the page shows: of what is swept means over the draws of each value.

    Attributes:
        summaries: A row a protection, or a value of it.
        errors: Name → columns of `recon_cli.compare.errors.ERRORS`.
        distributions: Columns of `recon_cli.compare.errors.DISTRIBUTIONS`.
        swept: None where nothing is swept.
    """

    summaries: Sequence[ProtectionSummary]
    errors: Mapping[str, pl.DataFrame]
    distributions: pl.DataFrame
    swept: Swept | None


def means(
    run: Run,
    runs: ComparedRuns,
    summaries: Sequence[ProtectionSummary],
    measured: Mapping[str, MeasuredErrors],
) -> Means:
    """Means over the draws of each value of a sweep, in the place of the draws."""
    points = [each for each in run.config.section(Compare).points if each.name in runs.protected]
    of = {each.name: each for each in summaries}
    draws: dict[tuple[str, str], list[SweptDraw]] = {}
    deviations: dict[tuple[str, str], list[pl.DataFrame]] = {}
    names = {point.name for point in points}
    for name, each in measured.items():
        if name not in names:
            deviations[name, ""] = [each.deviations]
    for point in points:
        draw = SweptDraw(
            point.of,
            point.value,
            point.draw,
            is_of_people(point.protection),
            of[point.name],
            measured[point.name].errors,
        )
        draws.setdefault((point.of, point.value), []).append(draw)
        found = deviations.setdefault((point.of, point.value), [])
        found.append(measured[point.name].deviations)
    swept = [mean_of_draws(each) for each in draws.values()]
    every = [draw for each in draws.values() for draw in each]
    return Means(
        [*(each for each in summaries if each.name not in names), *(mean for mean, _ in swept)],
        {
            **{name: each.errors for name, each in measured.items() if name not in names},
            **{mean.name: each for mean, each in swept},
        },
        pl.concat(
            distribution(run.release, name, value, each)
            for (name, value), each in deviations.items()
        ),
        Swept(
            sweep_table(every),
            difference_table(every),
            pl.concat(
                unit_errors(run.release, name, value, deviations[name, value][0])
                for name, value in draws
            ),
        )
        if every
        else None,
    )


def _epsilon(protection: Protected, config: RunConfig) -> float | None:
    """What a protection spent, as the manifest of its first step with noise says.

    What follows is made of what that published, and spends nothing.
    """
    for method in methods_of(protection):
        stage = stage_named(method.name)
        notes = open_folder(config.work, stage, method.folders[0]).manifest.notes
        if (found := epsilon_spent(notes)) is not None:
            return found
    return None


def _spends(run: Run, protection: Protected, made: ProtectionRun) -> tuple[Spend, ...]:
    """What its first step with noise spends, query by query; empty without such a step."""
    first = replace(run, config=made.measuring or made.config)
    for method in methods_of(protection):
        spends = tuple(load(method.stage)(first).spends)
        if spends and all(each.budget is not None for each in spends):
            return spends
    return ()


def scores_of(run: Run, runs: ComparedRuns) -> pl.DataFrame | None:
    """See `recon_cli.compare.summary.SCORES`; None where nobody was linked."""
    if runs.linking is None:
        return None
    names = list(run.config.section(Compare).every)
    return score_table(read_rates(replace(run, config=runs.linking)), names)


def describe(protection: Protected) -> str:
    """``swap: setting hi; round: base 5, how nearest``."""
    steps = protection.model_dump(mode="json", exclude_unset=True)
    return "; ".join(_described(kind, steps[kind]) for kind in protection.kinds) or EXACT


def _described(kind: str, said: Mapping[str, object]) -> str:
    settings = ", ".join(f"{key} {_words(value)}" for key, value in said.items())
    return f"{kind}: {settings}" if settings else kind


def _words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(each)}" for key, each in value.items())
    if isinstance(value, list):
        return " ".join(map(str, value))
    return Path(value).name if isinstance(value, str) and "/" in value else str(value)


def _microdata(config: RunConfig) -> Folder:
    return open_folder(config.work, RECONSTRUCT, "microdata")


def _disclosed(config: Compare, protection: Protected, made: RunConfig) -> int | None:
    """People of whom some columns settle another one, in every solution; None if not asked."""
    if config.claims is None:
        return None
    if published_by(protection) == "measurements":
        return 0  # noise without bounds leaves every histogram possible
    found = read_disclosures(made.work)["attribute"]
    return int(found[-1]) if len(found) else 0


def table_files(found: Means, scores: pl.DataFrame | None) -> dict[str, bytes]:
    """File name → bytes: the comparison, all errors and scores, as Parquet and CSV."""
    compared = pl.DataFrame([each.as_row() for each in found.summaries], infer_schema_length=None)
    every = pl.concat(
        frame.select(pl.lit(name).alias("protection"), pl.all())
        for name, frame in found.errors.items()
    )
    tables = {"comparison": compared, "errors": every, "distributions": found.distributions}
    if scores is not None:
        tables["scores"] = scores
    if found.swept is not None:
        tables |= {
            "sweep": found.swept.means,
            "differences": found.swept.differences,
            "unit_errors": found.swept.units,
        }
    return {
        **{f"{name}.parquet": parquet_bytes(table) for name, table in tables.items()},
        **{f"{name}.csv": csv_bytes(table, 4) for name, table in tables.items()},
    }
