"""`recon protect randomize`: records → ``randomized/``, and what they say of true counts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recon_cli.config.sections.randomize import Randomize
from recon_cli.execute import OnProgress
from recon_cli.pipeline.declaration import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import RANDOMIZE
from recon_cli.schema import Release, Table
from recon_cli.stages.drawing import chance_of
from recon_cli.store import Manifest, Piece, Staging, Transaction

if TYPE_CHECKING:
    from recon_cli.chance import KeyedChance
    from recon_cli.protect.randomize import Response
    from recon_cli.sources.records import RecordFile


def randomize(run: Run) -> MadeStage:
    """Randomise answers, partition by partition.

    Raises:
        ConfigError: A response does not fit its feature.
        SourceError: The records cannot be read.
        StageError: The work folder is in use.
        WorkerError: A worker died.
    """
    from recon_cli.protect.randomize import parse_response  # noqa: PLC0415 - loads polars
    from recon_cli.sources.records import open_records  # noqa: PLC0415

    config, release = run.config.section(Randomize), run.release
    features = {feature.name: feature for feature in release.features}
    responses = [
        parse_response(features[name], each.epsilon, each.matrix)
        for name, each in config.responses.items()
    ]
    records = open_records("randomize.records", config.records or run.work / "persons", release)
    slices = records.slices()
    recipe = run.recipe(
        RANDOMIZE,
        {
            "responses": {each.feature: each.matrix.tolist() for each in responses},
            "tables": [table.name for table in release.select_tables(config.tables)],
            "interval": config.interval,
        },
        seed=config.study_seed,
        is_study=config.study_seed is not None,
        partitions={name: {"records": each.digest} for name, each in slices.items()},
    )

    def make(stage: Transaction) -> Manifest:
        pieces = [Piece(name, people=each.rows) for name, each in slices.items()]
        tables = release.select_tables(config.tables)
        chance = chance_of(stage, config.study_seed)
        context = RandomizeContext(
            release, records, tables, responses, config.interval, chance, stage.staging
        )
        results = run.map_unfinished(stage, randomize_partition, lambda: context, pieces)
        return stage.publish(
            pieces,
            notes={"epsilon": {each.feature: _finite(each.epsilon) for each in responses}},
            usages=results.usages,
            workers=results.workers,
        )

    return MadeStage(recipe, make)


def _finite(epsilon: float) -> float | None:
    """None where a reported value rules a true one out."""
    return None if epsilon == float("inf") else epsilon


@dataclass(frozen=True)
class RandomizeContext:
    """What all partitions share."""

    release: Release
    records: RecordFile
    tables: tuple[Table, ...]
    responses: Sequence[Response]
    interval: float
    chance: KeyedChance
    staging: Staging


def randomize_partition(context: RandomizeContext, piece: Piece, tick: OnProgress) -> None:
    """Randomise and write one partition; runs in a worker."""
    from recon_cli.protect.randomize import (  # noqa: PLC0415 - loads polars
        estimate_true_counts,
        randomize_records,
    )
    from recon_cli.stages.tabulate import record_columns, typed_records  # noqa: PLC0415

    started, release = time.perf_counter(), context.release
    read = context.records.read(piece.partition, [*record_columns(release)])
    true = typed_records(read, context.records.path, release)
    reported = randomize_records(release, true, context.responses, context.chance)
    estimates = estimate_true_counts(
        release, reported, context.responses, context.tables, context.interval
    )
    changed = sum(
        int((true[each.feature] != reported[each.feature]).sum()) for each in context.responses
    )
    context.staging.write(
        piece,
        {"randomized": reported, "randomized_counts": estimates},
        totals={"people": len(reported), "changed": changed, "cells": len(estimates)},
        started=started,
    )
    tick(reported[release.geoid_column].n_unique(), len(reported))
