"""`recon confidence`: ``microdata/`` and ``tables/`` → ``confidence/``."""

from __future__ import annotations

from recon_cli.config.sections.confidence import Confidence
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import CONFIDENCE
from recon_cli.stages.reconstructed import open_reconstructed
from recon_cli.store.pieces import read_pieces


def confidence(run: Run) -> StageOutcome:
    """See how often each record appears among sampled solutions.

    Raises:
        ConfigError: The config is wrong.
        SourceError: The counts are not exact.
        StageError: ``tables/`` or ``microdata/`` is missing, damaged, or of another release.
        SolverError: Two engines disagree, or a worker died.
    """
    config = run.config.section(Confidence)
    seed = run.config.top.seed if config.seed is None else config.seed
    made = open_reconstructed(run)
    made.require_exact(
        CONFIDENCE.command, "leave the section out: there `certain` and claims are what is known"
    )
    recipe = made.recipe(run, CONFIDENCE, config.model_dump(exclude={"seed"}), seed)
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(CONFIDENCE, stage.current, skipped=True)
        from recon_cli.attack.confidence import ConfidenceOptions  # noqa: PLC0415 - loads the solver
        from recon_cli.attack.variability.partition import make_variability_plan  # noqa: PLC0415
        from recon_cli.pipeline.quarantine import QuarantineOnDeath  # noqa: PLC0415
        from recon_cli.stages import confidence_pieces as worker  # noqa: PLC0415

        pieces = read_pieces(made.geounits)
        options = ConfidenceOptions(seed, config.solutions)

        def prepare() -> worker.ConfidenceContext:
            plan = make_variability_plan(run.release, made.used, made.coverage, "exact")
            return worker.ConfidenceContext(
                plan, run.work, stage.staging, made.microdata, made.blocks, options
            )

        on_death = QuarantineOnDeath("confidence", stage.staging, run.reporter)
        results = run.map_unfinished(stage, worker.measure_piece, prepare, pieces, on_death)
        manifest = stage.publish(
            pieces,
            notes={"tables": made.table_names, "solutions": config.solutions},
            usages=results.usages,
            workers=results.workers,
        )
        return StageOutcome(CONFIDENCE, manifest)
