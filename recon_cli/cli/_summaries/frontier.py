"""`recon frontier`."""

from __future__ import annotations

import polars as pl

from recon_cli.cli._output import show, show_table, title_of
from recon_cli.frontier.release import OPTIMUM
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.stages.frontier_page import PAGE, read_errors


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    sentences = outcome.manifest.notes["summary"]
    show(
        title_of(outcome),
        [
            *(("", sentence.replace("**", "")) for sentence in sentences),
            ("page", str(run.work / "frontier" / PAGE)),
        ],
    )
    errors = read_errors(run.work).filter(pl.col("split") == OPTIMUM, pl.col("is_best"))
    largest = max(errors["epsilon"].to_list())
    rows = errors.filter(pl.col("epsilon") == largest).select(
        "level", "table", "strategy", pl.col("share") * 100, "rmse"
    )
    show_table(rows, ["level", "table", "strategy", "share, %", f"rmse at ε {largest:g}"])
