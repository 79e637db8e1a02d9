"""``recon init``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click
import polars as pl

from recon_cli.capabilities.init.document import (
    compose,
    compose_protection,
    grid_lines,
    names_file,
    protection_file,
    schema_file,
)
from recon_cli.capabilities.init.recognition import RecognisedFiles, recognise
from recon_cli.console.options import OUTPUT_FILE, GivenPath
from recon_cli.console.output import Fact, show
from recon_cli.errors import ConfigError
from recon_cli.sources import FileMapping
from recon_cli.sources.read.reading import Choices
from recon_cli.spreadsheet import csv_bytes
from recon_cli.store.files import write_named

_DEFAULT = "recon.yaml"


@click.command()
@click.argument("paths", nargs=-1, required=True, type=GivenPath(), metavar="PATH...")
@click.option(
    "--to",
    type=OUTPUT_FILE,
    default=_DEFAULT,
    show_default=True,
    help="The config to write.",
)
@click.option("--release", help="Packaged schema, or a .yaml file.  [default: the one that fits]")
@click.option("--place", metavar="HEADER", help="Of tables: header of the column with the places.")
@click.option(
    "--parent",
    metavar="HEADER",
    multiple=True,
    help="Of tables: header of a column with what places are part of. Repeatable, the largest "
    "first.",
)
@click.option(
    "--sheet",
    metavar="NAME",
    multiple=True,
    help="Of workbooks: a sheet to read. Repeatable.  [default: all that are not hidden]",
)
@click.option(
    "--leave-out",
    metavar="HEADER",
    multiple=True,
    help="Of tables: header of a column that has no counts. Repeatable.",
)
@click.option(
    "--count",
    metavar="HEADER",
    multiple=True,
    help="Of tables: header of a column that counts some of these people. Repeatable.",
)
@click.option(
    "--total",
    metavar="LABEL",
    multiple=True,
    help="Of tables: a column, row or value that others add up to, though no number shows it. "
    "Repeatable.",
)
@click.option(
    "--apart",
    metavar="HEADER",
    multiple=True,
    help="Of tables: a column of kinds without a total, or kinds as columns, that exclude each "
    "other. Repeatable.",
)
@click.option(
    "--thousands", metavar="MARK", help="Of tables: what is between groups of three digits."
)
@click.option(
    "--one-place", is_flag=True, help="Of tables: all is about one place; rows are kinds of it."
)
@click.option(
    "--header",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="ROW",
    help="Of tables: number of a header row. Repeatable.",
)
@click.option("--yes", is_flag=True, help="Take what was found where it could be read in two ways.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def command(
    paths: tuple[Path, ...],
    *,
    to: Path,
    release: str | None,
    place: str | None,
    parent: tuple[str, ...],
    sheet: tuple[str, ...],
    leave_out: tuple[str, ...],
    count: tuple[str, ...],
    total: tuple[str, ...],
    apart: tuple[str, ...],
    thousands: str | None,
    one_place: bool,
    header: tuple[int, ...],
    yes: bool,
    force: bool,
) -> None:
    r"""Write a commented config for published files.

    PATH is a state's zip, a folder of zips, a folder of unpacked members, tidy CSV or Parquet
    (columns geoid, table, cell, count), or tables as portals and offices publish them: CSV, TSV,
    xlsx, JSON, or zips of them. What it is and which packaged release it belongs to is found out.
    If it belongs to none, a schema is drafted from its labels. What could not be told is printed.
    Where the rows of a table cannot be read without it, say --place or --header.
    `recon run` then does everything that the config says.

    Example:
      recon init data/al2010.sf1.zip
      recon init DECENNIALPL2020.P*.zip
      recon init table.xlsx
      recon init tables/*.csv --release mine.yaml \
        --to audit.yaml
    """
    said = FileMapping(
        header=header,
        place=place,
        parent=parent,
        sheet=sheet,
        columns=dict.fromkeys(leave_out),
    )
    choices = Choices(
        header=header,
        place=place,
        parent=parent,
        count=count,
        total=total,
        apart=apart,
        thousands=thousands,
        are_kinds=one_place or None,
        leave_out=dict.fromkeys(leave_out, ""),
        codes_first=release is not None,
    )
    found = recognise(paths, release, said, choices)
    _ask(found.questions, yes=yes)
    drafts: dict[Path, str] = {}
    if found.draft is not None:
        schema = schema_file(to, found.release)
        if schema.exists() and not force:
            raise ConfigError(
                f"{schema}: is there already; name it with --release to use it, or give --force"
            )
        drafts[schema] = found.draft
        found = replace(found, release=str(schema))
    if found.needs_law:
        drafts[protection_file(to)] = compose_protection(found.markers, found.base)
    if found.names:
        drafts[names_file(to)] = _names(found.names)
    drafts[to] = compose(found, to)
    for path in drafts:
        if path.exists() and not force:
            raise ConfigError(
                f"{path}: is there already; choose another with --to, or give --force"
            )
    for path, text in drafts.items():
        write_named(path, text.encode())
    show(f"init: wrote {to}", _facts(found, to))
    chosen = "" if to == Path(_DEFAULT) else f" -c {shlex.quote(str(to))}"
    click.echo(f"next: recon run{chosen}")


def _ask(questions: tuple[str, ...], *, yes: bool) -> None:
    """Ask whether what could be read in two ways was read right.

    Raises:
        ConfigError: There is nobody to ask.
    """
    for question in () if yes else questions:
        if not _is_terminal():
            raise ConfigError(f"{question}; mend the file, or take it so: --yes")
        click.confirm(f"{question}; take it so?", abort=True, err=True)


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _names(names: Mapping[str, str]) -> str:
    """Geoid and name as CSV."""
    table = pl.DataFrame({"geoid": list(names), "name": list(names.values())}).sort("geoid")
    return csv_bytes(table).decode()


def _facts(found: RecognisedFiles, to: Path) -> list[Fact]:
    law = f"{protection_file(to)}, a draft" if found.needs_law else None
    if found.protection is not None:
        law = f"{found.protection}, as it is there"
    about = list(found.about[:3])
    drafted = found.mapping if found.draft is not None else {}
    grid = list(grid_lines(drafted))
    if len(found.about) > 3:
        about.append(f"and {len(found.about) - 3} more")
    return [
        ("source", f"{found.source}, {len(found.paths)} path{'s' * (len(found.paths) > 1)}"),
        ("release", f"{found.release} ({found.schema.title})"),
        *(("about" if not i else "", line) for i, line in enumerate(about)),
        *(("read as" if not i else "", line) for i, line in enumerate(grid)),
        *([] if law is None else [("law", law)]),
        *(("not told" if not i else "", line) for i, line in enumerate(found.doubts)),
    ]
