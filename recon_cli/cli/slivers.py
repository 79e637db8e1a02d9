"""``recon slivers``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.cli._output import Fact, seconds, show, show_table, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome

#: Rows of the table.
_SHOWN = 12


@click.command(cls=ConfiguredCommand, sections=("slivers",))
@run_options
@force_option
def command(options: RunOptions, *, force: bool) -> None:
    """Find the small groups of people that areas give away where they overlap.

    Writes slivers/: for each unit the least populated group around it whose count is a sum and
    difference of areas' totals, if it is small; and sliver_counts/, what the tables then say of it.

    \b
    Example:
      recon slivers -c recon.yaml
      recon slivers --set slivers.below=5
    """  # noqa: D301 - click wants the character itself
    run_and_print("slivers", options, force=force)


def print_slivers(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    from recon_cli.plurals import plural  # noqa: PLC0415
    from recon_cli.stages.sliver_summary import read_slivers  # noqa: PLC0415

    manifest, people = outcome.manifest, plural(run.release.record)
    units = plural(run.release.geography.unit.name)
    totals, below = manifest.totals, manifest.notes["below"]
    facts: list[Fact] = [
        (units, f"{totals['units']:,}"),
        ("areas", f"{totals['areas']:,}, {totals['exact_areas']:,} with an exact total"),
        (f"slivers of 1 to {below - 1} {people}", f"{totals['slivers']:,}"),
        ("seconds", seconds(manifest.run.wall_seconds, totals["units"], units)),
    ]
    show(title_of(outcome), facts)
    rows = read_slivers(run.work)
    table = rows.head(_SHOWN).with_columns(units=rows["units"].head(_SHOWN).list.join(", "))
    show_table(table.select("areas", "units", "people"), ["areas", "holds", people])
