"""``recon data tabulate``."""

from __future__ import annotations

from pathlib import Path

import click

from recon_cli.capabilities.tabulate.stage import write_tables
from recon_cli.capabilities.tabulate.summary import print_written
from recon_cli.console.options import (
    ConfiguredCommand,
    GivenPath,
    RunOptions,
    force_option,
    run_options,
    tables_value,
)
from recon_cli.console.stage_command import print_for_study, run_and_print
from recon_cli.store.study import has_study_name


@click.command(cls=ConfiguredCommand, sections=("tabulate",))
@click.argument("records", required=False, type=GivenPath())
@run_options
@click.option("--to", type=GivenPath(), help="The file to write.")
@click.option("--format", "form", type=click.Choice(["tidy", "legacy"]), help="The file's format.")
@click.option("--release", help="Packaged schema, or a .yaml file.")
@click.option("--tables", help="Levels (block+tract), or table names (P1,P12).")
@click.option("--levels", help="Only these levels, separated by commas.")
@click.option("--decimals", type=int, help="Decimals of printed statistics.  [default: 1]")
@force_option
def command(
    options: RunOptions,
    *,
    records: Path | None,
    to: Path | None,
    form: str | None,
    release: str | None,
    tables: str | None,
    levels: str | None,
    decimals: int | None,
    force: bool,
) -> None:
    r"""Count records in every published cell, and compute the release's statistics.

    RECORDS is a Parquet or CSV file, or a folder of them by partition such as hdf/, with the unit's
    geoid (geoid_block, …) and a column for each feature; without it the run's microdata/ is
    counted. No config is needed if --release is enough. In a work folder, the folder tabulated/
    notes what the file was made from, so that a file that is up to date is not written again.

    Example:
      recon data tabulate people.csv --release sf1_2010 \
        --to al2010.sf1.zip
      recon data tabulate -c al.yaml --to tables.parquet
    """
    options = options.setting(
        release=release,
        tabulate__records=records,
        tabulate__to=to,
        tabulate__format=form,
        tabulate__tables=tables_value(tables),
        tabulate__levels=None if levels is None else tuple(levels.split(",")),
        tabulate__decimals=decimals,
    )

    if options.load().top.work is not None:
        run_and_print("tabulate", options, force=force)
        return
    run = options.run(force=force)
    written = write_tables(run)
    if options.verbosity >= 0:
        print_written(run, written, f"tabulate: wrote {written.path}")
        if has_study_name(written.path):
            print_for_study()
