"""Summary of `recon confidence`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from recon_cli.capabilities.confidence.section import read_tenths
from recon_cli.console.output import Line, seconds, share, show_table
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    manifest, people = outcome.manifest, plural(run.release.record)
    totals = manifest.totals
    yield from [
        (people, f"{totals['people']:,}"),
        ("certain", share(totals["certain"], totals["people"])),
        ("not sampled", f"{totals['not_sampled']:,}"),
        ("solutions", f"{manifest.notes['solutions']}"),
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
    ]
    yield partial(show_table, read_tenths(run.work), ["tenth of confidence", "records"])
