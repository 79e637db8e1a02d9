"""Run `recon audit`: ``tables/`` and ``geounits/`` → ``audit/``."""

from __future__ import annotations

from recon_cli.capabilities.audit import AUDIT
from recon_cli.capabilities.audit.options import Audit
from recon_cli.pipeline.opened_stage import MadeStage, QuestionStage
from recon_cli.pipeline.published_input import PublishedInput
from recon_cli.pipeline.run import Run
from recon_cli.store import Manifest, Transaction

#: People that are worth a process: each takes less than a millisecond.
_GRAIN = 3_000


def open_stage(run: Run) -> MadeStage:
    """Open the stage that audits every omitted or protected count."""
    config = run.section(Audit)
    given = PublishedInput.of(run, config.tables)
    settings = config.model_dump(exclude={"seed"})
    recipe = given.recipe(run, AUDIT, settings, config.fixed_seed)
    question = QuestionStage(
        run,
        recipe,
        given.geounits,
        arguments=lambda: {
            **given.tables_in_use,
            "options": config,
        },
        notes={"tables": given.table_names, "safety": config.safety},
        grain=_GRAIN,
    )

    def make(stage: Transaction) -> Manifest:
        manifest = question.make(stage)
        if not manifest.totals["cells"]:
            run.reporter.note(
                "audit: no count is left out, or declared to be suppressed, rounded or perturbed "
                "(`ingest.protection`): there is none to audit"
            )
        return manifest

    return MadeStage(recipe, make)
