"""Summary of `recon risk`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import polars as pl

from recon_cli.capabilities.findings.result_tables import read_table
from recon_cli.capabilities.risk import RISK
from recon_cli.console.output import Line, seconds, show_table
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    people = plural(run.release.record).replace("_", " ")
    totals = outcome.manifest.totals
    yield from [
        (people, f"{totals['people']:,}"),
        ("cells at risk", f"{totals['cells']:,}"),
        ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"], people)),
    ]
    summary = read_table(run.work, RISK, "summary").select(
        pl.col("adversary").str.replace("_", " "),
        pl.col("prior", "posterior", "ratio", "correct", "tied").map_elements(
            "{:.4g}".format, return_dtype=pl.String
        ),
        "over_posterior",
        "over_ratio",
    )
    header = ["adversary", "prior", "posterior", "ratio", "correct", "ties"]
    yield partial(show_table, summary, [*header, "over posterior", "over ratio"])
