"""What is printed of privacy before anything is published."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.capacity.stage import PAGE as CAPACITY_PAGE
from recon_cli.capabilities.findings.result_tables import read_table
from recon_cli.capabilities.frontier.release import OPTIMUM
from recon_cli.capabilities.frontier.stage import PAGE as FRONTIER_PAGE
from recon_cli.cli._output import seconds, show, show_table, title_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import CAPACITY, FRONTIER, RISK
from recon_cli.plurals import plural


def capacity(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest = outcome.manifest
    show(
        title_of(outcome),
        [
            *(("", sentence.replace("**", "")) for sentence in manifest.notes["summary"]),
            ("page", str(run.work / "capacity" / CAPACITY_PAGE)),
            ("seconds", seconds(manifest.run.wall_seconds)),
        ],
    )
    noise = read_table(run.work, CAPACITY, "noise").with_columns(
        (pl.col("parameter") * 100).round().cast(pl.Int64)
    )
    show_table(noise, ["noise against", "counts", "at most, %", "sd"])


def frontier(run: Run, outcome: StageOutcome) -> None:
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


def risk(run: Run, outcome: StageOutcome) -> None:
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
