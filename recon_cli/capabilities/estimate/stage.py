"""Run `recon estimate`: ``tables/`` of noisy counts → ``estimates/``."""

from __future__ import annotations

from recon_cli.capabilities.estimate import ESTIMATE
from recon_cli.capabilities.estimate.options import Estimate
from recon_cli.pipeline.opened_stage import QuestionStage
from recon_cli.pipeline.published_input import input_digests, shared_digests
from recon_cli.pipeline.run import Run, pieces_of
from recon_cli.store.published import open_published


def open_stage(run: Run) -> QuestionStage:
    """Open the stage that estimates all noisy counts from all measurements together."""
    config = run.config.section(Estimate)
    tables, geounits = open_published(run.work, run.release)
    recipe = run.recipe(
        ESTIMATE,
        {"level": config.level},
        shared=shared_digests(tables),
        partitions=input_digests(tables, geounits),
    )
    return QuestionStage(
        run,
        recipe,
        geounits,
        arguments=lambda: {"release": run.release, "level": config.level},
        pieces=lambda: pieces_of(geounits.manifest),
        notes={"level": config.level},
    )
