"""Print the summary of `recon estimate`."""

from __future__ import annotations

from recon_cli.console.output import seconds, show, title_of
from recon_cli.pipeline.run import Run, StageOutcome


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    totals = outcome.manifest.totals
    show(
        title_of(outcome),
        [
            (f"{run.release.geography.unit.name}s", f"{totals['units']:,}"),
            ("counts", f"{totals['cells']:,}"),
            ("level of the intervals", f"{outcome.manifest.notes['level']:g}%"),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, 0)),
        ],
    )
