"""Summary of `recon attacker`."""

from __future__ import annotations

from collections.abc import Iterator

from recon_cli.console.output import Line, seconds, share
from recon_cli.pipeline.run import Run, StageOutcome


def summary(_run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    totals, truths = outcome.manifest.totals, outcome.manifest.statuses
    count = totals["comrcl"]
    yield from [
        ("COMRCL records", f"{count:,}"),
        *((f"  {name}", share(truths[name], count)) for name in sorted(truths)),
        ("CEF_atkr records", f"{totals['cef_atkr']:,}"),
        ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"])),
    ]
