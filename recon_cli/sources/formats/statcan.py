"""Statistics Canada's census profile: a row a characteristic, columns for total, men and women."""

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

_PLACE: Final = "ALT_GEO_CODE"
_LABEL: Final = "CHARACTERISTIC_NAME"
_COUNT: Final = re.compile(r"C\d+_COUNT_(TOTAL|MEN\+?|WOMEN\+?|LOW_CI_.*|HI_CI_.*)", re.IGNORECASE)
_WORDS: Final = {"TOTAL": "total", "MEN": "male", "WOMEN": "female"}


def recognises(document: Document) -> bool:
    """``CHARACTERISTIC_NAME`` and ``ALT_GEO_CODE`` in the first row."""
    line = first_line(document)
    return _PLACE in line and _LABEL in line


def read(document: Document, beside: Sequence[Document], mapping: FileMapping) -> CountSheet:  # noqa: ARG001
    """The characteristic is a dimension; which of them, is ``mapping.where``'s."""
    sheet = read_sheet(document)
    at = required_row(sheet, _PLACE, _LABEL)
    headers = sheet.head[at]
    counts = tuple(
        CountColumn(i, header, parts=(_WORDS[match[1].upper().rstrip("+")],))
        for i, header in enumerate(headers)
        if (match := _COUNT.fullmatch(header)) and match[1].upper().rstrip("+") in _WORDS
    )
    place, label = headers.index(_PLACE), headers.index(_LABEL)
    return CountSheet(
        sheet,
        at + 1,
        headers,
        (place,),
        from_text(place),
        counts,
        (DimensionColumns(_LABEL, label),),
    )


FORMAT: Final = Format("statcan-profile", "Statistics Canada census profile", recognises, read)
