"""A table as it was read in normal form: a column for places, for dimensions and for each count.

Rows keep their numbers; titles, headings, notes and statistics are gone; what stands beside a row
in several cells is one text; a number is printed in digits alone, and what is no number as it was.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

import numpy as np
import polars as pl

from recon_cli.coverage import LeftOut
from recon_cli.errors import ConfigError, SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.formats.codes import table_of
from recon_cli.sources.formats.count_sheet import (
    COLUMNS,
    CountColumn,
    CountSheet,
    DimensionColumns,
    Format,
    ShareColumn,
    StatisticColumn,
    Values,
    cell_text,
)
from recon_cli.sources.formats.mapping import FileMapping, StatisticMapping, left_name
from recon_cli.sources.formats.row_blocks import with_column_above
from recon_cli.sources.formats.sheet_texts import (
    count_text,
    count_texts,
    share_text,
    share_texts,
    statistic_text,
    statistic_texts,
)
from recon_cli.sources.read.choices import Choices
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.headers import nameless
from recon_cli.sources.read.numbers import Number, is_year
from recon_cli.sources.read.reading import Reading
from recon_cli.sources.read.roles import Role
from recon_cli.sources.read.row_labels import PART_OF
from recon_cli.sources.read.table_reading import SheetPlace, TableReading
from recon_cli.sources.tabular import read_sheet
from recon_cli.sources.tabular.sheet import ROW, Sheet

#: The name of the dimension that the rows of a table of one place are.
ROWS: Final = "rows"
_PLACE: Final = "place"
#: Cells of a sheet that are looked at before the rest is read alike.
_MOST_REPLAYED: Final = 200_000
#: How many people a header or a label says that it is of: ``Men (N=21)``.
_SIZE: Final = re.compile(r"\b[nN]\s*=\s*\d")
_LABEL: Final = re.compile(r"!!|;|:")


_Read = TypeVar("_Read", bound=Reading)

#: Labels → what a mapping says that each counts.
Said = Mapping[str, Values]


@dataclass(frozen=True)
class _Columns:
    """The columns of a file that are read beside those of places, by their numbers."""

    dimensions: list[int]
    counts: list[int]
    statistics: tuple[StatisticColumn, ...]


def choices_of(mapping: FileMapping) -> Choices:
    """Return what a mapping says of a sheet."""
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
    """Read a sheet; where rows stand in blocks, with a column of what these are about.

    Raises:
        SourceError: It has no such blocks, or rows between them.
    """
    sheet = read_sheet(document)
    return with_column_above(sheet, choices.above) if choices.above else sheet


def as_said(reading: _Read, document: Document, choices: Choices) -> _Read:
    """Return the tables of a sheet, numbered, with what is said of all of one.

    One that is left out has no counts; where each sheet is about a place, it has that.

    Raises:
        ConfigError: The file has no further sheet, where each is to be about a place.
        SourceError: A number may be another one.
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

    Years are none, and neither is what numbers a note. Those in a word, as in *Men (N=21)*, are.

    Args:
        name: How the manifest calls the sheet.
    """
    for table in reading.tables:
        if not table.counts:
            yield from _left_out(table.grid, table, name)
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
    """Return a table of which nothing is used, as somebody says."""
    reasons = dict.fromkeys(table.counts, choices.leave_out[name])
    return replace(table, counts=(), left_out={**table.left_out, **reasons}, left_as=name)


def _replayed(sheet: Sheet, choices: Choices) -> Reading:
    """Return the reading that a mapping says: of the first rows, where those behind are read alike.

    So are those of a long table of places, dimensions and counts, and nothing else.
    """
    is_plain = not (choices.where or choices.leave_out or choices.shares or choices.statistics)
    if choices.is_mapped and is_plain:
        first = Reading.of(sheet, choices, _MOST_REPLAYED)
        if first.grid.is_whole or _is_plain(first):
            return first
    return Reading.of(sheet, choices)


def _is_plain(reading: Reading) -> bool:
    """Test whether rows behind those that were looked at have their labels and counts in them."""
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
    """Refuse a sheet whose numbers may be of thousands or of parts, or have no header.

    Raises:
        SourceError: Names such a number and the remedy.
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


def count_sheet(
    sheet: Sheet, table: TableReading, said: Mapping[str, StatisticMapping] = MappingProxyType({})
) -> CountSheet:
    """Return a table of a sheet in normal form, with the roles of its columns.

    Args:
        said: Header of a column of statistics → what it is.
    """
    names = table.names
    dimensions = [at for at in names.keys if names.is_long and at != table.place]
    counts = list(table.counts)
    labels = _labels(table.grid, table)
    at_place = None if table.are_kinds else table.place
    place = _PLACE if at_place is None else table.header(at_place)
    headers = [place, *([ROWS] if table.are_kinds else [])]
    headers += [table.header(at) for at in dimensions]
    first = len(headers)
    headers += [table.header(at) for at in counts]
    shares = tuple(
        ShareColumn(
            len(headers) + i,
            table.header(each.line),
            first + counts.index(each.part),
            first + counts.index(each.base),
            each.times,
            each.line,
        )
        for i, each in enumerate(table.shares)
        if {each.part, each.base} <= {*counts}
    )
    headers += [each.header for each in shares]
    at_header = {table.header(at): first + i for i, at in enumerate(counts)}
    statistics = tuple(
        StatisticColumn(len(headers) + i, table.header(at), at_header[own.of], own.table, at)
        for i, (at, own) in enumerate(_statistics(table, said))
    )
    headers += [each.header for each in statistics]
    read = _Columns(dimensions, counts, statistics)
    normal = Sheet(
        sheet.label,
        _head(table.grid, table, labels, read),
        len(headers),
        lambda: _batches(sheet, table, labels, read),
    )
    return CountSheet(
        normal,
        0,
        tuple(headers),
        (0,),
        cell_text(0),
        tuple(_count(table, at, first + i) for i, at in enumerate(counts)),
        tuple(
            DimensionColumns(headers[i], i, origin=origin)
            for i, origin in enumerate([*([-1] if table.are_kinds else []), *dimensions], start=1)
        ),
        levels=_levels(table),
        left_out=tuple(_left_out(table.grid, table, Path(sheet.label).name)),
        place_column=table.place if table.place is not None else 0,
        repeated={
            int(table.grid.rows[again]): int(table.grid.rows[row])
            for again, row in table.repeated.items()
        },
        table_number=table.number,
        shares=shares,
        statistics=statistics,
    )


def _levels(table: TableReading) -> tuple[str, ...]:
    """Return what places are called, the largest first; nothing says what sheets are."""
    if table.sheet_place is not None:
        return ()
    return tuple(table.header(at) for at in (*table.parents, table.place) if at is not None)


def _statistics(
    table: TableReading, said: Mapping[str, StatisticMapping]
) -> list[tuple[int, StatisticMapping]]:
    """Return the columns of statistics whose counts are in a table, and what each is.

    Raises:
        ConfigError: The counts that one is said to be of are in no column of them.
    """
    found = [(at, said[name]) for at in table.printed if (name := table.header(at)) in said]
    counts = [table.header(at) for at in table.counts]
    for at, own in found:
        if own.of not in counts:
            near = difflib.get_close_matches(own.of, counts, n=3)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise ConfigError(
                f"mapping.statistics: {table.header(at)!r}: of: no column of counts is called "
                f"{own.of!r}{hint}"
            )
    return found


def _count(table: TableReading, at: int, number: int) -> CountColumn:
    """Return a column of counts in its place in the normal form."""
    words = table.headers.get(at, ())
    is_alone = len(table.counts) == 1 and (table.names.is_long or table.are_kinds)
    parts = () if is_alone else tuple(part for word in words for part in label_parts(word))
    code = words[-1] if words else None
    named, cell = table_of(code or "") or (None, None)
    return CountColumn(number, table.header(at), code, named, cell, parts, origin=at)


def label_parts(label: str) -> tuple[str, ...]:
    """Split the words of a label, outermost first.

    >>> label_parts(" !!Total:!!Male:!!Under 5 years"), label_parts("Males: 65 and over")
    (('Total', 'Male', 'Under 5 years'), ('Males', '65 and over'))
    """
    return tuple(part.strip() for part in _LABEL.split(label) if part.strip())


def _left_out(grid: Grid, table: TableReading, name: str) -> Iterator[LeftOut]:
    """Yield the numbers of a table that are in no column of counts, by their headers."""
    if table.left_as:
        cells = int(grid.is_number[np.ix_(table.region.body, table.region.numeric)].sum())
        yield LeftOut(name, table.left_as, cells, next(iter(table.left_out.values())))
        return
    for at in sorted({*table.statistics, *table.left_out}):
        cells = int(grid.is_number[table.region.body, at].sum())
        if cells:
            yield LeftOut(name, table.header(at), cells, table.left_out.get(at, ""))
    yield from _bounds(grid, table, name)
    beside = grid.of_words(lambda word: _has_value_beside(grid.number(word)), bool)
    for at in table.counts:
        if cells := int(beside[table.region.body, at].sum()):
            yield LeftOut(name, f"{table.header(at)} (in parentheses)", cells)
    for label, row in table.left_rows:
        if cells := int(grid.is_number[row, table.region.numeric].sum()):
            yield LeftOut(name, label, cells, table.row_reasons.get(label, ""))
    for at, rows in table.not_chosen.items():
        if cells := int(grid.is_number[np.ix_(rows, np.array(table.counts, np.intp))].sum()):
            yield LeftOut(name, table.header(at), cells)


def _bounds(grid: Grid, table: TableReading, name: str) -> Iterator[LeftOut]:
    """Yield the texts in columns of percentages that say between what one lies: ``≥95%``."""
    for each in table.shares:
        texts, number = grid.coded((table.region.body, each.line))
        told = [grid.number(text) is None and any(map(str.isdigit, text)) for text in texts]
        if cells := int(np.array(told, dtype=bool)[number].sum()):
            yield LeftOut(name, f"{table.header(each.line)} (bounds)", cells)


def _has_value_beside(number: Number | None) -> bool:
    return number is not None and number.has_value_beside


def _labels(grid: Grid, table: TableReading) -> pl.DataFrame:
    """Map each row to its place and, in a table of one place, to what it counts."""
    rows = grid.rows[table.region.body]
    words = table.place_texts
    frame = {ROW: rows.astype(np.uint32), "0": words}
    if table.are_kinds:
        frame = {ROW: rows.astype(np.uint32), "0": [table.only_place] * len(words), "1": words}
    return pl.DataFrame(frame, schema_overrides={ROW: pl.UInt32})


def require_each_once(table: TableReading) -> None:
    """Require that no two rows of a table of places have one name.

    Raises:
        SourceError: Names the rows, and a remedy.
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


def _head(
    grid: Grid,
    table: TableReading,
    labels: pl.DataFrame,
    read: _Columns,
) -> tuple[tuple[str, ...], ...]:
    rows = table.region.body[:60]
    beside = labels.drop(ROW).head(60).rows()
    return tuple(
        (
            *(str(cell) for cell in own),
            *(str(grid.texts[row, at]) for at in read.dimensions),
            *(count_text(grid, str(grid.texts[row, at])) for at in read.counts),
            *(share_text(grid, str(grid.texts[row, each.line])) or "" for each in table.shares),
            *(statistic_text(grid, str(grid.texts[row, each.column])) for each in read.statistics),
        )
        for row, own in zip(rows.tolist(), beside, strict=True)
    )


def _batches(
    sheet: Sheet,
    table: TableReading,
    labels: pl.DataFrame,
    read: _Columns,
) -> Iterator[pl.DataFrame]:
    dimensions, counts = read.dimensions, read.counts
    filled = _filled(table.grid, table, dimensions)
    withheld = _withheld_rows(table.grid, table, counts)
    beside = [f"label {name}" for name in labels.columns if name != ROW]
    known = labels.rename({name: f"label {name}" for name in labels.columns if name != ROW})
    last = int(table.grid.rows[-1])
    for batch in sheet.batches():
        rows = batch.join(known, on=ROW, how="inner", maintain_order="left")
        if filled is not None:
            rows = rows.join(filled, on=ROW, how="left", maintain_order="left")
        if not table.grid.is_whole:
            later = _labelled(batch.filter(pl.col(ROW) > last), table, dimensions, beside)
            rows = pl.concat([rows, later.select(rows.columns)])
        if not rows.height:
            continue
        columns = [
            rows[ROW],
            *(rows[name] for name in beside),
            *(rows[f"d{at}"] for at in dimensions),
        ]
        columns += [
            _with_flags(count_texts(rows[str(at)], table.grid), rows, withheld.get(at))
            for at in counts
        ]
        columns += [share_texts(rows[str(each.line)], table.grid) for each in table.shares]
        columns += [statistic_texts(rows[str(each.column)], table.grid) for each in read.statistics]
        names = [ROW, *map(str, range(len(columns) - 1))]
        yield pl.DataFrame(dict(zip(names, columns, strict=True)))


def _labelled(
    rows: pl.DataFrame, table: TableReading, dimensions: list[int], beside: Sequence[str]
) -> pl.DataFrame:
    """Label rows behind those that a reading was proposed from with what stands in them.

    Raises:
        SourceError: What names a row stands in other rows, and these are too many.
    """
    chain = [*table.parents, *([] if table.place is None else [table.place])]
    if table.are_kinds or any(len(path) != len(chain) for path in table.rows):
        raise SourceError(
            f"{table.grid.label}: more than {len(table.grid.rows):,} rows, under headings or with "
            "blanks for the label above; write in each row what it is part of"
        )
    words = [cell_text(at) for at in chain]
    place = pl.concat_str(words, separator=PART_OF, ignore_nulls=True).alias(beside[0])
    return rows.with_columns(place, *(cell_text(at).alias(f"d{at}") for at in dimensions))


def _with_flags(
    own: pl.Series, rows: pl.DataFrame, withheld: tuple[int, list[int]] | None
) -> pl.Series:
    """Put the flag in place of a number that it takes back."""
    if withheld is None:
        return own
    flag, taken = withheld
    is_taken = rows[ROW].is_in(taken) | (rows[ROW] > max(taken)) & own.fill_null("0").is_in(["0"])
    text = rows[str(flag)].str.strip_chars()
    return (
        pl.DataFrame({"own": own, "flag": text, "is_taken": is_taken & text.is_not_null()})
        .select(pl.when("is_taken").then("flag").otherwise("own"))
        .to_series()
    )


def _filled(grid: Grid, table: TableReading, dimensions: list[int]) -> pl.DataFrame | None:
    """Return labels of dimensions that were repeated from above; None where none was."""
    rows = grid.rows[table.region.body].astype(np.uint32)
    if not dimensions:
        return None
    frame: dict[str, object] = {ROW: rows}
    for at in dimensions:
        frame[f"d{at}"] = [str(text) or None for text in grid.texts[table.region.body, at].tolist()]
    return pl.DataFrame(frame, schema_overrides={ROW: pl.UInt32})


def _withheld_rows(
    grid: Grid, table: TableReading, counts: list[int]
) -> dict[int, tuple[int, list[int]]]:
    """Map columns of counts to columns of flags, and the rows whose number a flag takes back."""
    found: dict[int, tuple[int, list[int]]] = {}
    for at in counts:
        for flag in table.names.flags:
            taken = table.region.body[
                table.withheld[table.region.body, at]
                | (grid.filled[table.region.body, flag] & ~grid.filled[table.region.body, at])
            ]
            if len(taken):
                found[at] = flag, grid.rows[taken].tolist()
    return found


SHEET: Final = Format("sheet", "a sheet read by its numbers", lambda _: True, _read)
