"""Summary of `recon prove`."""

from __future__ import annotations

from collections.abc import Iterator

from recon_cli.capabilities.findings.checked import checked_sentence
from recon_cli.console.output import Fact, Line, seconds, share
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:  # noqa: ARG001
    """Yield the summary lines of a finished stage."""
    manifest = outcome.manifest
    total = manifest.totals["statements"]
    facts: list[Fact] = [
        (status, share(manifest.statuses.get(status, 0), total))
        for status in ("certified", "shown", "confirmed", "open")
    ]
    facts += [
        ("texts", f"{manifest.notes['text_bytes'] / 1000:,.0f} KB"),
        ("seconds", seconds(manifest.run.wall_seconds, total, plural("statement"))),
    ]
    yield from facts
    yield checked_sentence(manifest)
