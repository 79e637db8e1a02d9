"""Tables of the Office for National Statistics: bulk files (wide), filtered ones (long)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from recon_cli.sources.documents import Document
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet, DimensionColumns
from recon_cli.sources.formats.form import Format
from recon_cli.sources.formats.geoids import from_text
from recon_cli.sources.formats.header import required_row
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import first_line, read_sheet

_PLACE: Final = "geography code"
_NAMES: Final = ("date", "geography", _PLACE)
_DIMENSION: Final = re.compile(r"(.+ \(\d+ categories\)) Code")
_VALUE: Final = "Observation"


def recognises_bulk(document: Document) -> bool:
    """``date, geography, geography code`` and labels."""
    return first_line(document).startswith("date,geography,geography code,")


def read_bulk(document: Document, beside: Sequence[Document], mapping: FileMapping) -> CountSheet:  # noqa: ARG001
    """Columns by their labels: ``Sex: Males; Age: Aged 65 and over; measures: Value``."""
    sheet = read_sheet(document)
    at = required_row(sheet, _PLACE)
    headers = sheet.head[at]
    counts = tuple(
        CountColumn(i, header, parts=_parts(header))
        for i, header in enumerate(headers)
        if header and header not in _NAMES
    )
    place = headers.index(_PLACE)
    return CountSheet(sheet, at + 1, headers, (place,), from_text(place), counts)


def _parts(header: str) -> tuple[str, ...]:
    pairs = [each.strip() for each in header.split(";")]
    return tuple(
        word.strip()
        for pair in pairs
        if not pair.casefold().startswith("measures:")
        for word in pair.split(":")
        if word.strip()
    )


def recognises_filtered(document: Document) -> bool:
    """``… (n categories) Code`` and ``Observation``."""
    line = first_line(document)
    return line.endswith(_VALUE) and _DIMENSION.search(line) is not None


def read_filtered(
    document: Document,
    beside: Sequence[Document],  # noqa: ARG001
    mapping: FileMapping,  # noqa: ARG001
) -> CountSheet:
    """A row a count: the place first, then code and label of each dimension."""
    sheet = read_sheet(document)
    at = required_row(sheet, _VALUE)
    headers = sheet.head[at]
    dimensions = tuple(
        DimensionColumns(match[1], i, headers.index(match[1]) if match[1] in headers else None)
        for i, header in enumerate(headers)
        if (match := _DIMENSION.fullmatch(header))
    )
    value = headers.index(_VALUE)
    return CountSheet(
        sheet, at + 1, headers, (0,), from_text(0), (CountColumn(value, _VALUE),), dimensions
    )


BULK: Final = Format("ons-bulk", "ONS bulk download", recognises_bulk, read_bulk)
FILTERED: Final = Format("ons-filtered", "ONS filtered table", recognises_filtered, read_filtered)
