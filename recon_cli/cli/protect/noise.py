"""``recon protect noise``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.cli._output import seconds, share, show, show_table, title_of
from recon_cli.cli._stage import run_and_print
from recon_cli.cli.protect._budgets import NEIGHBOURS, spent

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("noise",))
@run_options
@click.option("--strategy", help="pl94_2020, dhc_2020, or the path of a .yaml file.")
@force_option
def command(options: RunOptions, *, strategy: str | None, force: bool) -> None:
    """Measure the counts of records with noise.

    The noise is discrete Gaussian or geometric, exactly, as a strategy says: which queries at which
    level, each with its share of the budget. Given away is noisy/: a tidy publication, its
    protection.yaml and, where the queries are not tables of the release, release.yaml: the schema
    to read it with. Accuracy and the whole manifest are in private/noise/. Chance is secret, but
    for study.

    \b
    Example:
      recon protect noise --strategy pl94_2020
      recon protect noise -c nation.yaml
    """  # noqa: D301 - click wants the character itself
    run_and_print("noise", options.setting(noise__strategy=strategy), force=force)


def print_noise(run: Run, outcome: StageOutcome) -> None:
    """Print what was measured, what it spent, and the summary."""
    import polars as pl  # noqa: PLC0415 - slow imports when needed

    from recon_cli.plurals import plural  # noqa: PLC0415

    totals, notes = outcome.manifest.totals, outcome.manifest.notes
    people = plural(run.release.record).replace("_", " ")
    unit = "ρ" if notes["mechanism"] == "gaussian" else "ε"
    rows = [
        (row["level"], row["query"], f"{row['cells']:,}", f"{_value(row['budget']):.6f}",
         f"{row['variance'] ** 0.5:.2f}")
        for row in notes["measured"]
    ]  # fmt: skip
    header = ["level", "query", "cells", unit, "σ"]
    show_table(pl.DataFrame(rows, schema=header, orient="row"), header)
    show(
        title_of(outcome),
        [
            ("strategy", str(notes["strategy"])),
            ("neighbours", NEIGHBOURS[notes["neighbours"]]),
            ("spent", spent(notes, "")),
            ("whole strategy", spent(notes, "whole_")),
            ("noise", str(notes["source"])),
            (people, f"{totals['people']:,}"),
            ("measurements", f"{totals['cells']:,}"),
            ("  below zero", share(totals["negative"], totals["cells"])),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"], people)),
        ],
    )


def _value(text: str) -> float:
    from fractions import Fraction  # noqa: PLC0415

    return float(Fraction(text))
