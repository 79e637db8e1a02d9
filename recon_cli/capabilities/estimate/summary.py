"""Summary of `recon estimate`."""

from __future__ import annotations

from collections.abc import Iterator

from recon_cli.console.output import Line, seconds
from recon_cli.pipeline.run import Run, StageOutcome


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    totals = outcome.manifest.totals
    yield from [
        (f"{run.release.geography.unit.name}s", f"{totals['units']:,}"),
        ("counts", f"{totals['cells']:,}"),
        ("level of the intervals", f"{outcome.manifest.notes['level']:g}%"),
        ("seconds", seconds(outcome.manifest.run.wall_seconds, 0)),
    ]
