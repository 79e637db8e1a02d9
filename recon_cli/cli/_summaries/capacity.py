"""`recon capacity`."""

from __future__ import annotations

import polars as pl

from recon_cli.cli._output import seconds, show, show_table, title_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.stages.capacity import PAGE, read_capacity_table


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest = outcome.manifest
    show(
        title_of(outcome),
        [
            *(("", sentence.replace("**", "")) for sentence in manifest.notes["summary"]),
            ("page", str(run.work / "capacity" / PAGE)),
            ("seconds", seconds(manifest.run.wall_seconds)),
        ],
    )
    noise = read_capacity_table(run.work, "noise").with_columns(
        (pl.col("parameter") * 100).round().cast(pl.Int64)
    )
    show_table(noise, ["noise against", "counts", "at most, %", "sd"])
