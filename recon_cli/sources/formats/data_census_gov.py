"""Tables of data.census.gov: a row of codes, a row of labels, a nameless last column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.formats.codes import ANNOTATION, COUNT_CODE, table_of
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet
from recon_cli.sources.formats.form import Format
from recon_cli.sources.formats.geoids import from_geo_id
from recon_cli.sources.formats.header import required_row, row_with
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import read_sheet

_PLACE: Final = "GEO_ID"


def recognises(document: Document) -> bool:
    """A row with ``GEO_ID`` and the code of a census table's cell."""
    if document.start()[:1] in b"[{":
        return False
    try:
        sheet = read_sheet(document)
    except SourceError:
        return False
    at = row_with(sheet, {_PLACE})
    return at is not None and any(COUNT_CODE.fullmatch(each) for each in sheet.head[at])


def read(document: Document, beside: Sequence[Document], mapping: FileMapping) -> CountSheet:  # noqa: ARG001
    """Columns by their codes; labels from the second row."""
    sheet = read_sheet(document)
    at = required_row(sheet, _PLACE)
    headers = sheet.head[at]
    place = headers.index(_PLACE)
    below = sheet.head[at + 1] if at + 1 < len(sheet.head) else ()
    labelled = bool(below) and below[place] == "Geography"
    counts = tuple(
        CountColumn(i, code, code, *(table_of(code) or (None, None)))
        for i, code in enumerate(headers)
        if code and code not in (_PLACE, "NAME") and not ANNOTATION.fullmatch(code)
    )
    labels = {each.header: below[each.at] for each in counts} if labelled else {}
    return CountSheet(
        sheet, at + 1 + labelled, headers, (place,), from_geo_id(place), counts, labels=labels
    )


FORMAT: Final = Format("data-census-gov", "data.census.gov", recognises, read)
