"""Print the summary of `recon prove`."""

from __future__ import annotations

import click

from recon_cli.capabilities.findings.checked import checked_sentence
from recon_cli.console.output import Fact, seconds, share, show, title_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural


def print_summary(run: Run, outcome: StageOutcome) -> None:  # noqa: ARG001
    """Print the summary of a finished stage."""
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
    show(title_of(outcome), facts)
    click.echo(f"  {checked_sentence(manifest)}")
