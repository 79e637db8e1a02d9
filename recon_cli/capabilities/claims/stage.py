"""Run `recon claims`: ``microdata/`` and ``tables/`` → ``claims/`` and the folders beside it."""

from __future__ import annotations

from recon_cli.capabilities.claims import CLAIMS
from recon_cli.capabilities.claims.groups import claim_columns, require_columns, unasked_features
from recon_cli.capabilities.claims.options import Claims
from recon_cli.capabilities.reconstruct.reconstructed import open_reconstructed
from recon_cli.pipeline.opened_stage import QuestionStage
from recon_cli.pipeline.run import Run
from recon_cli.schema import Release
from recon_cli.stage import undisturbed
from recon_cli.store import Folder

#: People that are worth a process: each takes less than a millisecond.
_GRAIN = 3_000


def open_stage(run: Run) -> QuestionStage:
    """Open the stage that verifies the claims of every partition."""
    config = run.section(Claims)
    seed = config.fixed_seed
    made = open_reconstructed(run)
    made.require_bounded("recon claims")
    require_columns(made.release, made.used, made.coverage)
    return QuestionStage(
        run,
        made.recipe(run, CLAIMS, config.model_dump(exclude={"seed"}), seed),
        made.geounits,
        arguments=lambda: {
            **made.tables_in_use,
            "is_exact": made.is_exact,
            "options": config,
            "read_records": made.microdata.parts,
            "laws": _laws(made.tables, made.release),
        },
        records=made.records,
        notes={
            "tables": made.table_names,
            "columns": list(claim_columns(made.release, made.used, made.coverage)),
            "unasked": list(unasked_features(made.release, made.used, made.coverage)),
            "share": config.share,
        },
        grain=_GRAIN,
    )


def _laws(tables: Folder, release: Release) -> tuple[str, ...]:
    with undisturbed():
        from recon_cli.store.protection import laws_of
    return laws_of(tables, release)
