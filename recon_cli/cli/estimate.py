"""``recon estimate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.cli._output import seconds, show, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("estimate",))
@run_options
@force_option
def command(options: RunOptions, *, force: bool) -> None:
    """Estimate noisy counts from all levels together, with intervals.

    Writes estimates/: for every measured count the best linear unbiased estimate from all
    measurements of its tree of geounits, its standard deviation, and an interval that holds the
    true count with the stated probability. Noise proves nothing: the intervals are likely.

    \b
    Example:
      recon estimate -c noisy.yaml
    """  # noqa: D301 - click wants the character itself
    run_and_print("estimate", options, force=force)


def print_estimate(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    totals = outcome.manifest.totals
    show(
        title_of(outcome),
        [
            (f"{run.release.geography.unit.name}s", f"{totals['units']:,}"),
            ("counts", f"{totals['cells']:,}"),
            ("level of the intervals", f"{outcome.manifest.notes['level']:g}%"),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, 0)),
        ],
    )
