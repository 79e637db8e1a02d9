"""``recon tabulate``."""

from __future__ import annotations

from pathlib import Path

import click

from recon_cli.cli._options import RunOptions, run_options, tables_value
from recon_cli.cli._output import seconds, show


@click.command()
@click.argument("records", required=False, type=click.Path(path_type=Path))
@run_options
@click.option("--to", type=click.Path(path_type=Path), help="The file to write.")
@click.option("--format", "form", type=click.Choice(["tidy", "sf1-legacy"]), help="Its format.")
@click.option("--release", help="Packaged schema, or a .yaml file.")
@click.option("--tables", help="Levels (block+tract), or table names (P1,P12).")
@click.option("--levels", help="Only these levels, separated by commas.")
def command(
    options: RunOptions,
    *,
    records: Path | None,
    to: Path | None,
    form: str | None,
    release: str | None,
    tables: str | None,
    levels: str | None,
) -> None:
    """Count records in every published cell.

    RECORDS is a Parquet or CSV file with the unit's geoid (geoid_block, …) and a column for
    each feature; without it the run's microdata/ is counted. A config is not needed when
    --release says enough.

    \b
    Example:
      recon tabulate people.csv --release sf1_2010 \\
        --to al2010.sf1.zip
      recon tabulate -c al.yaml --to tables.parquet

    \b
    Config keys:
      release, work
      tabulate.records  default the run's microdata/
      tabulate.to       .csv, .parquet, or .zip (legacy)
      tabulate.format   tidy, or sf1-legacy
      tabulate.tables   default every table
      tabulate.levels   default all that a table has
    """  # noqa: D301 - click wants the character itself
    from recon_cli.stages.tabulate import tabulate  # noqa: PLC0415 - imports polars

    options = options.setting(
        release=release,
        tabulate__records=records,
        tabulate__to=to,
        tabulate__format=form,
        tabulate__tables=tables_value(tables),
        tabulate__levels=None if levels is None else tuple(levels.split(",")),
    )
    done = tabulate(options.run())
    if options.verbosity >= 0:
        show(
            f"tabulate: wrote {done.path}",
            [
                ("format", done.format),
                ("people", f"{done.people:,}"),
                ("non-zero cells", f"{done.cells:,}"),
                ("seconds", seconds(done.seconds, done.people)),
            ],
        )
