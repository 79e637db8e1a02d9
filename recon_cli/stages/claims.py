"""`recon claims`: ``microdata/`` and ``tables/`` → ``claims/`` and what belongs to it."""

from __future__ import annotations

from recon_cli.attack.claims.columns import claim_columns
from recon_cli.config.sections.claims import Claims
from recon_cli.errors import StageError
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import CLAIMS, RECONSTRUCT
from recon_cli.stages.reconstruct import input_digests, shared_digests
from recon_cli.stages.selection import select
from recon_cli.store import open_folder
from recon_cli.store.pieces import read_pieces
from recon_cli.store.published import has_statements, open_published, read_coverage


def claims(run: Run) -> StageOutcome:
    """Find the verified claims of every partition.

    Raises:
        ConfigError: The config is wrong.
        StageError: ``tables/`` or ``microdata/`` is missing, damaged, or of another release.
        SolverError: Two engines disagree (the model is kept in the work folder), or a worker
            died.
    """
    config = run.config.section(Claims)
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
        CLAIMS,
        {**settings, "tables": [table.name for table in selection.tables]},
        seed=seed,
        shared=shared_digests(tables),
        partitions=input_digests(tables, geounits, microdata, blocks),
    )
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(CLAIMS, stage.current, skipped=True)
        from recon_cli.attack.claims.partition import (  # noqa: PLC0415 - loads the solver
            ClaimOptions,
            make_claim_plan,
        )
        from recon_cli.pipeline.quarantine import QuarantineOnDeath  # noqa: PLC0415
        from recon_cli.stages import claims_pieces as worker  # noqa: PLC0415

        pieces = read_pieces(geounits)
        options = ClaimOptions(seed, config.unit_seconds, config.share)

        def prepare() -> worker.ClaimsContext:
            is_exact = not has_statements(tables)
            plan = make_claim_plan(run.release, selection.tables, coverage, is_exact=is_exact)
            return worker.ClaimsContext(plan, run.work, stage.staging, microdata, blocks, options)

        on_death = QuarantineOnDeath("claims", stage.staging, run.reporter)
        results = run.map_unfinished(stage, worker.claim_piece, prepare, pieces, on_death)
        manifest = stage.publish(
            pieces,
            notes={
                "tables": [table.name for table in selection.tables],
                "columns": list(claim_columns(run.release, selection.tables, coverage)),
                "share": config.share,
            },
            usages=results.usages,
            workers=results.workers,
        )
        return StageOutcome(CLAIMS, manifest)
