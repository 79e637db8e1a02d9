"""`recon risk`."""

from __future__ import annotations

import polars as pl

from recon_cli.cli._output import seconds, show, show_table, title_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural
from recon_cli.stages.risk import read_summary


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    people = plural(run.release.record).replace("_", " ")
    totals = outcome.manifest.totals
    show(
        title_of(outcome),
        [
            (people, f"{totals['people']:,}"),
            ("cells at risk", f"{totals['cells']:,}"),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"], people)),
        ],
    )
    summary = read_summary(run.work).select(
        pl.col("adversary").str.replace("_", " "),
        *(_decimals(name) for name in ("prior", "posterior", "ratio", "correct", "tied")),
        "over_posterior",
        "over_ratio",
    )
    header = ["adversary", "prior", "posterior", "ratio", "correct", "ties"]
    show_table(summary, [*header, "over posterior", "over ratio"])


def _decimals(name: str) -> pl.Expr:
    return pl.col(name).map_elements("{:.4g}".format, return_dtype=pl.String)
