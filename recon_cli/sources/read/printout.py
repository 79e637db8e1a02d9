"""What a reading finds, in lines that people read: questions first, then relations and cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from recon_cli.plurals import plural
from recon_cli.sources.documents import open_documents
from recon_cli.sources.read.choices import NO_CHOICES, Choices
from recon_cli.sources.read.reading import Reading
from recon_cli.sources.read.relations import Axis, Relation
from recon_cli.sources.read.roles import Role
from recon_cli.sources.read.sums import Support
from recon_cli.sources.read.table_reading import TableReading
from recon_cli.sources.tabular import documents_of_sheets, read_sheet

#: Relations of one kind that are shown; further ones are counted.
_MOST: Final = 8
#: Parts of a sum that are named; of more the first and the last are.
_PARTS: Final = 3
_WORDS: Final = {
    Role.COUNT: "count",
    Role.SHARE: "percentage",
    Role.STATISTIC: "statistic",
    Role.MARKER: "marker",
    Role.NOTE: "note",
    Role.LEFT_OUT: "cell left out",
}


def describe(
    paths: Iterable[Path], sheets: Sequence[str], choices: Choices = NO_CHOICES
) -> Iterator[str]:
    """The lines for every sheet of some files, as `lines` gives them.

    Args:
        sheets: Of workbooks: the sheets to read; all that are not hidden if empty.

    Raises:
        SourceError: A file is damaged, or has nothing in it.
    """
    for path in paths:
        for document in open_documents(path):
            for each in documents_of_sheets(document, sheets):
                sheet = read_sheet(each)
                yield sheet.label
                yield from lines(Reading.of(sheet, choices))


def lines(reading: Reading) -> Iterator[str]:
    """The lines for one sheet: each table with its questions, its relations, and its cells."""
    if not reading.tables:
        yield "  no table of numbers"
        return
    for number, table in enumerate(reading.tables, start=1):
        shape = "a row a count" if table.names.is_long else "a row a place or a category"
        yield (
            f"Table {number}   {len(table.region.body):,} rows, "
            f"{len(table.region.numeric)} columns of numbers; {shape}"
        )
        for question in table.questions:
            yield f"  ? {question.text}"
            yield from (f"      {answer}: {flag}" for answer, flag in question.answers.items())
        yield from _relations(reading, table)
    yield "  " + _cells(reading)


def _relations(reading: Reading, table: TableReading) -> Iterator[str]:
    named = [
        (f"  {table.header(each.line)} = {_of(table, each)}", each.support)
        for each in table.relations.found
        if each.axis is Axis.COLUMNS
    ]
    named += [
        (
            f"  {table.header(each.dimension)}: {each.total or 'blank'} = {_joined(each.parts)}",
            each.support,
        )
        for each in table.values
    ]
    named += [
        (
            f"  row {_row(reading, table, each.line)} = {_parts_of_rows(reading, table, each)}",
            each.support,
        )
        for each in table.relations.sums(Axis.ROWS)
    ]
    for text, support in named[:_MOST]:
        yield f"{text:<60} {_shown(support)}"
    if len(named) > _MOST:
        yield f"  and {len(named) - _MOST} more relations"
    for feature in table.lattice.features:
        within = f", within {feature.inside}" if feature.inside else ""
        yield f"  feature {feature.name}: {_joined(feature.values)}{within}"


def _of(table: TableReading, each: Relation) -> str:
    names = [table.header(at) for at in each.of]
    return _joined(names) if each.is_sum else f"{each.per:g} × {names[0]} / {names[1]}"


def _parts_of_rows(reading: Reading, table: TableReading, each: Relation) -> str:
    return _joined([_row(reading, table, row) for row in each.of])


def _row(reading: Reading, table: TableReading, row: int) -> str:
    at = table.place if table.place is not None else 0
    return str(reading.grid.texts[row, at]) or str(reading.grid.rows[row])


def _joined(names: Sequence[str]) -> str:
    if len(names) <= _PARTS:
        return " + ".join(names)
    return f"{names[0]} + … + {names[-1]} ({len(names)})"


def _shown(support: Support) -> str:
    rows = f"shown in {support.shown:,}"
    if support.open:
        rows += f", {support.open:,} leave it open"
    if support.broken:
        rows += f", {support.broken:,} break it"
    return rows


def _cells(reading: Reading) -> str:
    found = reading.cells()
    parts = [
        f"{found[role]:,} {word if found[role] == 1 else plural(word)}"
        for role, word in _WORDS.items()
        if role in found
    ]
    left = "" if Role.LEFT_OUT in found else "; nothing left out"
    return ", ".join(parts) + left
