"""`recon protect noise`: records → noisy measurements.

``noisy/`` is a tidy publication with its ``protection.yaml``; where the queries are combinations of
columns, ``release.yaml`` is the schema that has them as tables.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recon_cli.config.sections.noise import Noise
from recon_cli.execute import OnProgress
from recon_cli.pipeline.declaration import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import NOISE
from recon_cli.publication import PROTECTION
from recon_cli.schema import Release, parse_release
from recon_cli.stages.drawing import chance_of
from recon_cli.store import Manifest, Piece, Staging, Transaction

if TYPE_CHECKING:
    import polars as pl

    from recon_cli.chance import KeyedChance
    from recon_cli.noise.strategy import Strategy
    from recon_cli.protect.measured import NoiseSource
    from recon_cli.publication import Publication
    from recon_cli.stages.protect_counts_pieces import Origin

#: What the schema is called that lies beside the counts.
SCHEMA = "release.yaml"


def add_noise(run: Run) -> MadeStage:
    """Measure the counts of records with the noise of a strategy.

    Raises:
        ConfigError: There is no such strategy, or it does not fit the release.
        SourceError: The records do not fit the schema.
        StageError: The work folder is in use.
        WorkerError: A worker died.
    """
    from recon_cli.noise.strategy_file import load_strategy, read_strategy  # noqa: PLC0415 - polars
    from recon_cli.protect import measured  # noqa: PLC0415
    from recon_cli.stages.protect_counts_pieces import Origin, write_beside  # noqa: PLC0415
    from recon_cli.stages.unit_lists import (  # noqa: PLC0415
        all_units,
        invariant_units,
        list_files,
        unit_list_file,
    )

    config = run.config.section(Noise)
    strategy = load_strategy(config.strategy, run.release, config.without)
    levels = _levels(config, strategy, run.release)
    is_study = config.study_seed is not None or run.reads_study(NOISE)
    release, beside = _described(run.release, strategy, levels, is_study=is_study)
    names = {measured.table_name(query) for query in strategy.queries.values()}
    tables = tuple(table for table in release.tables if table.name in names)
    origin = Origin(NOISE.section, tables, config.records or run.work / "persons")
    files = list_files("noise.geounits", config.geounits)
    listed = all_units("noise", config, run.release)
    recipe = run.recipe(
        NOISE,
        {
            "strategy": read_strategy(config.strategy)[0],
            "without": list(config.without),
            "levels": list(levels),
            "source": config.source,
            "units": config.units,
        },
        seed=config.study_seed,
        is_study=is_study,
        files=files,
        partitions=origin.digests(release),
    )

    def make(transaction: Transaction) -> Manifest:
        inhabited = origin.pieces(release)
        pieces = _pieces(release, inhabited, listed)
        chance = chance_of(transaction, config.study_seed)
        context = NoiseContext(
            release,
            strategy,
            tuple(levels),
            origin,
            frozenset(each.partition for each in inhabited),
            listed,
            chance if config.source == "keyed" else None,
            transaction.staging,
        )
        results = run.map_unfinished(transaction, measure_piece, lambda: context, pieces)
        write_beside(release, transaction.staging, pieces, {**beside, **unit_list_file(listed)})
        return transaction.publish(
            pieces,
            notes={**_notes(strategy, levels), "source": config.source, **invariant_units(config)},
            usages=results.usages,
            workers=results.workers,
        )

    return MadeStage(recipe, make)


def _notes(strategy: Strategy, levels: Sequence[str]) -> dict[str, object]:
    """What was measured and what it spent."""
    from recon_cli.protect.measured import strategy_rows  # noqa: PLC0415 - loads polars

    return {
        "strategy": strategy.name,
        "mechanism": strategy.mechanism,
        "neighbours": strategy.neighbours,
        "measured": strategy_rows(strategy, levels),
        "budget": float(strategy.budget(levels)),
        "epsilon": strategy.epsilon(levels),
        "whole_budget": float(strategy.budget()),
        "whole_epsilon": strategy.epsilon(),
        "delta": float(strategy.delta),
    }


def measured_release(config: Noise, release: Release) -> Release:
    """The schema of the measurements: the release's own where its tables are measured.

    Raises:
        ConfigError: There is no such strategy, or it does not fit the release.
    """
    from recon_cli.noise.strategy_file import load_strategy  # noqa: PLC0415 - loads polars

    strategy = load_strategy(config.strategy, release, config.without)
    return _described(release, strategy, _levels(config, strategy, release), is_study=True)[0]


def _levels(config: Noise, strategy: Strategy, release: Release) -> Sequence[str]:
    """The levels that are published."""
    from recon_cli.protect import measured  # noqa: PLC0415 - loads polars

    levels = config.levels or measured.published_levels(strategy, release)
    measured.require_publishable(strategy, release, levels)
    return levels


def _described(
    release: Release, strategy: Strategy, levels: Sequence[str], *, is_study: bool
) -> tuple[Release, Mapping[str, bytes]]:
    """The schema that the measurements are read with, and the files beside them."""
    from recon_cli.protect import measured  # noqa: PLC0415 - loads polars
    from recon_cli.statement import protection_text  # noqa: PLC0415

    beside = dict[str, bytes]()
    if not any(query.table for query in strategy.queries.values()):
        text = measured.release_text(strategy, release, levels)
        beside[SCHEMA] = text.encode()
        release = parse_release(text, source=SCHEMA)
    protection = measured.noise_protection(strategy, levels)
    text = protection_text(release, protection.statements, is_study=is_study)
    beside[PROTECTION] = text.encode()
    return release, beside


@dataclass(frozen=True)
class NoiseContext:
    """What all partitions share."""

    release: Release
    strategy: Strategy
    levels: tuple[str, ...]
    origin: Origin
    inhabited: frozenset[str]
    units: pl.Series | None
    chance: KeyedChance | None
    staging: Staging


def measure_piece(context: NoiseContext, piece: Piece, tick: OnProgress) -> None:
    """Measure and write one partition; runs in a worker."""
    import polars as pl  # noqa: PLC0415 - slow to load, and not needed where nothing is to be done

    from recon_cli.frames import COUNTS  # noqa: PLC0415
    from recon_cli.protect.accuracy import sum_errors  # noqa: PLC0415
    from recon_cli.protect.measured import measure_counts  # noqa: PLC0415

    started, release = time.perf_counter(), context.release
    truth = _truth(context, piece.partition)
    if context.units is not None:
        truth = _with_empty(release, truth, context.units, piece.partition)
    counts = measure_counts(context.strategy, context.levels, truth, _source(context))
    unit = truth.geounits.filter(pl.col("level") == release.geography.unit.name)
    people = int(unit["population"].sum())
    shown = counts.select(COUNTS.names())
    frames = (shown, sum_errors(release, truth, counts))
    context.staging.write(
        piece,
        dict(zip(context.staging.recipe.stage.folders, frames, strict=True)),
        totals={
            "units": len(unit),
            "people": people,
            "cells": counts.height,
            "negative": int((counts["count"] < 0).sum()),
        },
        started=started,
    )
    tick(len(unit), people)


def _source(context: NoiseContext) -> NoiseSource:
    from recon_cli.noise.measuring import cells_of, measurement_noise  # noqa: PLC0415
    from recon_cli.noise.opendp_source import opendp_noise  # noqa: PLC0415

    chance, name = context.chance, context.strategy.name
    if chance is None:
        return lambda _, each, geoids: opendp_noise(each.law, (len(geoids), each.query.size))
    return lambda level, each, geoids: measurement_noise(
        chance.named(name, level), each, geoids, cells_of(each.query)
    )


def _pieces(release: Release, inhabited: Sequence[Piece], units: pl.Series | None) -> list[Piece]:
    """The partitions of the records and of the list of all units."""
    pieces = {each.partition: each for each in inhabited}
    if units is not None:
        names = release.geography.partition_level.enclosing(units).unique()
        pieces = {name: Piece(name) for name in names} | pieces
    return [pieces[name] for name in sorted(pieces)]


def _truth(context: NoiseContext, partition: str) -> Publication:
    """The true counts of a partition, which may have no records."""
    if partition in context.inhabited:
        return context.origin.read(context.release, partition)[0]
    return context.origin.nothing(context.release)


def _with_empty(
    release: Release, truth: Publication, units: pl.Series, partition: str
) -> Publication:
    """The publication with units, and what they are in, that have no records.

    Raises:
        SourceError: Units have records and are not listed.
    """
    import polars as pl  # noqa: PLC0415

    from recon_cli.stages.unit_lists import require_listed  # noqa: PLC0415

    units = units.filter(release.geography.inside(units, partition))
    finest = truth.geounits.filter(level=release.geography.unit.name)["geoid"]
    require_listed("noise.geounits", finest, units)
    known, frames = set(truth.geounits["geoid"]), [truth.geounits]
    for number, pattern in enumerate(truth.coverage):
        level = release.geography.by_name[pattern.level]
        geoids = level.enclosing(units).unique().sort()
        empty = geoids.filter(~geoids.is_in(list(known)))
        frames.append(
            pl.DataFrame({"geoid": empty}).with_columns(
                level=pl.lit(pattern.level),
                population=pl.lit(0, truth.geounits["population"].dtype),
                pattern=pl.lit(number, pl.Int16),
            )
        )
    geounits = pl.concat(frames, how="diagonal").select(truth.geounits.columns)
    return replace(truth, geounits=geounits)
