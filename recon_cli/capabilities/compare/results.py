"""Results of a comparison: errors, a summary of each run, means of sweeps, and the page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import polars as pl

from recon_cli.capabilities.account.account import Spend, expected_posterior
from recon_cli.capabilities.compare import PAGE
from recon_cli.capabilities.compare.errors import (
    count_deviations,
    distribution,
    error_table,
    resolved_tables,
    sum_errors,
    unit_errors,
    units_all_below,
)
from recon_cli.capabilities.compare.options import Compare, Protected
from recon_cli.capabilities.compare.page import compose_comparison
from recon_cli.capabilities.compare.protection_summary import (
    ProtectionSummary,
    score_table,
    summarise,
)
from recon_cli.capabilities.compare.protections import (
    EXACT,
    ComparedRuns,
    ProtectionRun,
    is_of_people,
    methods_of,
    open_protection,
    published_by,
    truth_of,
)
from recon_cli.capabilities.compare.sweep import (
    SweptDraw,
    difference_table,
    epsilon_spent,
    mean_of_draws,
    sweep_table,
)
from recon_cli.capabilities.compare.sweep_page import SweptTables
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.proven import Proofs
from recon_cli.capabilities.findings.result_tables import read_disclosures
from recon_cli.capabilities.protect.counts import count_records
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.records.files import open_records
from recon_cli.capabilities.score.stage import read_rates
from recon_cli.capabilities.tabulate.stage import record_columns, typed_records
from recon_cli.config import RunConfig
from recon_cli.execute import OnProgress, Results, WorkItem, run_items
from recon_cli.page.document import NOT_FOR_PUBLICATION
from recon_cli.page.html import report_files
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import stage_named
from recon_cli.progress import Task
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.store import Manifest, Transaction, open_folder
from recon_cli.store.folder import Folder
from recon_cli.store.protection import read_published
from recon_cli.store.published import open_published
from recon_cli.store.tables import table_files

#: Cached, since the page is made anew with every protection, and each budget takes seconds.
_believed = cache(expected_posterior)
#: A partition and its truth → what is published in the place of the truth.
_Reader = Callable[[str, Publication], Publication]


def write_comparison(
    run: Run,
    stage: Transaction,
    missing: Mapping[str, str],
    measured: dict[str, MeasuredErrors],
) -> Manifest:
    """Measure the results of the runs, and write tables and page.

    Args:
        missing: Name of a protection that is left out → the reason; nobody is linked before all
            protections are finished.
        measured: Name → errors, of protections that were measured before; others are added.
    """
    config, runs = run.config.section(Compare), ComparedRuns.of(run).without(missing)
    measured |= _measure_errors(run, runs, measured.keys())
    people = _people_of_truth(run)
    rates = None if runs.linking is None else read_rates(replace(run, config=runs.linking))
    shown = _means(
        config,
        run.release,
        _summaries(run, runs, measured, rates, people),
        {name: measured[name] for name in runs.protected},
    )
    scores = None if rates is None else score_table(rates, list(config.every))
    document = compose_comparison(
        run.release,
        shown.summaries,
        shown.errors,
        scores,
        people=people,
        risk=config.risk,
        weights=config.weights,
        missing=missing,
        swept=shown.swept,
        conditions=_conditions(config, runs),
    )
    document = replace(document, banner=NOT_FOR_PUBLICATION)
    files = table_files(_tables(shown, scores), 4) | report_files(document, PAGE)
    stage.staging.write_extras("comparison", files)
    return stage.publish([], notes={"summary": list(document.headline.sentences)})


@dataclass(frozen=True)
class MeasuredErrors:
    """The errors of a protection's publication.

    Attributes:
        errors: Columns of `recon_cli.capabilities.compare.errors.ERRORS`.
        deviations: Columns of `recon_cli.capabilities.compare.errors.DEVIATIONS`.
        all_below: Units whose reconstructed people are all below the edge that the section names,
            while the truth's are not; None if it names none.
    """

    errors: pl.DataFrame
    deviations: pl.DataFrame
    all_below: int | None


def _measure_errors(
    run: Run, runs: ComparedRuns, known: Collection[str]
) -> dict[str, MeasuredErrors]:
    """Compute the errors of each protection that is not among ``known``."""
    config = run.config.section(Compare)
    items = [WorkItem(name, each, 1) for name, each in runs.protected.items() if name not in known]
    truth = _Truth(run.release, runs.truth.config.work, truth_of(run, config), config)
    with run.reporter.bar(Task("errors", "protection", len(items))) as bar:
        found: Results[MeasuredErrors] = run_items(
            _errors_of,
            lambda: truth,
            items,
            workers=run.config.top.workers,
            on_tick=bar.advance,
        )
    return {item.name: each for item, each in zip(items, found.values, strict=True)}


@dataclass(frozen=True)
class _Truth:
    """The truth that all protections are compared with.

    Attributes:
        home: Folder of the tables.
    """

    release: Release
    home: Path
    records: Path
    config: Compare


def _errors_of(truth: _Truth, protection: ProtectionRun, tick: OnProgress) -> MeasuredErrors:
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


def _reader(release: Release, protection: ProtectionRun) -> _Reader:
    """Return a reader of the truth's tables as a protection's readers know them.

    The tables are the published ones; for queries that are no tables, those of fitted records.
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
    """Return tables of fitted records, with zeros for units without any."""
    columns = record_columns(release)
    records = typed_records(microdata.read(partition, columns=[*columns]), microdata.path, release)
    is_unit = pl.col("level") == release.geography.unit.name
    return count_records(release, records, tables, truth.geounits.filter(is_unit)["geoid"])


def _nothing(truth: Publication) -> Publication:
    return replace(truth, geounits=truth.geounits.clear(), counts=truth.counts.clear())


def _people_of_truth(run: Run) -> int:
    path = truth_of(run, run.config.section(Compare))
    slices = open_records("compare.truth", path, run.release).slices()
    return sum(each.rows for each in slices.values())


def _summaries(
    run: Run,
    runs: ComparedRuns,
    measured: Mapping[str, MeasuredErrors],
    rates: pl.DataFrame | None,
    people: int,
) -> list[ProtectionSummary]:
    config = run.config.section(Compare)

    def summary(name: str, made: ProtectionRun) -> ProtectionSummary:
        protection, spends = config.every[name], _spends(run, config.every[name], made)
        return summarise(
            run.release,
            name,
            _described(protection),
            measured[name].errors,
            rates,
            people=_microdata(made.config).manifest.rows,
            of=people,
            certain=Proofs.of(WorkFolder(made.config.work), made.release).records().at_least,
            disclosed=_disclosed(config, protection, made.config),
            epsilon=epsilon_spent(_noise_notes(protection, made.config)),
            posterior=_believed(spends) if spends else None,
            all_below=measured[name].all_below,
        )

    return [summary(name, made) for name, made in runs.protected.items()]


def _noise_notes(protection: Protected, config: RunConfig) -> Mapping[str, Any]:
    """Return the notes of a protection's first step with noise; empty without any.

    Later steps use only what that published, and spend nothing.
    """
    for method in methods_of(protection):
        stage = stage_named(method.name)
        notes = open_folder(config.work, stage, method.folders[0]).manifest.notes
        if epsilon_spent(notes) is not None:
            return notes
    return {}


def _conditions(config: Compare, runs: ComparedRuns) -> dict[str, list[str]]:
    """Map protections to the conditions of their ε: exact counts, and changed records."""
    found = {}
    for name, made in runs.protected.items():
        notes = _noise_notes(config.every[name], made.config)
        exact = [
            f"between files that agree in {each}, which it publishes exactly"
            for each in notes.get("invariants", ())
        ]
        if said := [*exact, *notes.get("protected_before", ())]:
            found[name] = said
    return found


def _spends(run: Run, protection: Protected, made: ProtectionRun) -> tuple[Spend, ...]:
    """Return the privacy loss of its first step with noise, by query; empty without one."""
    first = replace(run, config=made.measuring or made.config)
    for method in methods_of(protection):
        spends = tuple(open_protection(method, first).spends)
        if spends and all(each.budget is not None for each in spends):
            return spends
    return ()


def _described(protection: Protected) -> str:
    """Describe a protection, as in ``swap: setting hi; round: base 5, how nearest``."""
    steps = protection.model_dump(mode="json", exclude_unset=True)
    return "; ".join(_step(kind, steps[kind]) for kind in protection.kinds) or EXACT


def _step(kind: str, said: Mapping[str, object]) -> str:
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
    """Count people of whom some columns determine another, in every solution; None if unasked."""
    if config.claims is None:
        return None
    if published_by(protection) == "measurements":
        return 0  # noise without bounds leaves every histogram possible
    found = read_disclosures(made.work)["attribute"]
    return int(found[-1]) if len(found) else 0


@dataclass(frozen=True)
class _Shown:
    """The content of the page, with means over the draws of each swept value.

    Attributes:
        summaries: A row per protection, or per value of a protection's swept key.
        errors: Name → columns of `recon_cli.capabilities.compare.errors.ERRORS`.
        distributions: Columns of `recon_cli.capabilities.compare.errors.DISTRIBUTIONS`.
        swept: Results of sweeps; None if nothing is swept.
    """

    summaries: Sequence[ProtectionSummary]
    errors: Mapping[str, pl.DataFrame]
    distributions: pl.DataFrame
    swept: SweptTables | None


def _means(
    config: Compare,
    release: Release,
    summaries: Sequence[ProtectionSummary],
    measured: Mapping[str, MeasuredErrors],
) -> _Shown:
    """Compute means over the draws of each value of a sweep, in place of the draws."""
    points = [point for point in config.points if point.name in measured]
    names = {point.name for point in points}
    by_name = {each.name: each for each in summaries}
    errors = {name: each.errors for name, each in measured.items() if name not in names}
    deviations = {(name, ""): [measured[name].deviations] for name in errors}
    draws: dict[tuple[str, str], list[SweptDraw]] = {}
    for point in points:
        found, value = measured[point.name], (point.of, point.value)
        is_proven_of_people = is_of_people(point.protection)
        draw = SweptDraw(*value, point.draw, is_proven_of_people, by_name[point.name], found.errors)
        draws.setdefault(value, []).append(draw)
        deviations.setdefault(value, []).append(found.deviations)
    distributions = pl.concat(
        distribution(release, *value, each) for value, each in deviations.items()
    )
    means = [mean_of_draws(each) for each in draws.values()]
    swept = None
    if config.sweep is not None and draws:
        every = [draw for each in draws.values() for draw in each]
        swept = SweptTables(
            config.sweep.over,
            sweep_table(every),
            distributions,
            difference_table(every),
            pl.concat(unit_errors(release, *value, deviations[value][0]) for value in draws),
        )
    return _Shown(
        [*(each for each in summaries if each.name not in names), *(mean for mean, _ in means)],
        {**errors, **{mean.name: each for mean, each in means}},
        distributions,
        swept,
    )


def _tables(shown: _Shown, scores: pl.DataFrame | None) -> dict[str, pl.DataFrame]:
    """Map names of files to the comparison, all errors and scores."""
    compared = pl.DataFrame(
        [{**asdict(each), "gain": each.gain} for each in shown.summaries], infer_schema_length=None
    )
    every = pl.concat(
        frame.select(pl.lit(name).alias("protection"), pl.all())
        for name, frame in shown.errors.items()
    )
    tables = {"comparison": compared, "errors": every, "distributions": shown.distributions}
    if scores is not None:
        tables["scores"] = scores
    if shown.swept is not None:
        tables |= {
            "sweep": shown.swept.sweep,
            "differences": shown.swept.differences,
            "unit_errors": shown.swept.units,
        }
    return tables
