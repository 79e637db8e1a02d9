"""Print the summary of `recon report`."""

from __future__ import annotations

import os

from recon_cli.capabilities.report.stage import page_of
from recon_cli.console.output import (
    Fact,
    seconds,
    show,
    title_of,
)
from recon_cli.pipeline.run import Run, StageOutcome


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the headline and the path of the page."""
    notes = outcome.manifest.notes
    facts: list[Fact] = [("headline", sentence) for sentence in notes["headline"]]
    facts += [("left out", gap) for gap in notes["missing"]]
    facts += [
        ("page", os.path.normpath(page_of(run))),
        ("seconds", seconds(outcome.manifest.run.wall_seconds)),
    ]
    show(title_of(outcome), facts)
