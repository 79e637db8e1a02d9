"""``recon protect``: swap, round, cellkey."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import RunOptions, force_option, run_options
from recon_cli.cli._output import seconds, share, show, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.group()
def command() -> None:
    """Protect records or their counts before they are published.

    \b
    Example:
      recon protect swap -c nation.yaml
      recon protect round -c nation.yaml

    \b
    Config keys: those of each command.
    """  # noqa: D301 - click wants the character itself


@command.command()
@run_options
@click.option("--setting", help="targeted, lo, hi, or the path of a .yaml file.")
@force_option
def swap(options: RunOptions, *, setting: str | None, force: bool) -> None:
    """Swap households: the CEF becomes an HDF.

    Writes hdf/ and hdf_households/ (the records with their new blocks) and swaps/ (the pairs).
    Settings lo and hi are the two of the 2010 study's Appendix C; targeted swaps those at risk,
    at rates fitted to the published agreement of HDF and CEF.

    \b
    Example:
      recon protect swap -c nation.yaml
      recon protect swap --setting hi --work work/hi

    \b
    Config keys:
      release, work, seed, workers
      swap.setting  targeted (default), lo, hi,
                    or the path of a .yaml file
      swap.seed     default the run's seed
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


@command.command(name="round")
@run_options
@force_option
def round_(options: RunOptions, *, force: bool) -> None:
    """Round the counts of records to multiples of a base.

    Writes rounded/ (a tidy publication and its protection.yaml, as recon ingest reads them) and
    rounded_accuracy/. For study: whoever knows the seed undoes it, and a seeded generator is no
    release mechanism.

    \b
    Example:
      recon protect round -c nation.yaml
      recon protect round --set round.base=5 --work work/rr5

    \b
    Config keys:
      release, work, seed
      round.records  .parquet or .csv, or a folder
                     (default the run's persons/)
      round.counts   or a work folder with ingested
                     exact counts
      round.base     default 3
      round.how      random (default), nearest, or
                     controlled: tables stay additive
      round.keys     records (default): equal sets
                     of records are rounded alike;
                     cells: each cell by itself
      round.levels   default all; others are exact
      round.tables   as reconstruct.tables
      round.seed     default the run's seed
    """  # noqa: D301 - click wants the character itself
    run_and_print("round", options, force=force)


@command.command()
@run_options
@force_option
def cellkey(options: RunOptions, *, force: bool) -> None:
    """Perturb the counts of records by cell keys.

    Every record has a key; the sum of the keys in a cell picks the offset of its count from a
    p-table: of greatest entropy for a maximum and a variance, or from a file. Writes perturbed/
    (a tidy publication and its protection.yaml, as recon ingest reads them) and
    perturbed_accuracy/. For study: a seeded generator is no release mechanism.

    \b
    Example:
      recon protect cellkey --set cellkey.ptable=ptable.csv
      recon protect cellkey -c nation.yaml

    \b
    Config keys:
      release, work, seed
      cellkey.records   .parquet or .csv, or a folder
                        (default the run's persons/)
      cellkey.max       greatest offset
      cellkey.variance  of the offsets
      cellkey.never     small counts that are never
                        published, as [1, 2]
      cellkey.ptable    a CSV file (R's ptable, ONS)
                        in place of the three
      cellkey.identifier  column that keys are made
                          of; default all features
      cellkey.tables    as reconstruct.tables
      cellkey.seed      default the run's seed
    """  # noqa: D301 - click wants the character itself
    run_and_print("cellkey", options, force=force)


def print_round(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage, and what is known to undo it."""
    totals, copies = outcome.manifest.totals, outcome.manifest.notes["copies"]
    many = f"{copies['cells']:,} cells, {copies['margins']:,} different, one {copies['most']} times"
    show(
        title_of(outcome),
        [
            ("law", str(outcome.manifest.notes["law"])),
            ("people", f"{totals['people']:,}"),
            ("cells above zero", f"{totals['cells']:,}"),
            ("  changed", share(totals["changed"], totals["cells"])),
            ("  published as zero", share(totals["false_zeros"], totals["cells"])),
            ("  published twice or more", share(totals["repeated"], totals["cells"])),
            ("    not alike", share(totals["fixed"], totals["repeated"])),
            (f"copies in a {run.release.geography.unit.name}", many),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"])),
        ],
    )


print_cellkey = print_round
