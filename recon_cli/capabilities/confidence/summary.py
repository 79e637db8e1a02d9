"""Print the summary of `recon confidence`."""

from __future__ import annotations

from recon_cli.capabilities.confidence.section import read_tenths
from recon_cli.console.output import Fact, seconds, share, show, show_table, title_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest, people = outcome.manifest, plural(run.release.record)
    totals = manifest.totals
    facts: list[Fact] = [
        (people, f"{totals['people']:,}"),
        ("certain", share(totals["certain"], totals["people"])),
        ("not sampled", f"{totals['not_sampled']:,}"),
        ("solutions", f"{manifest.notes['solutions']}"),
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
    ]
    show(title_of(outcome), facts)
    show_table(read_tenths(run.work), ["tenth of confidence", "records"])
