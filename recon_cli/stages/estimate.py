"""`recon estimate`: ``tables/`` of noisy counts → ``estimates/``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from recon_cli.config.sections.estimate import Estimate
from recon_cli.execute import OnProgress
from recon_cli.pipeline.run import Run, StageOutcome, pieces_of
from recon_cli.pipeline.stages import ESTIMATE
from recon_cli.schema import Release
from recon_cli.stages.reconstruct import input_digests, shared_digests
from recon_cli.store import Piece, Staging
from recon_cli.store.published import open_published


def estimate(run: Run) -> StageOutcome:
    """Estimate all noisy counts from all measurements together.

    Raises:
        SourceError: Some counts have no noise, or too much is told apart.
        StageError: ``tables/`` is missing or damaged, or the work folder is in use.
        WorkerError: A worker died.
    """
    config = run.config.section(Estimate)
    tables, geounits = open_published(run.work, run.release)
    recipe = run.recipe(
        ESTIMATE,
        {"level": config.level},
        shared=shared_digests(tables),
        partitions=input_digests(tables, geounits),
    )
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(ESTIMATE, stage.current, skipped=True)
        pieces = pieces_of(geounits.manifest)
        context = EstimateContext(run.release, run.work, config.level, stage.staging)
        results = run.map_unfinished(stage, estimate_partition, lambda: context, pieces)
        manifest = stage.publish(
            pieces,
            notes={"level": config.level},
            usages=results.usages,
            workers=results.workers,
        )
        return StageOutcome(ESTIMATE, manifest)


@dataclass(frozen=True)
class EstimateContext:
    """What all partitions share."""

    release: Release
    work: Path
    level: float
    staging: Staging


def estimate_partition(context: EstimateContext, piece: Piece, tick: OnProgress) -> None:
    """Estimate and write one partition; runs in a worker."""
    from recon_cli.attack.measurements.measurements import read_measurements  # noqa: PLC0415
    from recon_cli.attack.measurements.tree_estimates import estimate_counts  # noqa: PLC0415
    from recon_cli.store import read_published  # noqa: PLC0415 - loads polars

    started = time.perf_counter()
    published = read_published(context.work, context.release, piece.partition)
    measurements = read_measurements(context.release, published)
    rows = estimate_counts(measurements, context.level)
    units = len(measurements.hierarchy.geoids[-1])
    context.staging.write(
        piece, {"estimates": rows}, totals={"units": units, "cells": len(rows)}, started=started
    )
    tick(units, 0)
