"""Run `recon solvar`: ``microdata/`` and ``tables/`` → ``solvar/`` and the folders beside it."""

from __future__ import annotations

from recon_cli.capabilities.reconstruct.reconstructed import open_reconstructed
from recon_cli.capabilities.solvar import SOLVAR
from recon_cli.capabilities.solvar.options import Solvar
from recon_cli.pipeline.opened_stage import QuestionStage
from recon_cli.pipeline.run import Run
from recon_cli.store.pieces import read_pieces

#: People that are worth a process, by mode: each takes 0.1 ms, or 2 ms.
_GRAINS = {"relaxed": 20_000, "exact": 2_000}


def open_stage(run: Run) -> QuestionStage:
    """Open the stage that measures the solution variability of every partition."""
    config = run.section(Solvar)
    seed = config.fixed_seed
    made = open_reconstructed(run)
    made.require_bounded("recon solvar")
    people = sum(piece.people for piece in read_pieces(made.geounits))
    keys = run.release.attack
    settings = config.model_dump(exclude={"seed"})
    settings["uniques"] = None if keys is None else list(keys.binned)
    return QuestionStage(
        run,
        made.recipe(run, SOLVAR, settings, seed),
        made.geounits,
        arguments=lambda: {
            **made.tables_in_use,
            "is_exact": made.is_exact,
            "options": config,
            "people": people,
        },
        records=made.records,
        notes={"tables": made.table_names, "mode": config.mode},
        grain=_GRAINS[config.mode],
    )
