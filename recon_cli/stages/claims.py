"""`recon claims`: ``microdata/`` and ``tables/`` → ``claims/`` and what belongs to it."""

from __future__ import annotations

from recon_cli.attack.claims.columns import claim_columns, require_columns
from recon_cli.config.sections.claims import Claims
from recon_cli.errors import ConfigError
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import CLAIMS
from recon_cli.stages.reconstructed import open_reconstructed
from recon_cli.store.pieces import read_pieces
from recon_cli.store.published import has_statements

#: People that are worth a process: each takes less than a millisecond.
_GRAIN = 3_000


def claims(run: Run) -> StageOutcome:
    """Find the verified claims of every partition.

    Raises:
        ConfigError: The config is wrong.
        StageError: ``tables/`` or ``microdata/`` is missing, damaged, or of another release.
        SolverError: Two engines disagree (the model is kept in the work folder), or a worker
            died.
    """
    config = run.config.section(Claims)
    seed = run.config.top.seed if config.seed is None else config.seed
    made = open_reconstructed(run)
    made.require_bounded("recon claims")
    require_columns(made.release, made.used, made.coverage)
    is_exact = not has_statements(made.tables)
    if config.certificates and not is_exact:
        raise ConfigError(
            "claims.certificates: weighted cells prove claims of exact counts only, and some of "
            "these are published under a law; leave the key out"
        )
    recipe = made.recipe(run, CLAIMS, config.model_dump(exclude={"seed"}), seed)
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(CLAIMS, stage.current, skipped=True)
        from recon_cli.attack.claims.partition import (  # noqa: PLC0415 - loads the solver
            ClaimOptions,
            make_claim_plans,
        )
        from recon_cli.pipeline.quarantine import QuarantineOnDeath  # noqa: PLC0415
        from recon_cli.stages import claims_pieces as worker  # noqa: PLC0415
        from recon_cli.store.protection import laws_of  # noqa: PLC0415 - loads numpy

        pieces = read_pieces(made.geounits)
        laws = laws_of(made.tables, made.release)
        columns = claim_columns(made.release, made.used, made.coverage)
        options = ClaimOptions(seed, config.unit_seconds, config.share)

        def prepare() -> worker.ClaimsContext:
            plans = make_claim_plans(made.release, made.used, made.coverage, is_exact=is_exact)
            everybody = worker.count_everybody(made.release, made.microdata, columns)
            return worker.ClaimsContext(
                plans.assuming,
                run.work,
                stage.staging,
                made.microdata,
                made.blocks,
                worker.PlannedClaims(plans, options, everybody, config.certificates, laws),
            )

        on_death = QuarantineOnDeath("claims", stage.staging, run.reporter)
        results = run.map_unfinished(
            stage, worker.claim_piece, prepare, pieces, on_death, grain=_GRAIN
        )
        manifest = stage.publish(
            pieces,
            notes={
                "tables": made.table_names,
                "columns": list(columns),
                "share": config.share,
                "laws": list(laws),
            },
            usages=results.usages,
            workers=results.workers,
        )
        return StageOutcome(CLAIMS, manifest)
