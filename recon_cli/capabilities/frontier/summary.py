"""Summary of `recon frontier`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import polars as pl

from recon_cli.capabilities.findings.result_tables import read_table
from recon_cli.capabilities.frontier import FRONTIER
from recon_cli.capabilities.frontier import PAGE as FRONTIER_PAGE
from recon_cli.capabilities.frontier.release import OPTIMUM
from recon_cli.console.output import Line, show_table
from recon_cli.pipeline.run import Run, StageOutcome


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    sentences = outcome.manifest.notes["summary"]
    yield from [
        *(("", sentence.replace("**", "")) for sentence in sentences),
        ("page", str(run.work / "frontier" / FRONTIER_PAGE)),
    ]
    errors = read_table(run.work, FRONTIER, "errors").filter(
        pl.col("split") == OPTIMUM, pl.col("is_best")
    )
    largest = max(errors["epsilon"].to_list())
    rows = errors.filter(pl.col("epsilon") == largest).select(
        "level", "table", "strategy", pl.col("share") * 100, "rmse"
    )
    yield partial(
        show_table, rows, ["level", "table", "strategy", "share, %", f"rmse at ε {largest:g}"]
    )
