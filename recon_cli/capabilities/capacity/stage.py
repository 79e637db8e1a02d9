"""Run `recon plan capacity`: ``tables/`` and ``geounits/`` → ``capacity/``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recon_cli.capabilities.capacity import CAPACITY
from recon_cli.capabilities.capacity.options import Capacity
from recon_cli.errors import SourceError
from recon_cli.pipeline.opened_stage import QuestionStage
from recon_cli.pipeline.published_input import PublishedInput
from recon_cli.pipeline.run import Run
from recon_cli.stage import undisturbed
from recon_cli.store import Staging


def open_stage(run: Run) -> QuestionStage:
    """Open the stage that measures capacity and noise needed.

    Raises:
        SourceError: The counts are protected already.
    """
    config = run.section(Capacity)
    seed = config.fixed_seed
    given = PublishedInput.of(run, config.tables)
    if not given.is_exact:
        raise SourceError(
            "recon plan capacity needs exact counts; some of these are suppressed, rounded or "
            "perturbed"
        )
    settings = config.model_dump(mode="json", exclude={"seed", "tables"})

    def write_assessment(staging: Staging) -> Mapping[str, Any]:
        with undisturbed():
            from recon_cli.capabilities.capacity import publish

        return publish.write_assessment(
            staging,
            run.release,
            given.used,
            given.coverage,
            geounits=given.geounits,
            config=config,
            seed=seed,
        )

    return QuestionStage(
        run,
        given.recipe(run, CAPACITY, settings, seed),
        given.geounits,
        arguments=lambda: given.tables_in_use,
        notes={"tables": given.table_names},
        beside=write_assessment,
    )
