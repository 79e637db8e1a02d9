"""Single stages of a run, as the runner runs them."""

from __future__ import annotations

from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.run_stages import run_stage
from recon_cli.pipeline.stages import stage_named


def ingest(run: Run) -> StageOutcome:
    return run_stage(stage_named("ingest"), run)


def reconstruct(run: Run) -> StageOutcome:
    return run_stage(stage_named("reconstruct"), run)


def solvar(run: Run) -> StageOutcome:
    return run_stage(stage_named("solvar"), run)


def link(run: Run) -> StageOutcome:
    return run_stage(stage_named("link"), run)


def score(run: Run) -> StageOutcome:
    return run_stage(stage_named("score"), run)
