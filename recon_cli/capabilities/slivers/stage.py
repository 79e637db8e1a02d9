"""Run `recon slivers`: ``tables/`` and ``geounits/`` → ``slivers/`` and ``sliver_counts/``."""

from __future__ import annotations

from typing import Any

from recon_cli.capabilities.reconstruct.stage import input_digests, shared_digests
from recon_cli.capabilities.slivers import SLIVERS
from recon_cli.capabilities.slivers.options import Slivers
from recon_cli.coverage import select
from recon_cli.pipeline.opened_stage import QuestionStage
from recon_cli.pipeline.run import Run
from recon_cli.stage import undisturbed
from recon_cli.store.published import open_published, read_coverage


def open_stage(run: Run) -> QuestionStage:
    """Open the stage that finds small groups of people by sums and differences of areas.

    Raises:
        ConfigError: A table is unknown or not published.
        StageError: ``tables/`` is missing or damaged.
    """
    config = run.config.section(Slivers)
    tables, geounits = open_published(run.work, run.release)
    selection = select(run.release, config.tables, read_coverage(tables, run.release))
    names = [table.name for table in selection.tables]
    return QuestionStage(
        run,
        run.recipe(
            SLIVERS,
            {"below": config.below, "tables": names},
            shared=shared_digests(tables),
            partitions=input_digests(tables, geounits),
        ),
        geounits,
        question=_question,
        arguments=lambda: {
            "release": run.release,
            "tables": selection.tables,
            "below": config.below,
        },
        notes={"tables": names, "below": config.below},
    )


def _question() -> type[Any]:
    with undisturbed():
        from recon_cli.capabilities.slivers.slivers import SliverQuestion
    return SliverQuestion
