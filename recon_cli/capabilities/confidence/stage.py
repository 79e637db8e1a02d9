"""Run `recon confidence`: ``microdata/`` and ``tables/`` → ``confidence/``."""

from __future__ import annotations

from recon_cli.capabilities.confidence import CONFIDENCE
from recon_cli.capabilities.confidence.options import Confidence
from recon_cli.capabilities.reconstruct.reconstructed import open_reconstructed
from recon_cli.pipeline.opened_stage import QuestionStage
from recon_cli.pipeline.run import Run


def open_stage(run: Run) -> QuestionStage:
    """Open the stage that measures confidence."""
    config = run.section(Confidence)
    seed = config.fixed_seed
    made = open_reconstructed(run)
    made.require_exact(
        CONFIDENCE.command, "leave the section out: there `certain` and claims are what is known"
    )
    return QuestionStage(
        run,
        made.recipe(run, CONFIDENCE, config.model_dump(exclude={"seed"}), seed),
        made.geounits,
        arguments=lambda: {
            "release": run.release,
            "tables": made.used,
            "coverage": made.coverage,
            "options": config,
        },
        records=made.records,
        notes={"tables": made.table_names, "solutions": config.solutions},
    )
