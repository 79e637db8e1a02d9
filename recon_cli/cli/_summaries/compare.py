"""`recon compare`."""

from __future__ import annotations

from recon_cli.cli._output import seconds, show, title_of
from recon_cli.evaluate.checked import ALONE
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.stages.compare import PAGE


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest = outcome.manifest
    show(
        title_of(outcome),
        [
            *(("", sentence.replace("**", "")) for sentence in manifest.notes["summary"]),
            ("proven by", ALONE),
            ("page", str(run.work / "comparison" / PAGE)),
            ("seconds", seconds(manifest.run.wall_seconds)),
        ],
    )
