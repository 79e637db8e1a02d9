"""`recon solvar`: ``microdata/`` and ``tables/`` → ``solvar/`` and what belongs to it."""

from __future__ import annotations

from recon_cli.config.sections.solvar import Solvar
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import SOLVAR
from recon_cli.stages.reconstructed import open_reconstructed
from recon_cli.store.pieces import read_pieces
from recon_cli.store.published import has_statements

#: People that are worth a process, by mode: each takes 0.1 ms, or 2 ms.
_GRAINS = {"relaxed": 20_000, "exact": 2_000}


def solvar(run: Run) -> StageOutcome:
    """Measure the solution variability of every partition.

    Raises:
        ConfigError: The config is wrong.
        StageError: ``tables/`` or ``microdata/`` is missing, damaged, or of another release.
        SolverError: Two engines disagree (the model is kept in the work folder), or a worker
            died.
    """
    config = run.config.section(Solvar)
    seed = run.config.top.seed if config.seed is None else config.seed
    made = open_reconstructed(run)
    made.require_bounded("recon solvar")
    recipe = made.recipe(run, SOLVAR, config.model_dump(exclude={"seed"}), seed)
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(SOLVAR, stage.current, skipped=True)
        from recon_cli.attack.variability.partition import (  # noqa: PLC0415 - loads the solver
            VariabilityOptions,
            make_variability_plan,
        )
        from recon_cli.pipeline.quarantine import QuarantineOnDeath  # noqa: PLC0415
        from recon_cli.stages import solvar_pieces as worker  # noqa: PLC0415

        pieces = read_pieces(made.geounits)
        is_exact = not has_statements(made.tables)
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
            plan = make_variability_plan(
                made.release, made.used, made.coverage, config.mode, is_exact=is_exact
            )
            return worker.VariabilityContext(
                plan, run.work, stage.staging, made.microdata, made.blocks, options
            )

        on_death = QuarantineOnDeath("solvar", stage.staging, run.reporter)
        results = run.map_unfinished(
            stage, worker.measure_piece, prepare, pieces, on_death, grain=_GRAINS[config.mode]
        )
        worker.write_size_tables(stage.staging, made.tables.partitions, seed)
        manifest = stage.publish(
            pieces,
            notes={"tables": made.table_names, "mode": config.mode},
            usages=results.usages,
            workers=results.workers,
        )
        return StageOutcome(SOLVAR, manifest)
