"""`recon solvar`: ``microdata/`` and ``tables/`` → ``solvar/`` and what belongs to it."""

from __future__ import annotations

from recon_cli.config.sections.solvar import Solvar
from recon_cli.errors import StageError
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import RECONSTRUCT, SOLVAR
from recon_cli.stages.reconstruct import input_digests, shared_digests
from recon_cli.stages.selection import select
from recon_cli.store import open_folder
from recon_cli.store.pieces import read_pieces
from recon_cli.store.published import open_published, read_coverage


def solvar(run: Run) -> StageOutcome:
    """Measure the solution variability of every partition.

    Raises:
        ConfigError: The config is wrong.
        StageError: ``tables/`` or ``microdata/`` is missing, damaged, or of another release.
        SolverError: Two engines disagree (the model is kept in the work folder), or a worker
            died.
    """
    config = run.config.section(Solvar)
    tables, geounits = open_published(run.work, run.release)
    microdata, blocks = (open_folder(run.work, RECONSTRUCT, name) for name in RECONSTRUCT.folders)
    if microdata.partitions != tables.partitions:
        raise StageError(
            f"microdata/ and tables/ in {run.work} have different partitions; "
            f"run `{RECONSTRUCT.command}` again"
        )
    seed = run.config.top.seed if config.seed is None else config.seed
    coverage = read_coverage(tables, run.release)
    selection = select(run.release, tuple(microdata.manifest.notes["tables"]), coverage)
    settings = config.model_dump(exclude={"seed"})
    recipe = run.recipe(
        SOLVAR,
        {**settings, "tables": [table.name for table in selection.tables]},
        seed=seed,
        shared=shared_digests(tables),
        partitions=input_digests(tables, geounits, microdata, blocks),
    )
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(SOLVAR, stage.current, skipped=True)
        from recon_cli.attack.variability.partition import (  # noqa: PLC0415 - loads the solver
            VariabilityOptions,
            make_variability_plan,
        )
        from recon_cli.pipeline.quarantine import QuarantineOnDeath  # noqa: PLC0415
        from recon_cli.stages import solvar_pieces as worker  # noqa: PLC0415

        pieces = read_pieces(geounits)
        people = sum(piece.people for piece in pieces)
        options = VariabilityOptions(
            config.mode,
            seed,
            config.unit_seconds,
            config.diameter,
            None if config.total_seconds is None else config.total_seconds / max(people, 1),
            config.intervals,
        )

        def prepare() -> worker.VariabilityContext:
            plan = make_variability_plan(run.release, selection.tables, coverage, config.mode)
            return worker.VariabilityContext(
                plan, run.work, stage.staging, microdata, blocks, options
            )

        on_death = QuarantineOnDeath("solvar", stage.staging, run.reporter)
        results = run.map_unfinished(stage, worker.measure_piece, prepare, pieces, on_death)
        worker.write_size_tables(stage.staging, tables.partitions, seed)
        manifest = stage.publish(
            pieces,
            notes={"tables": [table.name for table in selection.tables], "mode": config.mode},
            usages=results.usages,
            workers=results.workers,
        )
        return StageOutcome(SOLVAR, manifest)
