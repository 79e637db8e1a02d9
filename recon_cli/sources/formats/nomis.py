"""Nomis: a row a count, with code and name of each dimension; several measures a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recon_cli.sources.documents import Document
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet, DimensionColumns
from recon_cli.sources.formats.form import Format
from recon_cli.sources.formats.geoids import from_text
from recon_cli.sources.formats.header import required_row
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import first_line, read_sheet

_PLACE: Final = "GEOGRAPHY_CODE"
_VALUE: Final = "OBS_VALUE"
_NAME: Final = "_NAME"
_GEOGRAPHY: Final = "GEOGRAPHY"
_MEASURES: Final = "MEASURES"
#: The measure that is a count; others are percentages of it.
_COUNT: Final = "20100"


def recognises(document: Document) -> bool:
    """``GEOGRAPHY_CODE`` and ``OBS_VALUE`` in the first row."""
    line = first_line(document)
    return _PLACE in line and _VALUE in line


def read(document: Document, beside: Sequence[Document], mapping: FileMapping) -> CountSheet:  # noqa: ARG001
    """Dimensions are the columns that have a ``…_NAME`` beside them."""
    sheet = read_sheet(document)
    at = required_row(sheet, _PLACE, _VALUE)
    headers = sheet.head[at]
    places = {header: i for i, header in enumerate(headers)}
    dimensions = tuple(
        DimensionColumns(header, i, places[header + _NAME])
        for i, header in enumerate(headers)
        if header + _NAME in places and header not in (_GEOGRAPHY, "OBS_STATUS")
    )
    place, value = headers.index(_PLACE), headers.index(_VALUE)
    return CountSheet(
        sheet,
        at + 1,
        headers,
        (place,),
        from_text(place),
        (CountColumn(value, _VALUE),),
        dimensions,
        where={headers.index(_MEASURES): (_COUNT,)} if _MEASURES in headers else {},
    )


FORMAT: Final = Format("nomis", "Nomis API", recognises, read)
