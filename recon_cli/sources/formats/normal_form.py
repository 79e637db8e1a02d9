"""Tables in normal form: a column for places, one for each dimension and one for each count.

Rows keep their numbers; titles, headings, notes and statistics are removed; the labels of a row
become one text; numbers are written in digits alone, and other texts stay as they are.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np
import polars as pl

from recon_cli.coverage import LeftOut
from recon_cli.errors import ConfigError, SourceError
from recon_cli.sources.formats.codes import table_of
from recon_cli.sources.formats.count_sheet import (
    CountColumn,
    CountSheet,
    DimensionColumns,
    ShareColumn,
    StatisticColumn,
    cell_text,
)
from recon_cli.sources.formats.mapping import StatisticMapping
from recon_cli.sources.formats.sheet_texts import (
    count_text,
    count_texts,
    share_text,
    share_texts,
    statistic_text,
    statistic_texts,
)
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.numbers import Number
from recon_cli.sources.read.row_labels import PART_OF
from recon_cli.sources.read.table_reading import TableReading
from recon_cli.sources.tabular.sheet import ROW, Sheet

#: Name of the dimension whose categories are the rows of a table of one place.
ROWS: Final = "rows"
_PLACE: Final = "place"
_LABEL: Final = re.compile(r"!!|;|:")


@dataclass(frozen=True)
class _Columns:
    """The numbers of the columns that are read from a file besides the columns of places."""

    dimensions: list[int]
    counts: list[int]
    statistics: tuple[StatisticColumn, ...]


def count_sheet(
    sheet: Sheet, table: TableReading, said: Mapping[str, StatisticMapping] = MappingProxyType({})
) -> CountSheet:
    """Return a table of a sheet in normal form, with the roles of its columns.

    Args:
        said: Header of a column of statistics → its role.
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
        left_out=tuple(left_out(table.grid, table, Path(sheet.label).name)),
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
    """Return the headers of places, the largest first; none if each sheet is a place."""
    if table.sheet_place is not None:
        return ()
    return tuple(table.header(at) for at in (*table.parents, table.place) if at is not None)


def _statistics(
    table: TableReading, said: Mapping[str, StatisticMapping]
) -> list[tuple[int, StatisticMapping]]:
    """Return the columns of statistics in a table, with the role of each.

    Raises:
        ConfigError: The role names counts that are in no column.
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


def left_out(grid: Grid, table: TableReading, name: str) -> Iterator[LeftOut]:
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
    """Yield the texts in columns of percentages that bound a percentage: ``≥95%``."""
    for each in table.shares:
        texts, number = grid.coded((table.region.body, each.line))
        told = [grid.number(text) is None and any(map(str.isdigit, text)) for text in texts]
        if cells := int(np.array(told, dtype=bool)[number].sum()):
            yield LeftOut(name, f"{table.header(each.line)} (bounds)", cells)


def _has_value_beside(number: Number | None) -> bool:
    return number is not None and number.has_value_beside


def _labels(grid: Grid, table: TableReading) -> pl.DataFrame:
    """Return the place of each row and, in a table of one place, the words of what it counts."""
    rows = grid.rows[table.region.body]
    words = table.place_texts
    frame = {ROW: rows.astype(np.uint32), "0": words}
    if table.are_kinds:
        frame = {ROW: rows.astype(np.uint32), "0": [table.only_place] * len(words), "1": words}
    return pl.DataFrame(frame, schema_overrides={ROW: pl.UInt32})


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
    """Label the rows beyond those from which the reading was proposed, by their own cells.

    Raises:
        SourceError: The names of these rows stand in other rows.
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
    """Put the flag in place of a number that the flag withdraws."""
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
    """Return the labels of dimensions, repeated from above; None without dimensions."""
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
    """Map columns of counts to columns of flags, and the rows whose number a flag withdraws."""
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
