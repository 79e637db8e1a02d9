"""`recon audit`: ``tables/`` and ``geounits/`` → ``audit/``."""

from __future__ import annotations

from recon_cli.config.sections.audit import Audit
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import AUDIT
from recon_cli.stages.reconstruct import input_digests, shared_digests
from recon_cli.stages.selection import select
from recon_cli.store.pieces import read_pieces
from recon_cli.store.published import open_published, read_coverage

#: People that are worth a process: each takes less than a millisecond.
_GRAIN = 3_000


def audit(run: Run) -> StageOutcome:
    """Find the feasibility interval of every count that is not published exactly, or left out.

    Raises:
        ConfigError: A table is unknown or not published.
        StageError: ``tables/`` is missing or damaged, or the work folder is in use.
        ContradictionError: No true counts fit the statements.
        SolverError: A solver failed, two engines disagree, or a worker died.
    """
    config = run.config.section(Audit)
    seed = run.seed_of(config)
    tables, geounits = open_published(run.work, run.release)
    coverage = read_coverage(tables, run.release)
    selection = select(run.release, config.tables, coverage)
    recipe = run.recipe(
        AUDIT,
        {
            **config.model_dump(exclude={"seed"}),
            "tables": [table.name for table in selection.tables],
        },
        seed=seed,
        shared=shared_digests(tables),
        partitions=input_digests(tables, geounits),
    )
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(AUDIT, stage.current, skipped=True)
        from recon_cli.attack.audit.left_out import (  # noqa: PLC0415 - loads polars
            coverage_with_left_out,
        )
        from recon_cli.attack.audit.partition import AuditOptions  # noqa: PLC0415
        from recon_cli.model.interval_plan import make_interval_plan  # noqa: PLC0415
        from recon_cli.pipeline.quarantine import QuarantineOnDeath  # noqa: PLC0415
        from recon_cli.stages import audit_pieces as worker  # noqa: PLC0415

        def prepare() -> worker.AuditContext:
            whole = coverage_with_left_out(run.release, coverage)
            plan = make_interval_plan(run.release, selection.tables, whole)
            options = AuditOptions(seed, config.region_seconds, config.safety)
            return worker.AuditContext(plan, run.work, stage.staging, options)

        pieces = read_pieces(geounits)
        on_death = QuarantineOnDeath("audit", stage.staging, run.reporter)
        results = run.map_unfinished(
            stage, worker.audit_piece, prepare, pieces, on_death, grain=_GRAIN
        )
        manifest = stage.publish(
            pieces,
            notes={
                "tables": [table.name for table in selection.tables],
                "safety": config.safety,
            },
            usages=results.usages,
            workers=results.workers,
        )
        if not manifest.totals["cells"]:
            run.reporter.note(
                "audit: no count is left out, or declared to be suppressed, rounded or perturbed "
                "(`ingest.protection`): there is none to audit"
            )
        return StageOutcome(AUDIT, manifest)
