"""American FactFinder: the table's name is in the file's, columns are numbered ``D001``.

A count that was revised has the new one behind it: ``658466(r35866)``. The tables are consistent
with the count in front.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet
from recon_cli.sources.formats.form import Format
from recon_cli.sources.formats.geoids import from_geo_id
from recon_cli.sources.formats.header import required_row
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import first_line, read_sheet

_PLACE: Final = "GEO.id"
_NAMES: Final = (_PLACE, "GEO.id2", "GEO.display-label")
_FILE: Final = re.compile(r"DEC_\d\d_[A-Z0-9]+_([A-Z]+\d+[A-Z]*)(_with_ann)?\.", re.IGNORECASE)
_COLUMN: Final = re.compile(r"(?:HD01_S|D|HD01_VD)(\d{2,3})")
_REVISED: Final = r"^([0-9]+)\(r[0-9]+\)$"


def recognises(document: Document) -> bool:
    """A first row with ``GEO.id``."""
    return _PLACE in first_line(document)


def read(document: Document, beside: Sequence[Document], mapping: FileMapping) -> CountSheet:  # noqa: ARG001
    """Columns by their numbers.

    Raises:
        SourceError: The file's name does not say which table it is.
    """
    sheet = read_sheet(document)
    at = required_row(sheet, _PLACE)
    match = _FILE.match(document.name)
    table = mapping.table or (match[1].upper() if match else None)
    if table is None:
        raise SourceError(
            f"{sheet.label}: expected a file named like DEC_10_SF1_P12_with_ann.csv, which tells "
            "its table; or give mapping.table"
        )
    headers = sheet.head[at]
    below = sheet.head[at + 1] if at + 1 < len(sheet.head) else ()
    place = headers.index(_PLACE)
    labelled = bool(below) and below[place].casefold() in ("id", "geography")
    counts = tuple(
        CountColumn(i, code, None, table, _number(code))
        for i, code in enumerate(headers)
        if code and code not in _NAMES
    )
    labels = {each.header: below[each.at] for each in counts} if labelled else {}
    return CountSheet(
        sheet,
        at + 1 + labelled,
        headers,
        (place,),
        from_geo_id(place),
        counts,
        number=_REVISED,
        labels=labels,
    )


def _number(code: str) -> int | None:
    match = _COLUMN.fullmatch(code)
    return int(match[1]) if match else None


FORMAT: Final = Format("factfinder", "American FactFinder", recognises, read)
