"""``recon capacity``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.cli._output import seconds, show, show_table, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("capacity",))
@run_options
@force_option
def command(options: RunOptions, *, force: bool) -> None:
    """State what the tables carry, and how much noise they would need, before any attack.

    Writes capacity/: independent cells by exact rank, unknowns before and after zeros, bits of
    the records and of the counts, three figures of the noise needed, and a page.

    \b
    Example:
      recon capacity -c al.yaml
      recon capacity --set capacity.tables=block
    """  # noqa: D301 - click wants the character itself
    run_and_print("capacity", options, force=force)


def print_capacity(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    import polars as pl  # noqa: PLC0415

    from recon_cli.stages.capacity import PAGE, read_capacity_table  # noqa: PLC0415

    manifest = outcome.manifest
    show(
        title_of(outcome),
        [
            *(("", sentence.replace("**", "")) for sentence in manifest.notes["summary"]),
            ("page", str(run.work / "capacity" / PAGE)),
            ("seconds", seconds(manifest.run.wall_seconds)),
        ],
    )
    noise = read_capacity_table(run.work, "noise").with_columns(
        (pl.col("parameter") * 100).round().cast(pl.Int64)
    )
    show_table(noise, ["noise against", "counts", "at most, %", "sd"])
