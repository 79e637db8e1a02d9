"""Rounded counts: law and keys."""

from __future__ import annotations

from recon_cli.capabilities.protect.counts import Keys
from recon_cli.capabilities.protect.counts_stage import PerturbedCountsStage
from recon_cli.capabilities.round.options import Round
from recon_cli.pipeline.run import Run
from recon_cli.statement import Law, parse_law


class RoundStage(PerturbedCountsStage[Round]):
    """The stage of `recon protect round`."""

    section = Round

    @property
    def law(self) -> Law:
        return parse_law({"rounded": {"base": self.config.base, "how": self.config.how}})

    @property
    def keys(self) -> Keys:
        return self.config.keys if self.config.how == "random" else "records"


def open_stage(run: Run) -> RoundStage:
    """Open the protection of a run."""
    return RoundStage(run)
