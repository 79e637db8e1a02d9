"""Sheets of no known format, read with a mapping."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from recon_cli.coverage import LeftOut
from recon_cli.errors import ConfigError, SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.formats.count_sheet import COLUMNS, CountSheet, Format
from recon_cli.sources.formats.mapping import FileMapping, left_name
from recon_cli.sources.formats.normal_form import ROWS, count_sheet, left_out
from recon_cli.sources.formats.row_blocks import with_column_above
from recon_cli.sources.read.choices import Choices
from recon_cli.sources.read.headers import nameless
from recon_cli.sources.read.numbers import is_year
from recon_cli.sources.read.reading import Reading
from recon_cli.sources.read.roles import Role
from recon_cli.sources.read.table_reading import SheetPlace, TableReading
from recon_cli.sources.tabular import read_sheet
from recon_cli.sources.tabular.sheet import Sheet

#: Cells of a sheet from which its reading is derived, before further rows are read alike.
_MOST_REPLAYED: Final = 200_000
#: The number of people that a header or a label states: ``Men (N=21)``.
_SIZE: Final = re.compile(r"\b[nN]\s*=\s*\d")

_Read = TypeVar("_Read", bound=Reading)


def choices_of(mapping: FileMapping) -> Choices:
    """Convert a mapping to choices for reading a sheet."""
    labels = mapping.labels
    coded = [header for header, code in mapping.columns.items() if code is not None]
    return Choices(
        header=tuple(mapping.header),
        place=mapping.place,
        parent=tuple(mapping.parent),
        count=(
            *(label for name, own in labels.items() if _is_columns(name) for label in own),
            *coded,
        ),
        are_kinds=ROWS in labels if labels else None,
        place_per_sheet=mapping.place_per_sheet,
        above=mapping.above,
        leave_out={
            **{header: "" for header, code in mapping.columns.items() if code is None},
            **mapping.leave_out,
        },
        dimension=tuple(
            dict.fromkeys(
                (
                    *(name for name in labels if name != ROWS and not _is_columns(name)),
                    *(name for name, said in mapping.dimensions.items() if said.feature),
                )
            )
        ),
        zeros=tuple(mapping.zeros),
        thousands=mapping.thousands,
        parentheses=mapping.parentheses,
        where={header: tuple(values) for header, values in mapping.where.items()},
        shares={
            header: (said.of, said.base, said.times) for header, said in mapping.percentages.items()
        },
        statistics=dict.fromkeys(mapping.statistics, ""),
        codes_first=not (labels or coded),
        is_mapped=bool(labels or coded),
    )


def _is_columns(name: str) -> bool:
    return name == COLUMNS or name.startswith(f"{COLUMNS} of ")


def _read(
    document: Document, _beside: Sequence[Document], mapping: FileMapping
) -> tuple[CountSheet, ...]:
    choices = choices_of(mapping)
    sheet = sheet_as_said(document, choices)
    reading = as_said(_replayed(sheet, choices), document, choices)
    tables = [table for table in reading.tables if table.counts]
    for table in tables:
        require_each_once(table)
    found = [count_sheet(sheet, table, mapping.statistics) for table in tables]
    if not found:
        raise SourceError(
            f"{sheet.label}: has no counts; name the sheets to read: mapping.sheet "
            "(`recon init --sheet`)"
        )
    beside = tuple(numbers_beside(reading, Path(sheet.label).name))
    return replace(found[0], left_out=(*found[0].left_out, *beside)), *found[1:]


def sheet_as_said(document: Document, choices: Choices) -> Sheet:
    """Read a sheet; if its rows stand in blocks, add a column with the label above each block.

    Raises:
        SourceError: The sheet has no such blocks, or rows between them.
    """
    sheet = read_sheet(document)
    return with_column_above(sheet, choices.above) if choices.above else sheet


def as_said(reading: _Read, document: Document, choices: Choices) -> _Read:
    """Number the tables of a sheet, and apply the choices about whole tables.

    A table that is left out loses its counts; if each sheet has one place, its tables get it.

    Raises:
        ConfigError: Each sheet is to have one place, but the file has no sheets.
        SourceError: A number is ambiguous, or its column has no header.
    """
    name, number = document.sheet or document.name, 0
    place = _sheet_place(document, choices) if choices.place_per_sheet else None
    tables = []
    for table in reading.tables:
        number += bool(table.counts)
        own = replace(table, number=number if table.counts else 0, sheet_place=place)
        is_left = table.counts and left_name(name, number) in choices.leave_out
        tables.append(_left_table(own, left_name(name, number), choices) if is_left else own)
    found = replace(reading, tables=tuple(tables))
    require_certain(found)
    return found


def _sheet_place(document: Document, choices: Choices) -> SheetPlace:
    if document.sheet is None:
        raise ConfigError(f"{document.label}: no sheet for each place: the file has one table")
    name = document.sheet
    return SheetPlace(name, name in choices.total, name in choices.apart)


def numbers_beside(reading: Reading, name: str) -> Iterator[LeftOut]:
    """Yield the numbers of a sheet that are in no table of counts, by their headers or rows.

    Years and the numbers of notes are not included; numbers in a word, as in *Men (N=21)*, are.

    Args:
        name: Name of the sheet in the manifest.
    """
    for table in reading.tables:
        if not table.counts:
            yield from left_out(table.grid, table, name)
    grid = reading.grid
    sizes = grid.of_words(lambda word: _SIZE.search(word) is not None, bool)
    for text in dict.fromkeys(grid.texts[sizes].tolist()):
        yield LeftOut(name, f"N in {text!r}", int((grid.texts[sizes] == text).sum()))
    is_beside = grid.is_number & np.isin(reading.roles, (Role.TITLE, Role.NOTE))
    is_beside &= ~grid.of_words(lambda word: (n := grid.number(word)) is None or is_year(n), bool)
    for table in reading.tables:
        for rows in table.not_chosen.values():  # told by the column that they are chosen by
            is_beside[rows] = False
    has_words_before = np.cumsum(grid.filled & ~grid.is_number, axis=1) > 0
    for row in np.flatnonzero((is_beside & has_words_before).any(axis=1)).tolist():
        words = next(text for text in grid.texts[row] if grid.number(text) is None and text)
        yield LeftOut(name, words, int((is_beside & has_words_before)[row].sum()))


def _left_table(table: TableReading, name: str, choices: Choices) -> TableReading:
    """Leave out all counts of a table, for the reason in ``choices``."""
    reasons = dict.fromkeys(table.counts, choices.leave_out[name])
    return replace(table, counts=(), left_out={**table.left_out, **reasons}, left_as=name)


def _replayed(sheet: Sheet, choices: Choices) -> Reading:
    """Read a sheet by a mapping: only its first rows, if later rows can be read alike.

    They can in a long table that has places, dimensions and counts, and nothing else.
    """
    is_plain = not (choices.where or choices.leave_out or choices.shares or choices.statistics)
    if choices.is_mapped and is_plain:
        first = Reading.of(sheet, choices, _MOST_REPLAYED)
        if first.grid.is_whole or _is_plain(first):
            return first
    return Reading.of(sheet, choices)


def _is_plain(reading: Reading) -> bool:
    """Test whether each row has its own labels and counts, so that later rows are read alike."""
    if len(reading.tables) != 1:
        return False
    (table,) = reading.tables
    chain = len(table.parents) + (table.place is not None)
    named = np.array([*table.parents, *table.names.keys], dtype=np.intp)
    return (
        table.names.is_long
        # A column of flags may have its first one far below.
        and {*named.tolist(), *table.counts} == {*range(reading.grid.shape[1])}
        and bool(reading.grid.filled[np.ix_(table.region.body, named)].all())
        and not table.are_kinds
        and all(len(path) == chain for path in table.rows)
    )


def require_certain(reading: Reading) -> None:
    """Refuse a sheet with numbers that may be thousands or decimals, or that have no header.

    Raises:
        SourceError: There is such a number; the message has a remedy.
    """
    if text := reading.ambiguous:
        plain = re.sub(r"\D", "", text)
        mark = re.sub(r"\d", "", text)[:1]
        row, column = np.argwhere(reading.grid.texts == text)[0].tolist()
        raise SourceError(
            f"{reading.grid.label}: row {int(reading.grid.rows[row])}, column {column + 1}: "
            f"expected a whole number, found {text!r}; if it is {plain}, say "
            f"mapping.thousands: {mark!r} (`recon init --thousands {mark}`); if it is "
            f"{text.partition(mark)[0]}, write it so"
        )
    for table in reading.tables:
        for at in nameless(table.grid, table.region):
            rows = table.region.body[table.grid.is_number[table.region.body, at]]
            if len(rows) and at not in table.left_out:
                row = int(table.grid.rows[rows[0]])
                raise SourceError(
                    f"{reading.grid.label}: row {row}, column {at + 1}: "
                    f"{str(table.grid.texts[rows[0], at])!r} in a column that has no header: has "
                    "one been lost? mend the row, or name the column"
                )


def require_each_once(table: TableReading) -> None:
    """Require that no two rows of a table of places share a name.

    Raises:
        SourceError: Two rows do; the message has a remedy.
    """
    words = table.place_texts
    twice = None if table.names.is_long else _twice(words)
    if twice is not None:
        first, again = (int(table.grid.rows[table.region.body[i]]) for i in twice)
        raise SourceError(
            f"{table.grid.label}: row {again}: {words[twice[1]]!r} is in row {first} already; add "
            "a column with a code for each place, or with what it is part of, or leave one row out"
        )


def _twice(words: list[str]) -> tuple[int, int] | None:
    seen: dict[str, int] = {}
    for i, word in enumerate(words):
        if word in seen:
            return seen[word], i
        seen[word] = i
    return None


SHEET: Final = Format("sheet", "a sheet read by its numbers", lambda _: True, _read)
