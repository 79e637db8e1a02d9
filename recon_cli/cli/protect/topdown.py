"""``recon protect topdown``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.cli._output import seconds, show, title_of
from recon_cli.cli._stage import run_and_print
from recon_cli.cli.protect._budgets import NEIGHBOURS, spent

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("topdown",))
@run_options
@force_option
def command(options: RunOptions, *, force: bool) -> None:
    """Make records from noisy measurements, level by level.

    The design of the 2020 census: the queries of a strategy are measured at every level; from above
    each geounit's histogram is divided among its children by non-negative least squares over the
    cells that it has people in, and rounded with all sums kept; in passes, where the strategy says
    so. A second product agrees with the first. Writes mdf/. Chance is secret, but for study.

    \b
    Example:
      recon protect topdown -c nation.yaml
      recon tabulate --set tabulate.records=work/mdf --to mdf.parquet
    """  # noqa: D301 - click wants the character itself
    run_and_print("topdown", options, force=force)


def print_topdown(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    from recon_cli.plurals import plural  # noqa: PLC0415 - slow imports when needed

    people = plural(run.release.record).replace("_", " ")
    totals, notes = outcome.manifest.totals, outcome.manifest.notes
    show(
        title_of(outcome),
        [
            ("levels", ", ".join(notes["levels"])),
            *((str(each["strategy"]), spent(each, "")) for each in notes["products"]),
            ("neighbours", NEIGHBOURS[notes["products"][0]["neighbours"]]),
            (people, f"{totals['people']:,}, of {totals['true_people']:,}"),
            (f"{plural(run.release.geography.unit.name)} with {people}", f"{totals['units']:,}"),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"], people)),
        ],
    )
