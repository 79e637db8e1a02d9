"""``recon protect cellkey``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import RunOptions, counts_file_option, force_option, run_options
from recon_cli.cli._stage import run_and_print
from recon_cli.cli.protect.round import print_round

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@run_options
@counts_file_option
@force_option
def command(options: RunOptions, *, to: Path | None, force: bool) -> None:
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
      cellkey.to       a .csv file that gets the
                       counts, too
    """  # noqa: D301 - click wants the character itself
    run_and_print("cellkey", options.setting(cellkey__to=to), force=force)


print_cellkey = print_round
