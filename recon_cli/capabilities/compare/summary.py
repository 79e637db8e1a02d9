"""Print the summary of `recon compare`."""

from __future__ import annotations

from recon_cli.capabilities.compare import PAGE
from recon_cli.capabilities.findings.checked import ALONE
from recon_cli.console.output import seconds, show, title_of
from recon_cli.pipeline.run import Run, StageOutcome


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
