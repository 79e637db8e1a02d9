"""Summary of `recon leave_one_out`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import polars as pl

from recon_cli.capabilities.findings.words import words_of_run
from recon_cli.capabilities.leave_one_out.scores import read_differences
from recon_cli.console.output import Line, seconds, share, show_table
from recon_cli.pipeline.run import Run, StageOutcome


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    words = words_of_run(run)
    manifest = outcome.manifest
    totals, statuses = manifest.totals, manifest.statuses
    unknown = statuses.get("open", 0) + statuses.get("quarantined", 0)
    yield from [
        ("learnt", ", ".join(manifest.notes["gains"])),
        (f"{words.people} left out", f"{totals['people']:,}"),
        ("  distinct runs", f"{totals['records']:,}"),
        ("  not known", share(unknown, totals["people"])),
        ("undecided", share(statuses.get("partial", 0), totals["people"])),
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], words.people)),
    ]
    ends = (pl.col(name).round(1).cast(pl.String).fill_null("–") for name in ("low", "high"))
    table = (
        read_differences(run.work)
        .filter(block_size="All")
        .select(
            pl.col("panel").map_elements(words.panel, return_dtype=pl.String),
            "measure",
            pl.col("people").cast(pl.Int64),
            "pct",
            "pct_without",
            "difference",
            pl.concat_str(*ends, separator="–"),
        )
    )
    yield partial(
        show_table,
        table,
        ["who", "measure", words.people, "with %", "without %", "points", "interval"],
    )
