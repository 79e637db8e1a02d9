"""Run `recon audit`: ``tables/`` and ``geounits/`` → ``audit/``."""

from __future__ import annotations

from typing import Any

from recon_cli.capabilities.audit import AUDIT
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.reconstruct.stage import input_digests, shared_digests
from recon_cli.coverage import select
from recon_cli.pipeline.opened_stage import MadeStage, QuestionStage
from recon_cli.pipeline.run import Run
from recon_cli.stage import undisturbed
from recon_cli.store import Manifest, Transaction
from recon_cli.store.published import open_published, read_coverage

#: People that are worth a process: each takes less than a millisecond.
_GRAIN = 3_000


def open_stage(run: Run) -> MadeStage:
    """Open the stage that audits every omitted or protected count.

    Raises:
        ConfigError: A table is unknown or not published.
    """
    config = run.section(Audit)
    seed = config.fixed_seed
    tables, geounits = open_published(run.work, run.release)
    coverage = read_coverage(tables, run.release)
    selection = select(run.release, config.tables, coverage)
    recipe = run.recipe(
        AUDIT,
        {
            **config.model_dump(exclude={"seed"}),
            "tables": [table.name for table in selection.tables],
        },
        seed=seed,
        shared=shared_digests(tables),
        partitions=input_digests(tables, geounits),
    )
    question = QuestionStage(
        run,
        recipe,
        geounits,
        question=_question,
        arguments=lambda: {
            "release": run.release,
            "tables": selection.tables,
            "coverage": coverage,
            "options": config,
        },
        notes={"tables": [table.name for table in selection.tables], "safety": config.safety},
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


def _question() -> type[Any]:
    with undisturbed():
        from recon_cli.capabilities.audit.question import AuditQuestion
    return AuditQuestion
