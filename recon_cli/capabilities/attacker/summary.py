"""Print the summary of `recon attacker`."""

from __future__ import annotations

from recon_cli.console.output import seconds, share, show, title_of
from recon_cli.pipeline.run import Run, StageOutcome


def print_summary(_run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    totals, truths = outcome.manifest.totals, outcome.manifest.statuses
    count = totals["comrcl"]
    show(
        title_of(outcome),
        [
            ("COMRCL records", f"{count:,}"),
            *((f"  {name}", share(truths[name], count)) for name in sorted(truths)),
            ("CEF_atkr records", f"{totals['cef_atkr']:,}"),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"])),
        ],
    )
