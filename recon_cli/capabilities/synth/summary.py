"""Summary of `recon synth`."""

from __future__ import annotations

from collections.abc import Iterator

from recon_cli.console.output import Line, seconds, share
from recon_cli.pipeline.run import Run, StageOutcome


def summary(_run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    totals, statuses = outcome.manifest.totals, outcome.manifest.statuses
    count = totals["people"]
    yield from [
        ("people", f"{count:,}"),
        ("  in group quarters", share(totals["in_group_quarters"], count)),
        ("  data-defined", share(totals["data_defined"], count)),
        ("households", f"{totals['households']:,}"),
        ("vacant units", f"{totals['vacant']:,}"),
        ("inhabited blocks", f"{statuses.get('inhabited', 0):,}"),
        ("uninhabited blocks", f"{statuses.get('uninhabited', 0):,}"),
        ("counties", f"{len(outcome.manifest.partitions):,}"),
        ("seconds", seconds(outcome.manifest.run.wall_seconds, count)),
    ]
