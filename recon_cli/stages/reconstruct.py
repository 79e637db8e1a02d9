"""`recon reconstruct`: ``tables/`` and ``geounits/`` → ``microdata/`` and ``blocks/``."""

from __future__ import annotations

from recon_cli.config import Reconstruct
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import RECONSTRUCT
from recon_cli.stages.selection import select
from recon_cli.store import Folder
from recon_cli.store.pieces import read_pieces
from recon_cli.store.published import has_statements, open_published, read_coverage


def reconstruct(run: Run) -> StageOutcome:
    """Reconstruct the person records of every partition, and verify them.

    Raises:
        ConfigError: A table is unknown or not published.
        StageError: ``tables/`` is missing or damaged, or the work folder is in use.
        ContradictionError: No records have the published counts.
        VerificationError: The records do not reproduce a published count.
        SolverError: A solver failed, or a worker died.
    """
    config = run.config.section(Reconstruct)
    seed = run.config.top.seed if config.seed is None else config.seed
    tables, geounits = open_published(run.work, run.release)
    coverage = read_coverage(tables, run.release)
    selection = select(run.release, config.tables, coverage)
    if selection.unpublished:
        run.reporter.note(f"reconstruct: not published: {', '.join(selection.unpublished)}")
    recipe = run.recipe(
        RECONSTRUCT,
        {"tables": [table.name for table in selection.tables], "verify": config.verify},
        seed=seed,
        shared=shared_digests(tables),
        partitions=input_digests(tables, geounits),
    )
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(RECONSTRUCT, stage.current, skipped=True)
        from recon_cli.model.interval_plan import make_interval_plan  # noqa: PLC0415
        from recon_cli.model.planning import make_plan  # noqa: PLC0415 - loads the solver
        from recon_cli.pipeline.quarantine import QuarantineOnDeath  # noqa: PLC0415
        from recon_cli.stages import reconstruct_pieces as worker  # noqa: PLC0415

        def prepare() -> worker.ReconstructionContext:
            make = make_interval_plan if has_statements(tables) else make_plan
            plan = make(run.release, selection.tables, coverage)
            return worker.ReconstructionContext(
                plan, run.work, stage.staging, seed, verify=config.verify
            )

        pieces = read_pieces(geounits)
        on_death = QuarantineOnDeath("reconstruct", stage.staging, run.reporter)
        results = run.map_unfinished(stage, worker.reconstruct_piece, prepare, pieces, on_death)
        manifest = stage.publish(
            pieces,
            notes={
                "tables": [table.name for table in selection.tables],
                "unpublished_tables": list(selection.unpublished),
                "verified": config.verify,
            },
            usages=results.usages,
            workers=results.workers,
        )
        return StageOutcome(RECONSTRUCT, manifest)


def shared_digests(tables: Folder) -> dict[str, str]:
    """Digests of what all partitions of ``tables`` share, coverage and laws; for a recipe."""
    return {f"tables/{name}": file.sha256 for name, file in tables.manifest.extras.items()}


def input_digests(*folders: Folder) -> dict[str, dict[str, str]]:
    """Partition → digests of its data in each of ``folders``; for a recipe."""
    return {
        name: {folder.path.name: folder.digest(name) for folder in folders}
        for name in folders[0].partitions
    }
