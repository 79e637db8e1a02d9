"""``recon protect census1980``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import (
    ConfiguredCommand,
    RunOptions,
    counts_file_option,
    force_option,
    run_options,
)
from recon_cli.cli._output import seconds, share, show, show_table, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from pathlib import Path

    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("census1980",))
@run_options
@counts_file_option
@force_option
def command(options: RunOptions, *, to: Path | None, force: bool) -> None:
    """Suppress counts by the rules of the 1980 census.

    Counts of 1 or 2 by race (P1) and by race and ethnicity (P2) become zero, unmarked; the same
    tables of people of voting age are withheld where the smallest group has 1 to 14 people. Race is
    in seven groups (`release: pl94_1980`). Writes census1980/ (a tidy publication and its
    protection.yaml); accuracy and rates, Tables 18 and 19 of the study, are in private/census1980/.

    \b
    Example:
      recon protect census1980 -c rules.yaml
    """  # noqa: D301 - click wants the character itself
    run_and_print("census1980", options.setting(census1980__to=to), force=force)


def print_census1980(run: Run, outcome: StageOutcome) -> None:
    """Print Tables 18 and 19 beside the study's, and the summary."""
    from recon_cli.stages.census1980 import read_rates  # noqa: PLC0415 - loads polars

    totals = outcome.manifest.totals
    show_table(
        read_rates(run.work, run.release),
        ["table", "panel", "level", "of", "affected", "%", "study"],
    )
    show(
        title_of(outcome),
        [
            ("people", f"{totals['people']:,}"),
            ("counts above zero", f"{totals['cells']:,}"),
            ("  published as zero", share(totals["zeroed"], totals["cells"])),
            ("cells withheld with their table", f"{totals['suppressed']:,}"),
            ("Panel C of Table 18", "cells of P3; the study's repeats Table 19, Panel A"),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"])),
        ],
    )
