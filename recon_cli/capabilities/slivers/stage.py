"""Run `recon slivers`: ``tables/`` and ``geounits/`` → ``slivers/`` and ``sliver_counts/``."""

from __future__ import annotations

from recon_cli.capabilities.slivers import SLIVERS
from recon_cli.capabilities.slivers.options import Slivers
from recon_cli.pipeline.opened_stage import QuestionStage
from recon_cli.pipeline.published_input import PublishedInput
from recon_cli.pipeline.run import Run


def open_stage(run: Run) -> QuestionStage:
    """Open the stage that finds small groups of people by sums and differences of areas."""
    config = run.config.section(Slivers)
    given = PublishedInput.of(run, config.tables)
    return QuestionStage(
        run,
        given.recipe(run, SLIVERS, {"below": config.below}),
        given.geounits,
        arguments=lambda: {
            "release": run.release,
            "tables": given.used,
            "below": config.below,
        },
        notes={"tables": given.table_names, "below": config.below},
    )
