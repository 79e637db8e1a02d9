"""``recon frontier``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.cli._output import show, show_table, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("frontier",))
@run_options
@force_option
def command(options: RunOptions, *, force: bool) -> None:
    """State what noise would cost the users of each table, against the privacy loss.

    Reads the release's schema only. Writes frontier/: expected errors by table, level and
    strategy for an even split of ε and for the best one given weights, one count by every
    mechanism, and a page.

    \b
    Example:
      recon frontier -c al.yaml
      recon frontier -c al.yaml --set frontier.tables=[P1,P12] \\
        --set 'frontier.weights={P1: 10}'
    """  # noqa: D301 - click wants the character itself
    run_and_print("frontier", options, force=force)


def print_frontier(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    import polars as pl  # noqa: PLC0415

    from recon_cli.frontier.release import OPTIMUM  # noqa: PLC0415
    from recon_cli.stages.frontier import PAGE, read_errors  # noqa: PLC0415

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
