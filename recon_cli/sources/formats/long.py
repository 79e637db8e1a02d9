"""Any table with a row a count: dimension columns and one column of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet, DimensionColumns
from recon_cli.sources.formats.form import Format
from recon_cli.sources.formats.geoids import from_text
from recon_cli.sources.formats.header import header_rows
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.formats.wide import place_column
from recon_cli.sources.tabular import Document, Sheet, read_sheet

_VALUES: Final = ("value", "count", "obs_value", "observation", "n", "persons", "number")
_FLAGS: Final = ("flag", "flags", "status", "symbol", "obs_status", "obs_flag", "conf_status")


def recognises(document: Document) -> bool:
    """A column named like a value, and columns of words beside it."""
    try:
        sheet = read_sheet(document)
        rows = header_rows(sheet, ())
    except SourceError:
        return False
    headers = sheet.head[rows[-1]]
    return _value(headers) is not None and len([each for each in headers if each]) > 2


def read(document: Document, beside: Sequence[Document], mapping: FileMapping) -> CountSheet:  # noqa: ARG001
    """Every other column is a dimension; one that names the places is passed over.

    Raises:
        SourceError: No column is one of values, or of places.
    """
    sheet = read_sheet(document, mapping.sheet)
    rows = header_rows(sheet, mapping.header)
    headers = sheet.head[rows[-1]]
    value = _value(headers)
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
        if header and i not in (place, value, *flags) and not _names(sheet, rows[-1], place, i)
    )
    return CountSheet(
        sheet,
        rows[-1] + 1,
        headers,
        (place,),
        from_text(place),
        (CountColumn(value, headers[value]),),
        dimensions,
        flags,
    )


def _value(headers: Sequence[str]) -> int | None:
    lower = [header.casefold() for header in headers]
    return next((lower.index(name) for name in _VALUES if name in lower), None)


def _names(sheet: Sheet, header: int, place: int, column: int) -> bool:
    """Whether a column has one word for each place, another for every other."""
    pairs = {(row[place], row[column]) for row in sheet.head[header + 1 :]}
    places = {place for place, _ in pairs}
    return 1 < len(places) == len(pairs) == len({word for _, word in pairs})


FORMAT: Final = Format("long", "a row a count, with dimensions", recognises, read)
