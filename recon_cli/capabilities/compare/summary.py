"""Summary of `recon compare`."""

from __future__ import annotations

from collections.abc import Iterator

from recon_cli.capabilities.compare import PAGE
from recon_cli.capabilities.findings.checked import ALONE
from recon_cli.console.output import Line, seconds
from recon_cli.pipeline.run import Run, StageOutcome


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    manifest = outcome.manifest
    yield from [
        *(("", sentence.replace("**", "")) for sentence in manifest.notes["summary"]),
        ("proven by", ALONE),
        ("page", str(run.work / "comparison" / PAGE)),
        ("seconds", seconds(manifest.run.wall_seconds)),
    ]
