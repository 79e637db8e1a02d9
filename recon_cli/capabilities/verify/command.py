"""``recon verify``."""

from __future__ import annotations

from typing import Any

import click

from recon_cli.capabilities.verify.stage import verify
from recon_cli.console.options import ConfiguredCommand, RunOptions, run_options, tables_value
from recon_cli.console.output import seconds, show
from recon_cli.errors import VerificationError
from recon_cli.page.words import agreement
from recon_cli.plurals import plural

#: Most mismatches that are printed.
_SHOWN = 20


@click.command(cls=ConfiguredCommand)
@run_options
@click.option("--tables", help="Levels (block+tract), or table names (P1,P12).")
def command(options: RunOptions, *, tables: str | None) -> None:
    """Compare the records with every published cell.

    Tabulates microdata/ from the schema alone and compares published cells at all levels, zeros
    included; by default of the tables that the records were made from. Exit code 7 if a cell
    differs.

    Example:
      recon verify -c al.yaml
      recon verify --tables block+tract
    """
    run = options.run()
    verdict = verify(run, tables_value(tables))
    people = plural(run.release.record).replace("_", " ")
    unit = plural(run.release.geography.unit.name).replace("_", " ")
    within, unbounded = verdict.cells_within, verdict.cells_unbounded
    if verdict.ok:
        agreed = agreement(verdict.cells_compared, within, unbounded)
        if options.verbosity >= 0:
            show(
                "verify: no published cell contradicts the records"
                if within or unbounded
                else "verify: every published cell is reproduced",
                [
                    (people, f"{verdict.people:,}"),
                    (unit, f"{verdict.units:,}"),
                    ("tables", f"{len(verdict.tables):,}"),
                    ("cells compared", f"{verdict.cells_compared:,}, {agreed}"),
                    ("seconds", seconds(verdict.seconds, verdict.people, people)),
                ],
            )
        return
    count = verdict.mismatches.height
    lines = [_line(row, people) for row in verdict.mismatches.head(_SHOWN).iter_rows(named=True)]
    if count > _SHOWN:
        lines.append(f"  and {count - _SHOWN:,} more")
    raise VerificationError(
        "\n".join([f"{count:,} of {verdict.cells_compared:,} published cells differ:", *lines])
    )


def _line(row: dict[str, Any], people: str) -> str:
    cell = f"{people} outside the published geounits"
    if row["table"] is not None:
        cell = f"table {row['table']}, cell {row['cell']} ({row['code']})"
    return (
        f"  {row['level']} {row['geoid']}, {cell}: "
        f"expected {row['expected']:,}, found {row['found']:,}"
    )
