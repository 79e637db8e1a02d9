"""Print the summary of `recon risk`."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.findings.result_tables import read_table
from recon_cli.capabilities.risk import RISK
from recon_cli.console.output import seconds, show, show_table, title_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural


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
    summary = read_table(run.work, RISK, "summary").select(
        pl.col("adversary").str.replace("_", " "),
        *(_decimals(name) for name in ("prior", "posterior", "ratio", "correct", "tied")),
        "over_posterior",
        "over_ratio",
    )
    header = ["adversary", "prior", "posterior", "ratio", "correct", "ties"]
    show_table(summary, [*header, "over posterior", "over ratio"])


def _decimals(name: str) -> pl.Expr:
    return pl.col(name).map_elements("{:.4g}".format, return_dtype=pl.String)
