"""``recon protect cellkey``."""

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
from recon_cli.cli._stage import run_and_print
from recon_cli.cli.protect.round import print_round

if TYPE_CHECKING:
    from pathlib import Path


@click.command(cls=ConfiguredCommand, sections=("cellkey",))
@run_options
@counts_file_option
@force_option
def command(options: RunOptions, *, to: Path | None, force: bool) -> None:
    """Perturb the counts of records by cell keys.

    Every record has a key; the sum of the keys in a cell picks the offset of its count from a
    p-table: of greatest entropy for a maximum and a variance, or from a file. Writes perturbed/
    (a tidy publication and its protection.yaml, as recon ingest reads them); accuracy, the whole
    manifest and the secret key, which later tables need, are in private/cellkey/.

    \b
    Example:
      recon protect cellkey --set cellkey.ptable=ptable.csv
      recon protect cellkey -c nation.yaml
    """  # noqa: D301 - click wants the character itself
    run_and_print("cellkey", options.setting(cellkey__to=to), force=force)


print_cellkey = print_round
