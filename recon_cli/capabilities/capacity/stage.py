"""Run `recon plan capacity`: ``tables/`` and ``geounits/`` → ``capacity/``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recon_cli.capabilities.capacity import CAPACITY
from recon_cli.capabilities.capacity.options import Capacity
from recon_cli.capabilities.reconstruct.stage import input_digests, shared_digests
from recon_cli.coverage import select
from recon_cli.errors import SourceError
from recon_cli.pipeline.opened_stage import QuestionStage
from recon_cli.pipeline.run import Run
from recon_cli.stage import undisturbed
from recon_cli.store import Staging
from recon_cli.store.published import has_statements, open_published, read_coverage


def open_stage(run: Run) -> QuestionStage:
    """Open the stage that measures capacity and noise needed.

    Raises:
        ConfigError: A table is unknown or not published, or the tables tell too many histogram
            cells apart.
        SourceError: The counts are protected already.
        StageError: ``tables/`` is missing or damaged, or the work folder is in use.
        WorkerError: A worker died.
    """
    config = run.section(Capacity)
    seed = config.fixed_seed
    tables, geounits = open_published(run.work, run.release)
    if has_statements(tables):
        raise SourceError(
            "recon plan capacity needs exact counts; some of these are suppressed, rounded or "
            "perturbed"
        )
    coverage = read_coverage(tables, run.release)
    selection = select(run.release, config.tables, coverage)
    settings = config.model_dump(mode="json", exclude={"seed", "tables"})
    recipe = run.recipe(
        CAPACITY,
        {**settings, "tables": [table.name for table in selection.tables]},
        seed=seed,
        shared=shared_digests(tables),
        partitions=input_digests(tables, geounits),
    )

    given = {"release": run.release, "tables": selection.tables, "coverage": coverage}

    def write_assessment(staging: Staging) -> Mapping[str, Any]:
        with undisturbed():
            from recon_cli.capabilities.capacity import publish

        return publish.write_assessment(
            staging,
            run.release,
            selection.tables,
            coverage,
            geounits=geounits,
            config=config,
            seed=seed,
        )

    return QuestionStage(
        run,
        recipe,
        geounits,
        question=_question,
        arguments=lambda: given,
        notes={"tables": [table.name for table in selection.tables]},
        beside=write_assessment,
    )


def _question() -> type[Any]:
    with undisturbed():
        from recon_cli.capabilities.capacity.question import CapacityQuestion
    return CapacityQuestion
