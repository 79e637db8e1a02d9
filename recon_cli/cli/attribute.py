"""``recon attribute``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.cli._output import Fact, share, show, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("attribute",))
@run_options
@force_option
def command(options: RunOptions, *, force: bool) -> None:
    """Find what the tables prove of people whom somebody knows.

    Of each person in the attackers' files some columns are known. Writes private/attribute/: who
    has which further value in every solution, and the published counts that leave no other. Names
    stay there: what is printed are numbers, and no page shows any.

    \b
    Example:
      recon attribute -c school.yaml
      recon attribute --set attribute.attackers.LIST=list.csv
    """  # noqa: D301 - click wants the character itself
    run_and_print("attribute", options, force=force)


def print_attribute(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    from recon_cli.evaluate.proven import proof_conditions  # noqa: PLC0415

    notes = outcome.manifest.notes
    facts: list[Fact] = [
        ("known people", f"{notes['people']:,}"),
        ("of whom something is proven", share(notes["settled_people"], notes["people"])),
        ("proven values", f"{notes['settled']:,}"),
        ("written to", str(run.work / "private" / "attribute")),
    ]
    show(title_of(outcome), facts)
    for line in proof_conditions(notes["laws"], assumes_zeros=notes["assumes_zeros"]):
        click.echo(f"  {line}")
