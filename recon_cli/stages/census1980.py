"""`recon protect census1980`: records → counts under the suppression rules of the 1980 census.

``census1980/`` is a tidy publication with its ``protection.yaml``; ``private/census1980/rates/``
has the lines of Tables 18 and 19.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recon_cli.config.sections.census1980 import Census1980
from recon_cli.execute import OnProgress
from recon_cli.pipeline.declaration import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import CENSUS1980
from recon_cli.schema import Release
from recon_cli.stages.protected_file import write_protected
from recon_cli.store import Manifest, Piece, Staging, Transaction, open_folder
from recon_cli.store.study import require_study_name

if TYPE_CHECKING:
    import polars as pl

    from recon_cli.stages.protect_counts_pieces import Origin


def census1980(run: Run) -> MadeStage:
    """Apply the rules.

    Raises:
        ConfigError: There are no records, or the release lacks the tables of the rules.
        SourceError: The records do not fit the schema.
        StageError: The work folder is in use.
        WorkerError: A worker died.
    """
    from recon_cli.protect.census1980 import protection_of_1980  # noqa: PLC0415 - loads polars
    from recon_cli.stages.protect_counts_pieces import (  # noqa: PLC0415
        Origin,
        protection_files,
        write_beside,
    )

    config = run.config.section(Census1980)
    is_study = run.reads_study(CENSUS1980)
    if is_study:
        require_study_name("census1980.to", config.to)
    beside = protection_files(run.release, protection_of_1980(run.release), is_study=is_study)
    origin = Origin(CENSUS1980.section, run.release.tables, config.records or run.work / "persons")
    recipe = run.recipe(CENSUS1980, {}, seed=0, partitions=origin.digests(run.release))

    def make(transaction: Transaction) -> Manifest:
        pieces, staging = origin.pieces(run.release), transaction.staging
        context = RulesContext(run.release, origin, staging)
        results = run.map_unfinished(transaction, suppress_piece, lambda: context, pieces)
        write_beside(run.release, staging, pieces, beside)
        return transaction.publish(pieces, notes={}, usages=results.usages, workers=results.workers)

    return MadeStage(recipe, make, lambda: write_protected(run, CENSUS1980, config.to))


@dataclass(frozen=True)
class RulesContext:
    """What all partitions share."""

    release: Release
    origin: Origin
    staging: Staging


def suppress_piece(context: RulesContext, piece: Piece, tick: OnProgress) -> None:
    """Suppress and write one partition; runs in a worker."""
    import polars as pl  # noqa: PLC0415 - slow to load

    from recon_cli.protect.accuracy import sum_errors  # noqa: PLC0415
    from recon_cli.protect.census1980 import rates_of_1980, suppress_as_in_1980  # noqa: PLC0415
    from recon_cli.protect.counts import tidy_counts  # noqa: PLC0415

    started, release = time.perf_counter(), context.release
    truth, _ = context.origin.read(release, piece.partition)
    protected = suppress_as_in_1980(release, truth)
    frames = (
        tidy_counts(truth, protected),
        sum_errors(release, truth, protected),
        rates_of_1980(release, truth),
    )
    unit = release.geography.unit.name
    homes = truth.geounits.filter(pl.col("level") == unit).height
    people = piece.people
    context.staging.write(
        piece,
        dict(zip(CENSUS1980.folders, frames, strict=True)),
        totals={
            "units": homes,
            "people": people,
            "cells": int((protected["true"] > 0).sum()),
            "suppressed": protected["count"].null_count(),
            "zeroed": int(((protected["true"] > 0) & (protected["count"] == 0)).sum()),
        },
        started=started,
    )
    tick(homes, people)


def read_rates(work: Path, release: Release) -> pl.DataFrame:
    """Tables 18 and 19 beside the study's: see `recon_cli.protect.census1980.compare_rates`.

    Raises:
        StageError: The rates are missing or damaged.
    """
    from recon_cli.protect.census1980 import compare_rates  # noqa: PLC0415 - loads polars

    folder = open_folder(work, CENSUS1980, CENSUS1980.folders[2])
    return compare_rates(release, [folder.read(name) for name in folder.partitions])
