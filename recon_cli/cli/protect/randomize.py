"""``recon protect randomize``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.cli._output import seconds, share, show, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("randomize",))
@run_options
@force_option
def command(options: RunOptions, *, force: bool) -> None:
    """Replace answers of records by chance.

    Randomised response: each answer is reported or replaced by a known matrix, or by ε. Writes
    randomized/ (the records) and randomized_counts/ (for each cell the reported count, an unbiased
    estimate of the true one, its standard deviation and an interval). Chance is secret, but for
    study.

    \b
    Example:
      recon protect randomize -c clinic.yaml
    """  # noqa: D301 - click wants the character itself
    run_and_print("randomize", options, force=force)


def print_randomize(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    from recon_cli.plurals import plural  # noqa: PLC0415 - slow imports when needed

    people = plural(run.release.record).replace("_", " ")
    totals, found = outcome.manifest.totals, outcome.manifest.notes["epsilon"]
    answers = totals["people"] * len(found)
    show(
        title_of(outcome),
        [
            *(
                (name, "no finite ε" if value is None else f"ε {value:.3g}")
                for name, value in found.items()
            ),
            (people, f"{totals['people']:,}"),
            ("answers replaced", share(totals["changed"], answers)),
            ("counts estimated", f"{totals['cells']:,}"),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"], people)),
        ],
    )
