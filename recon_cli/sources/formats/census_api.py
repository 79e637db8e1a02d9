"""The Census Bureau's API: a JSON list of rows, the first of which names the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document, read_json
from recon_cli.sources.formats.codes import ANNOTATION, table_of
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet
from recon_cli.sources.formats.form import Format
from recon_cli.sources.formats.geoids import NESTED, from_geo_id, from_nested
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular.sheet import sheet_of_rows

_NAMES: Final = frozenset({"NAME", "GEO_ID", "GEOCOMP", "SUMLEVEL", "LSAD_NAME", *NESTED})


def recognises(document: Document) -> bool:
    """A JSON list of lists."""
    return "".join(document.start()[:200].decode("utf-8", "replace").split()).startswith("[[")


def read(document: Document, beside: Sequence[Document], mapping: FileMapping) -> CountSheet:  # noqa: ARG001
    """Columns by their codes; the place by ``GEO_ID``, or by state, county, tract and block.

    Raises:
        SourceError: It is no such list, or names no places.
    """
    found = read_json(document)
    if not isinstance(found, list) or not all(isinstance(row, list) for row in found):
        raise SourceError(f"{document.label}: expected a list of rows")
    sheet = sheet_of_rows(document.label, [[_text(cell) for cell in row] for row in found])
    headers = sheet.head[0]
    for number, row in enumerate(found, start=1):
        if len(row) != len(found[0]):
            raise SourceError(
                f"{sheet.where(number)}: expected {len(found[0])} values, found {len(row)}"
            )
    parts = {name: headers.index(name) for name in NESTED if name in headers}
    if "GEO_ID" in headers:
        place: tuple[int, ...] = (headers.index("GEO_ID"),)
        geoid = from_geo_id(place[0])
    elif "state" in parts:
        place, geoid = tuple(parts.values()), from_nested(parts)
    else:
        raise SourceError(f"{document.label}: expected a column GEO_ID, or state and others")
    counts = tuple(
        CountColumn(at, header, header, *(table_of(header) or (None, None)))
        for at, header in enumerate(headers)
        if header not in _NAMES and not ANNOTATION.fullmatch(header)
    )
    return CountSheet(sheet, 1, headers, place, geoid, counts)


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).strip()


FORMAT: Final = Format("census-api", "Census API JSON", recognises, read)
