"""``recon init``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import click
import polars as pl

from recon_cli.capabilities.init.declared import Declared, Rounding
from recon_cli.capabilities.init.document import (
    compose,
    compose_protection,
    grid_lines,
    names_file,
    places_file,
    protection_file,
    reading_file,
    schema_file,
)
from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.capabilities.init.questions import Said, choose, is_terminal, list_questions
from recon_cli.capabilities.init.reading_page import reading_page
from recon_cli.capabilities.init.recognised import RecognisedFiles
from recon_cli.capabilities.init.recognition import recognise
from recon_cli.capabilities.init.statistic_words import told_statistics
from recon_cli.config import DEFAULT_FILE
from recon_cli.console.options import OUTPUT_FILE, GivenPath
from recon_cli.console.output import Fact, show
from recon_cli.coverage import count_left_out
from recon_cli.errors import ConfigError
from recon_cli.plurals import counted
from recon_cli.sources.formats.row_blocks import KIND, PLACE
from recon_cli.sources.read.choices import NUMBERS, WITHHELD
from recon_cli.spreadsheet import csv_bytes
from recon_cli.store.files import write_named

#: A text near the top of every page of ours; no other file is overwritten.
_OURS = b'content="recon-cli '
#: Flags that say how counts were published.
_DECLARED = ("below", "rounded", "complementary", "zeros", "all_places", "protecting")


@click.command()
@click.argument("paths", nargs=-1, required=True, type=GivenPath(), metavar="PATH...")
@click.option(
    "--to",
    type=OUTPUT_FILE,
    default=DEFAULT_FILE,
    show_default=True,
    help="The config to write; all other files are written beside it.",
)
@click.option("--release", help="Packaged schema, or a .yaml file.  [default: the one that fits]")
@click.option("--place", metavar="HEADER", help="For tables: header of the column with the places.")
@click.option(
    "--parent",
    metavar="HEADER",
    multiple=True,
    help="For tables: header of a column with the larger area that each place is in. Repeatable, "
    "largest first.",
)
@click.option(
    "--sheet",
    metavar="NAME",
    multiple=True,
    help="For workbooks: a sheet to read. Repeatable.  [default: all that are not hidden]",
)
@click.option(
    "--leave-out",
    metavar="HEADER",
    multiple=True,
    help="For tables: header of a column that has no counts. Repeatable.",
)
@click.option(
    "--count",
    metavar="HEADER",
    multiple=True,
    help="For tables: header of a column that counts some of the people in another column. "
    "Repeatable.",
)
@click.option(
    "--total",
    metavar="LABEL",
    multiple=True,
    help="For tables: a column, row or value that is a total, even if the numbers do not prove it. "
    "Repeatable.",
)
@click.option(
    "--apart",
    metavar="HEADER",
    multiple=True,
    help="For tables: header of a column whose labels exclude each other, none of them a total; or "
    "a column, row or value whose people are in none of the others beside it. Repeatable.",
)
@click.option(
    "--sum",
    metavar="'TOTAL = A + B'",
    multiple=True,
    help="For tables: the parts of a column, row or value, if too little is printed to find them; "
    "`...` stands for parts that are not printed. Repeatable.",
)
@click.option(
    "--where",
    metavar="HEADER=VALUE",
    multiple=True,
    help="For tables: read only the rows with this value in this column. Repeatable.",
)
@click.option(
    "--statistic",
    metavar="HEADER=WHAT",
    multiple=True,
    help="For tables: what a column of means, medians or the like summarises, such as 'Mean "
    "age=mean age 0..110'. Repeatable.",
)
@click.option(
    "--nil",
    metavar="TEXT",
    multiple=True,
    help="For tables: a text that means 0, such as '–'. Repeatable.",
)
@click.option(
    "--withheld",
    metavar="TEXT",
    multiple=True,
    help="For tables: a text in place of a count that is not published, for whatever reason. "
    "Repeatable.",
)
@click.option(
    "--unscaled",
    is_flag=True,
    help="For tables: numbers are plain counts, even if words beside them mention thousands.",
)
@click.option(
    "--thousands", metavar="MARK", help="For tables: the mark between groups of three digits."
)
@click.option(
    "--parentheses",
    type=click.Choice([NUMBERS, WITHHELD]),
    help="For tables: what a number in parentheses, such as (9), means: 9, or a withheld count.",
)
@click.option(
    "--one-place",
    is_flag=True,
    help="For tables: everything is about one place; rows are kinds of people there.",
)
@click.option(
    "--place-per-sheet",
    is_flag=True,
    help="For workbooks: each sheet is about one place, and is named after it.",
)
@click.option(
    "--above",
    type=click.Choice([PLACE, KIND]),
    help="For tables: rows stand in blocks, each below a row that names their place or kind.",
)
@click.option(
    "--header",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="ROW",
    help="For tables: number of a header row. Repeatable.",
)
@click.option(
    "--below",
    metavar="[TEXT=]N",
    multiple=True,
    help="Counts of 1 to N-1 are suppressed, or replaced by TEXT. Repeatable.  [default: unknown]",
)
@click.option(
    "--complementary",
    is_flag=True,
    help="With --below: other counts are suppressed, too, to protect these.",
)
@click.option(
    "--protecting",
    metavar="TEXT",
    multiple=True,
    help="For suppressed counts: a text for counts of any size that are hidden to protect "
    "others. Repeatable.",
)
@click.option("--zeros", is_flag=True, help="With --below: counts of 0 are suppressed, too.")
@click.option(
    "--rounded",
    type=click.Choice(get_args(Rounding)),
    help="For counts that are all multiples of a number: how they are rounded; none: they are "
    "exact.  [default: unknown]",
)
@click.option(
    "--all-places",
    is_flag=True,
    help="For tables: they list every place, so nobody is elsewhere.",
)
@click.option("--yes", is_flag=True, help="Accept the reading found, even if another is possible.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def command(
    paths: tuple[Path, ...],
    *,
    to: Path,
    release: str | None,
    yes: bool,
    dry_run: bool,
    force: bool,
    **said: Any,
) -> None:
    r"""Write a commented config for published files.

    PATH is a state's zip, a folder of zips, a folder of unzipped files, tidy CSV or Parquet
    (columns geoid, table, cell, count), or tables as portals and offices publish them: CSV, TSV,
    xlsx, JSON, or zips of them. The command finds out what it is and which packaged release it
    belongs to. If it belongs to none, it drafts a schema from the labels. It prints what it could
    not determine. At a terminal it asks about what the numbers leave open; elsewhere it ends with
    exit code 2 and prints the flag that gives each answer. A page beside the config shows each
    sheet as it was read. `recon run` then does everything that the config says.

    Example:
      recon init data/al2010.sf1.zip
      recon init DECENNIALPL2020.P*.zip
      recon init table.xlsx
      recon init tables/*.csv --release mine.yaml \
        --to audit.yaml
    """
    declared = Declared.of(**{name: said.pop(name) for name in _DECLARED})
    found, open_questions = _settled(paths, release, Said(**said), declared, yes=yes)
    page = None if not found.readings else _page(found)
    if open_questions:
        list_questions(open_questions)
        if page is not None and not dry_run:
            _write_page(reading_file(to), page)
            click.echo(f"  the sheets, with what is asked: {reading_file(to)}", err=True)
        needed = any(each.needs_answer for each in open_questions)
        raise ConfigError(
            f"{counted(len(open_questions), 'question')} to be answered, by a flag or at a "
            "terminal" + ("" if needed else "; --yes takes everything as it was read")
        )
    drafts = _Drafts.of(found, to)
    if dry_run:
        paths_of = [*drafts.texts, *([reading_file(to)] if page is not None else [])]
        show("init: dry run, nothing is written", _facts(drafts.found, to))
        click.echo(f"would write: {', '.join(map(str, paths_of))}")
        return
    drafts.write(force=force)
    facts = _facts(drafts.found, to)
    if page is not None:
        _write_page(reading_file(to), page)
        facts.append(("page", f"{reading_file(to)}, each sheet as it was read"))
    show(f"init: wrote {to}", facts)
    chosen = "" if to == Path(DEFAULT_FILE) else f" -c {shlex.quote(str(to))}"
    click.echo(f"next: recon run{chosen}")


def _settled(
    paths: Sequence[Path],
    release: str | None,
    said: Said,
    declared: Declared,
    *,
    yes: bool,
) -> tuple[RecognisedFiles, list[OpenQuestion]]:
    """Recognise files; at a terminal, repeat this until every question is answered.

    Returns:
        The files, and the questions that nobody was there to answer.
    """
    left: list[str] = []
    while True:
        choices = said.choices(codes_first=release is not None)
        ruled = filter(None, declared.rules)
        choices = replace(choices, withheld=(*choices.withheld, *ruled))
        found = recognise(paths, release, said.mapping, choices, declared)
        asked = [
            each for each in found.questions if each.needs_answer or not (yes or each.text in left)
        ]
        if not asked or not is_terminal():
            return found, asked
        answer = choose(asked[0])
        if answer is None:
            left.append(asked[0].text)
        else:
            declared, rest = declared.with_flags(answer)
            said = said.with_flags(rest)


@dataclass(frozen=True)
class _Drafts:
    """The texts of the files to write, and the recognised files that they are drafted from.

    Attributes:
        texts: The text of each file, by its path.
        schema: The drafted schema among them.
    """

    found: RecognisedFiles
    texts: Mapping[Path, str]
    schema: Path | None

    @classmethod
    def of(cls, found: RecognisedFiles, to: Path) -> _Drafts:
        """Compose the config, and the files that it names."""
        texts: dict[Path, str] = {}
        schema = None
        if found.draft is not None:
            schema = schema_file(to, found.release)
            if _is_other(schema, found.draft):
                schema = to.with_suffix(".schema.yaml")  # of another draft, or the officer's own
            texts[schema] = found.draft
            found = replace(found, release=str(schema))
        if found.needs_law:
            texts[protection_file(to)] = compose_protection(
                found.markers,
                found.base,
                found.declared,
                found.printed,
                found.shown_below,
                bases=found.bases,
            )
        if found.places:
            texts[places_file(to)] = "\n".join(("geoid", *found.places, ""))
        if found.names:
            texts[names_file(to)] = _names(found.names)
        texts[to] = compose(found, to)
        return cls(found, texts, schema)

    def write(self, *, force: bool) -> None:
        """Write all files, or none.

        Raises:
            ConfigError: A file is there already, with another text.
        """
        for path, text in () if force else self.texts.items():
            if _is_other(path, text):
                remedy = "choose another with --to, or give --force"
                if path == self.schema:
                    remedy = "name it with --release to use it, or give --force"
                raise ConfigError(f"{path}: is there already; {remedy}")
        for path, text in self.texts.items():
            write_named(path, text.encode())


def _is_other(path: Path, text: str) -> bool:
    """Test whether a file is there with another text."""
    return path.exists() and path.read_bytes() != text.encode()


def _page(found: RecognisedFiles) -> bytes:
    """Render the sheets as they were read."""
    title = found.schema.title if found.draft is None else found.paths[0].name
    return reading_page(found.readings, title, found.questions, found.unread).encode()


def _write_page(path: Path, page: bytes) -> None:
    """Write the page of the reading; overwrite only an earlier page.

    Raises:
        ConfigError: Another file is there.
    """
    if path.exists() and _OURS not in path.read_bytes()[:4096]:
        raise ConfigError(f"{path}: is there already, and no page of ours; choose another --to")
    write_named(path, page)


def _names(names: Mapping[str, str]) -> str:
    """Format geoids and names as CSV."""
    table = pl.DataFrame({"geoid": list(names), "name": list(names.values())}).sort("geoid")
    return csv_bytes(table).decode()


def _facts(found: RecognisedFiles, to: Path) -> list[Fact]:
    law = f"{protection_file(to)}, {_how_known(found)}" if found.needs_law else None
    if found.protection is not None:
        law = f"{found.protection}, as it is there"
    about = list(found.about[:3])
    drafted = found.mapping if found.draft is not None else {}
    grid = list(grid_lines(drafted))
    if len(found.about) > 3:
        about.append(f"and {len(found.about) - 3} more")
    unused = [*found.left_out, *found.unread]
    return [
        *([("not used", count_left_out(unused))] if unused else []),
        *(("statistics" if not i else "", line) for i, line in enumerate(told_statistics(unused))),
        ("source", f"{found.source}, {len(found.paths)} path{'s' * (len(found.paths) > 1)}"),
        ("release", f"{found.release} ({found.schema.title})"),
        *(("about" if not i else "", line) for i, line in enumerate(about)),
        *(("read as" if not i else "", line) for i, line in enumerate(grid)),
        *([] if law is None else [("law", law)]),
        *(("not told" if not i else "", line) for i, line in enumerate(found.doubts)),
    ]


def _how_known(found: RecognisedFiles) -> str:
    said = found.declared
    is_said = all(map(said.rule_of, found.markers)) and (
        said.rounding is not None or found.base is None
    )
    return "as it was said" if is_said else "a draft"
