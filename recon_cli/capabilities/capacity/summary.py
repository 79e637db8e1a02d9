"""Summary of `recon capacity`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import polars as pl

from recon_cli.capabilities.capacity import CAPACITY
from recon_cli.capabilities.capacity import PAGE as CAPACITY_PAGE
from recon_cli.capabilities.findings.result_tables import read_table
from recon_cli.console.output import Line, seconds, show_table
from recon_cli.pipeline.run import Run, StageOutcome


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    manifest = outcome.manifest
    yield from [
        *(("", sentence.replace("**", "")) for sentence in manifest.notes["summary"]),
        ("page", str(run.work / "capacity" / CAPACITY_PAGE)),
        ("seconds", seconds(manifest.run.wall_seconds)),
    ]
    noise = read_table(run.work, CAPACITY, "noise").with_columns(
        (pl.col("parameter") * 100).round().cast(pl.Int64)
    )
    yield partial(show_table, noise, ["noise against", "counts", "at most, %", "sd"])
