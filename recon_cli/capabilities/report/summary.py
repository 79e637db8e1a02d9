"""Summary of `recon report`."""

from __future__ import annotations

import os
from collections.abc import Iterator

from recon_cli.capabilities.report.stage import page_of
from recon_cli.console.output import Fact, Line, seconds
from recon_cli.pipeline.run import Run, StageOutcome


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the headline and the path of the page."""
    notes = outcome.manifest.notes
    facts: list[Fact] = [("headline", sentence) for sentence in notes["headline"]]
    facts += [("left out", gap) for gap in notes["missing"]]
    facts += [
        ("page", os.path.normpath(page_of(run))),
        ("seconds", seconds(outcome.manifest.run.wall_seconds)),
    ]
    yield from facts
