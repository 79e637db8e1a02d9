"""Fitting and writing a partition of noisy counts: what workers of `recon reconstruct` do."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from recon_cli.attack.measurements.joint_fit import fit_people, likely_records
from recon_cli.attack.measurements.measurements import read_measurements
from recon_cli.execute import OnProgress, Results
from recon_cli.frames import is_place
from recon_cli.pipeline.run import Run, pieces_of
from recon_cli.schema import Release, Table
from recon_cli.store import Folder, Piece, Staging, Transaction, read_published

#: Status and method of a unit whose records fit noisy counts; nothing is proven of it.
LIKELY, LEAST_SQUARES = "likely", "least_squares"


def fit_partitions(
    run: Run, stage: Transaction, tables: Sequence[Table], geounits: Folder
) -> Results[None]:
    """Fit every partition whole: coarse measurements speak of all its units.

    Raises:
        SourceError: The measurements cannot be fitted.
        WorkerError: A worker died.
    """
    context = NoisyContext(run.release, tuple(tables), run.work, stage.staging)
    return run.map_unfinished(stage, fit_partition, lambda: context, pieces_of(geounits.manifest))


@dataclass(frozen=True)
class NoisyContext:
    """What all partitions share."""

    release: Release
    tables: tuple[Table, ...]
    work: Path
    staging: Staging


def fit_partition(context: NoisyContext, piece: Piece, tick: OnProgress) -> None:
    """Fit and write one partition."""
    started, release = time.perf_counter(), context.release
    published = read_published(context.work, release, piece.partition)
    measurements = read_measurements(release, published, context.tables)
    fitted = fit_people(measurements)
    microdata = likely_records(measurements, fitted)
    microdata = microdata.with_columns(certain=pl.lit(value=False))
    units = measurements.hierarchy.geoids[-1]
    blocks = pl.DataFrame(
        {
            release.geoid_column: units,
            "population": pl.Series([None] * len(units), dtype=pl.Int32),
            "candidates": pl.Series(np.full(len(units), len(fitted.cells)), dtype=pl.Int32),
            "free": pl.Series(np.full(len(units), len(fitted.cells)), dtype=pl.Int32),
            "status": pl.repeat(LIKELY, len(units), eager=True),
            "method": pl.repeat(LEAST_SQUARES, len(units), eager=True),
            "seconds": pl.zeros(len(units), dtype=pl.Float64, eager=True),
        }
    )
    places = blocks.filter(is_place(release.geoid_column)).height
    unlisted = len(units) - places
    context.staging.write(
        piece,
        {"microdata": microdata, "blocks": blocks},
        statuses={LIKELY: places},
        totals={
            "units": places,
            **({"unlisted": unlisted} if unlisted else {}),
            "uncounted": len(units),
            "people": len(microdata),
            "certain": 0,
            "people_in_unique": 0,
            "candidates": int(blocks["candidates"].sum()),
            "free": int(blocks["free"].sum()),
            "cells_compared": 0,
            f"by_{LEAST_SQUARES}": len(units),
        },
        started=started,
    )
    tick(len(units), len(microdata))
