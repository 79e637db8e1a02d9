"""``recon protect swap``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.cli._output import seconds, share, show, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("swap",))
@run_options
@click.option("--setting", help="targeted, lo, hi, or the path of a .yaml file.")
@force_option
def command(options: RunOptions, *, setting: str | None, force: bool) -> None:
    """Swap households: the CEF becomes an HDF.

    Writes hdf/ and hdf_households/ (the records with their new blocks); the pairs are in
    private/swap/swaps/.
    Settings lo and hi are the two of the 2010 study's Appendix C; targeted swaps those at risk,
    at rates fitted to the published agreement of HDF and CEF.

    \b
    Example:
      recon protect swap -c nation.yaml
      recon protect swap --setting hi --work work/hi
    """  # noqa: D301 - click wants the character itself
    run_and_print("swap", options.setting(swap__setting=setting), force=force)


def print_swap(_run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    totals, reaches = outcome.manifest.totals, outcome.manifest.statuses
    pairs = totals["pairs"]
    show(
        title_of(outcome),
        [
            ("setting", str(outcome.manifest.notes["setting"])),
            ("people", f"{totals['people']:,}"),
            ("households", f"{totals['households']:,}"),
            ("  swapped", share(2 * pairs, totals["households"])),
            *((f"  pairs met in {name}", share(count, pairs)) for name, count in reaches.items()),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"])),
        ],
    )
