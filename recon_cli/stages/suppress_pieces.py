"""Suppressing and writing a partition: what the workers of `recon protect suppress` do."""

from __future__ import annotations

import time
from dataclasses import dataclass

import polars as pl

from recon_cli.execute import OnProgress
from recon_cli.pipeline.stages import SUPPRESS
from recon_cli.protect.accuracy import sum_errors
from recon_cli.protect.counts import require_one_pattern, tidy_counts
from recon_cli.protect.suppression import SuppressionOptions, suppress_counts
from recon_cli.schema import Release
from recon_cli.stages.protect_counts_pieces import Origin
from recon_cli.store import Piece, Staging


@dataclass(frozen=True)
class SuppressContext:
    """What all partitions share."""

    release: Release
    origin: Origin
    options: SuppressionOptions
    staging: Staging


def suppress_piece(context: SuppressContext, piece: Piece, tick: OnProgress) -> None:
    """Suppress and write one partition; runs in a worker."""
    started, release = time.perf_counter(), context.release
    truth, records = context.origin.read(release, piece.partition)
    require_one_pattern(truth)
    protected = suppress_counts(
        release,
        truth,
        context.options,
        records=records,
        tables=context.origin.tables,
        on_progress=tick,
    )
    unit = truth.geounits.filter(pl.col("level") == release.geography.unit.name)
    people = int(unit["population"].sum())
    sums = sum_errors(release, truth, protected)
    frames = (tidy_counts(truth, protected), sums)
    suppressed = protected["count"].null_count()
    context.staging.write(
        piece,
        dict(zip(SUPPRESS.folders, frames, strict=True)),
        totals={
            "units": len(unit),
            "people": people,
            "cells": int((protected["true"] > 0).sum()),
            "suppressed": suppressed,
            "primary": int(protected["primary"].sum()),
        },
        started=started,
    )
