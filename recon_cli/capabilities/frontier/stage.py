"""Run `recon plan frontier`: a release schema and weights → ``frontier/``."""

from __future__ import annotations

from recon_cli.capabilities.frontier import FRONTIER
from recon_cli.capabilities.frontier.options import Frontier
from recon_cli.pipeline.opened_stage import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.stage import undisturbed
from recon_cli.store import Manifest, Transaction


def open_stage(run: Run) -> MadeStage:
    """Open the stage that computes what noise would cost the users of each table."""
    config = run.config.section(Frontier)
    config.check(run.release)
    recipe = run.recipe(FRONTIER, config.model_dump(mode="json"))

    def make(stage: Transaction) -> Manifest:
        with undisturbed():
            from recon_cli.capabilities.frontier.publish import write

        return write(run, config, stage)

    return MadeStage(recipe, make)
