"""SDMX-CSV 1 and 2, Eurostat's among them: a column a dimension, ``OBS_VALUE``, flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet, DimensionColumns
from recon_cli.sources.formats.form import Format
from recon_cli.sources.formats.geoids import from_text
from recon_cli.sources.formats.header import required_row
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import first_line, read_sheet

_VALUE: Final = "OBS_VALUE"
#: Columns that are no dimensions, in versions 1 and 2 and in Eurostat's own form.
_OTHERS: Final = {
    "DATAFLOW",
    "LAST UPDATE",
    "STRUCTURE",
    "STRUCTURE_ID",
    "STRUCTURE_NAME",
    "ACTION",
    "DECIMALS",
    "UNIT_MULT",
}
_FLAGS: Final = ("CONF_STATUS", "OBS_FLAG", "OBS_STATUS")
_PLACES: Final = ("geo", "ref_area", "geography", "area", "region")


def recognises(document: Document) -> bool:
    """``OBS_VALUE`` in the first row, and ``DATAFLOW`` or ``STRUCTURE`` first."""
    line = first_line(document)
    return _VALUE in line and line.startswith(("DATAFLOW", "STRUCTURE"))


def read(document: Document, beside: Sequence[Document], mapping: FileMapping) -> CountSheet:  # noqa: ARG001
    """Dimensions by name.

    Raises:
        SourceError: No column is the place.
    """
    sheet = read_sheet(document)
    at = required_row(sheet, _VALUE)
    headers = sheet.head[at]
    lower = [header.casefold() for header in headers]
    chosen = mapping.place.casefold() if mapping.place else None
    place = next((lower.index(name) for name in (chosen, *_PLACES) if name in lower), None)
    if place is None:
        raise SourceError(
            f"{sheet.label}: none of the columns {', '.join(_PLACES)}; which is the place? "
            "mapping.place"
        )
    value = headers.index(_VALUE)
    flags = tuple(headers.index(name) for name in _FLAGS if name in headers)
    dimensions = tuple(
        DimensionColumns(header, i)
        for i, header in enumerate(headers)
        if header and header not in _OTHERS and i not in (place, value, *flags)
    )
    return CountSheet(
        sheet,
        at + 1,
        headers,
        (place,),
        from_text(place),
        (CountColumn(value, _VALUE),),
        dimensions,
        flags,
    )


FORMAT: Final = Format("sdmx-csv", "SDMX-CSV", recognises, read)
