"""Any table with a row a count: dimension columns and one column of values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet, DimensionColumns, Format
from recon_cli.sources.formats.header import HeadedSheet, header_rows, numbers_in
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.formats.place import (
    guessed_place,
    is_code_header,
    is_place_header,
    place_column,
)
from recon_cli.sources.tabular import Sheet, read_sheet
from recon_cli.statement.suppression import is_marker

#: Headers of counts, in small letters.
_VALUES: Final = (
    "value", "count", "counts", "obs_value", "observation", "obs", "frequency", "freq",
)  # fmt: skip
#: Headers of counts that are also those of a column of a table with a row a place.
_NOUNS: Final = (
    "n", "number", "persons", "people", "population", "residents", "households", "families",
    "stays", "patients", "cases", "admissions", "visits", "pupils", "students", "births", "deaths",
    "records",
)  # fmt: skip
_FLAGS: Final = ("flag", "flags", "status", "symbol", "obs_status", "obs_flag", "conf_status")
_WHOLE: Final = re.compile(r"[0-9]+|[0-9]{1,3}([.,' \u00a0\u202f][0-9]{3})+")
#: A table with a row a count has a place, something that is counted by, and the count.
_FEWEST_COLUMNS: Final = 3


def _recognises(document: Document) -> bool:
    """A column of counts by its name or its place, and columns of words beside it."""
    try:
        sheet = read_sheet(document)
        rows = header_rows(sheet, ())
    except SourceError:
        return False
    return _value(sheet, rows[-1]) is not None


def _read(document: Document, _beside: Sequence[Document], mapping: FileMapping) -> CountSheet:
    """Every other column is a dimension; one that names the places is passed over."""
    sheet = read_sheet(document)
    rows = header_rows(sheet, mapping.header)
    headers = sheet.head[rows[-1]]
    value = _value(sheet, rows[-1])
    if value is None:
        raise SourceError(
            f"{sheet.label}: expected a column named {', '.join(_VALUES)}; found "
            + ", ".join(map(repr, filter(None, headers)))
        )
    place = place_column(sheet, headers, rows[-1], mapping)
    flags = tuple(i for i, each in enumerate(headers) if each.casefold() in _FLAGS)
    dimensions = tuple(
        DimensionColumns(header, i)
        for i, header in enumerate(headers)
        if header
        and i not in (place, value, *flags)
        and not _is_of_the_place(sheet, rows[-1], place, i)
    )
    count = CountColumn(value, headers[value])
    return HeadedSheet(sheet, rows[-1]).roles(place, (count,), dimensions, flags)


def names_counts(header: str) -> bool:
    """Whether a header says that its column has counts."""
    return header.casefold() in (*_VALUES, *_NOUNS)


def _value(sheet: Sheet, header: int) -> int | None:
    """The column of counts.

    A noun may as well be the header of one count of many of a place, and the last column has a
    name of its own: then places stand in several rows, or no other column has numbers.
    """
    headers = sheet.head[header]
    lower = [each.casefold() for each in headers]
    filled = [i for i, each in enumerate(headers) if each]
    if len(filled) < _FEWEST_COLUMNS:
        return None
    if (by_name := _first(lower, _VALUES)) is not None:
        return by_name
    body = [row for row in sheet.head[header + 1 :] if any(row)]
    place = guessed_place(headers) or 0
    repeats = len({row[place] for row in body}) < len(body)
    numbers = [
        i
        for i in filled
        if i != place and not is_code_header(headers[i]) and _are_counts([row[i] for row in body])
    ]
    by_noun = _first(lower, _NOUNS)
    if by_noun is not None:
        is_one_of_many = lower.count(lower[by_noun]) > 1 or _counts_all(body, by_noun, numbers)
        return by_noun if numbers in ([], [by_noun]) or (repeats and not is_one_of_many) else None
    last = filled[-1]
    are_whole = all(is_marker(row[last]) or _WHOLE.fullmatch(row[last]) for row in body)
    return last if repeats and numbers == [last] and are_whole else None


def _counts_all(body: Sequence[Sequence[str]], at: int, numbers: Sequence[int]) -> bool:
    """Whether a column is never less than some others: the total of a table with a row a place."""
    rows = [[row[i] for i in (at, *numbers)] for row in body]
    known = [[int(cell) for cell in row if cell.isdigit()] for row in rows if row[0].isdigit()]
    return len(numbers) > 1 and all(row[0] >= max(row) for row in known)


def _first(headers: Sequence[str], names: Sequence[str]) -> int | None:
    return next((headers.index(name) for name in names if name in headers), None)


def _are_counts(cells: Sequence[str]) -> bool:
    """Whether all are numbers or stand for suppressed ones, and some are numbers."""
    numbers = numbers_in(cells)
    return 0 < numbers == sum(not is_marker(cell) for cell in cells)


def _is_of_the_place(sheet: Sheet, header: int, place: int, column: int) -> bool:
    """Whether a column has one word for each place: its name, or what it is part of."""
    pairs = {(row[place], row[column]) for row in sheet.head[header + 1 :]}
    is_name = len({word for _, word in pairs}) == len(pairs)
    is_told = is_name or is_place_header(sheet.head[header][column])
    return is_told and 1 < len({place for place, _ in pairs}) == len(pairs)


LONG: Final = Format("long", "a row a count, with dimensions", _recognises, _read)
