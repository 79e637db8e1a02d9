"""Print the summary of `recon frontier`."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.findings.result_tables import read_table
from recon_cli.capabilities.frontier import FRONTIER
from recon_cli.capabilities.frontier import PAGE as FRONTIER_PAGE
from recon_cli.capabilities.frontier.release import OPTIMUM
from recon_cli.console.output import show, show_table, title_of
from recon_cli.pipeline.run import Run, StageOutcome


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    sentences = outcome.manifest.notes["summary"]
    show(
        title_of(outcome),
        [
            *(("", sentence.replace("**", "")) for sentence in sentences),
            ("page", str(run.work / "frontier" / FRONTIER_PAGE)),
        ],
    )
    errors = read_table(run.work, FRONTIER, "errors").filter(
        pl.col("split") == OPTIMUM, pl.col("is_best")
    )
    largest = max(errors["epsilon"].to_list())
    rows = errors.filter(pl.col("epsilon") == largest).select(
        "level", "table", "strategy", pl.col("share") * 100, "rmse"
    )
    show_table(rows, ["level", "table", "strategy", "share, %", f"rmse at ε {largest:g}"])
