"""`recon contributions`: ``tables/`` and ``geounits/`` → ``contributions/``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recon_cli.config.sections.contributions import Contributions
from recon_cli.model.selection import select
from recon_cli.pipeline.declaration import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import CONTRIBUTIONS
from recon_cli.store import Manifest, Transaction, open_folder
from recon_cli.store.published import open_published, read_coverage

if TYPE_CHECKING:
    import polars as pl

RESULT = "contributions"


def contributions(run: Run) -> MadeStage:
    """Attack the publication without each of its parts.

    Raises:
        ConfigError: A table is unknown or not published, or no part tells anything apart.
        StageError: ``tables/`` is missing or damaged, or the work folder is in use.
        ContradictionError: No records have the published counts.
        SolverError: A solver could not decide, or two engines disagree.
        WorkerError: A worker died.
    """
    config = run.config.section(Contributions)
    seed = run.seed_of(config)
    tables, geounits = open_published(run.work, run.release)
    coverage = read_coverage(tables, run.release)
    selection = select(run.release, config.tables, coverage)
    settings = config.model_dump(mode="json", exclude={"seed", "tables"})
    recipe = run.recipe(
        CONTRIBUTIONS,
        {**settings, "tables": [table.name for table in selection.tables]},
        seed=seed,
        shared={folder.path.name: folder.manifest.key for folder in (tables, geounits)},
    )

    def make(stage: Transaction) -> Manifest:
        from recon_cli.stages import contributions_sets as work  # noqa: PLC0415 - loads the solver

        found = work.attack_without(run, config, selection.tables, coverage, seed)
        for name, data in found.files(RESULT).items():
            stage.staging.write_extra("contributions", name, data)
        return stage.publish(
            [],
            notes={
                "tables": [table.name for table in selection.tables],
                "parts": config.parts,
                "orders": config.orders,
                "attacks": found.attacks,
            },
            usages=found.usages,
            workers=found.workers,
        )

    return MadeStage(recipe, make)


def read_contributions(work: Path) -> pl.DataFrame:
    """The ranked list: see `recon_cli.attack.contributions.ranking.CONTRIBUTIONS`.

    Raises:
        StageError: ``contributions/`` is missing or damaged.
    """
    import polars as pl  # noqa: PLC0415 - slow to load, and not needed to declare a stage

    folder = open_folder(work, CONTRIBUTIONS, "contributions")
    return pl.read_parquet(folder.read_extra(f"{RESULT}.parquet"))
