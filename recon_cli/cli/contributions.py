"""``recon contributions``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.cli._output import Fact, seconds, show, show_table, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome

#: Rows of the list that are printed; all are in the folder.
_SHOWN = 40


@click.command(cls=ConfiguredCommand, sections=("contributions",))
@run_options
@click.option(
    "--parts", type=click.Choice(["tables", "levels", "features"]), help="What is left out."
)
@click.option("--orders", type=click.IntRange(min=0), help="Orders to sample for Shapley values.")
@force_option
def command(options: RunOptions, *, parts: str | None, orders: int | None, force: bool) -> None:
    """Leave each table, level or feature's detail out of the publication, and attack the rest.

    Writes contributions/: for each part, how many certain people, disclosed people and verified
    claims are left without it, and so what it adds; the part that adds most comes first. Numbers
    of people stay known.

    \b
    Example:
      recon contributions -c clinic.yaml --parts features
      recon contributions --orders 20
    """  # noqa: D301 - click wants the character itself
    options = options.setting(contributions__parts=parts, contributions__orders=orders)
    run_and_print("contributions", options, force=force)


def print_contributions(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    from recon_cli.stages.contributions import read_contributions  # noqa: PLC0415

    notes = outcome.manifest.notes
    facts: list[Fact] = [
        ("left out", f"{notes['parts']}, one after the other"),
        ("attacks", f"{notes['attacks']:,}"),
        ("seconds", seconds(outcome.manifest.run.wall_seconds)),
    ]
    show(title_of(outcome), facts)
    columns = ["left_out", "certain_added", "disclosed_added", "claims_added"]
    if notes["orders"]:
        columns += ["certain_shapley", "disclosed_shapley", "claims_shapley"]
    table = read_contributions(run.work).select(columns).head(_SHOWN)
    show_table(table, [name.replace("_", " ") for name in columns])
