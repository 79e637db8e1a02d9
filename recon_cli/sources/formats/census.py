"""Tables of the US census: the Bureau's API, data.census.gov, American FactFinder, IPUMS NHGIS."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document, read_json
from recon_cli.sources.formats.codes import ANNOTATION, COUNT_CODE, table_of
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet, Format, alone
from recon_cli.sources.formats.header import HeadedSheet, first_line_has, row_with
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.formats.place import NESTED, from_geo_id, from_gisjoin, from_nested
from recon_cli.sources.tabular import read_sheet
from recon_cli.sources.tabular.sheet import sheet_of_rows

_GEO_ID: Final = "GEO_ID"
_API_NAMES: Final = frozenset({"NAME", _GEO_ID, "GEOCOMP", "SUMLEVEL", "LSAD_NAME", *NESTED})
_FACTFINDER_PLACE: Final = "GEO.id"
_FACTFINDER_NAMES: Final = (_FACTFINDER_PLACE, "GEO.id2", "GEO.display-label")
_FACTFINDER_FILE: Final = re.compile(
    r"DEC_\d\d_[A-Z0-9]+_([A-Z]+\d+[A-Z]*)(_with_ann)?\.", re.IGNORECASE
)
_FACTFINDER_COLUMN: Final = re.compile(r"(?:HD01_S|D|HD01_VD)(\d{2,3})")
#: A count that was revised has the new one behind it: ``658466(r35866)``. The tables are
#: consistent with the count in front.
_REVISED: Final = r"^([0-9]+)\(r[0-9]+\)$"
_GISJOIN: Final = "GISJOIN"
_NHGIS_TABLE: Final = re.compile(r"Source code: +(\S+)\s+NHGIS code: +([A-Z0-9]{3,4})\b")
_NHGIS_CELL: Final = re.compile(r"^ +([A-Z0-9]{3,4}\d{3}): +(.*)$", re.MULTILINE)


def _is_api(document: Document) -> bool:
    """Test for a JSON list of lists."""
    return "".join(document.start()[:200].decode("utf-8", "replace").split()).startswith("[[")


def _read_api(document: Document, _beside: Sequence[Document], _said: FileMapping) -> CountSheet:
    """Read columns by codes; the place by ``GEO_ID``, or by state, county, tract and block."""
    found = read_json(document)
    if not isinstance(found, list) or not all(isinstance(row, list) for row in found):
        raise SourceError(f"{document.label}: expected a list of rows")
    texts = [["" if cell is None else str(cell).strip() for cell in row] for row in found]
    sheet = sheet_of_rows(document.label, texts)
    headers = sheet.head[0]
    for number, row in enumerate(found, start=1):
        if len(row) != len(found[0]):
            raise SourceError(
                f"{sheet.where(number)}: expected {len(found[0])} values, found {len(row)}"
            )
    parts = {name: headers.index(name) for name in NESTED if name in headers}
    if _GEO_ID in headers:
        place: tuple[int, ...] = (headers.index(_GEO_ID),)
        geoid = from_geo_id(place[0])
    elif "state" in parts:
        place, geoid = tuple(parts.values()), from_nested(parts)
    else:
        raise SourceError(f"{document.label}: expected a column GEO_ID, or state and others")
    return CountSheet(sheet, 1, headers, place, geoid, _coded_columns(headers, _API_NAMES))


def _coded_columns(headers: Sequence[str], others: Collection[str]) -> tuple[CountColumn, ...]:
    """Return the columns of counts, whose headers are codes of cells."""
    return tuple(
        CountColumn(at, code, code, *(table_of(code) or (None, None)))
        for at, code in enumerate(headers)
        if code not in others and not ANNOTATION.fullmatch(code)
    )


def _is_download(document: Document) -> bool:
    """Test for a row with ``GEO_ID`` and the code of a census table's cell."""
    if document.start()[:1] in b"[{":
        return False
    try:
        sheet = read_sheet(document)
    except SourceError:
        return False
    at = row_with(sheet, {_GEO_ID})
    return at is not None and any(COUNT_CODE.fullmatch(each) for each in sheet.head[at])


def _read_download(
    document: Document, _beside: Sequence[Document], _said: FileMapping
) -> CountSheet:
    """Read a row of codes, a row of labels, and a nameless last column."""
    table = HeadedSheet.of(document, _GEO_ID)
    return _labelled(table, _GEO_ID, _coded_columns(table.headers, ("", _GEO_ID, "NAME")))


def _read_factfinder(
    document: Document, _beside: Sequence[Document], said: FileMapping
) -> CountSheet:
    """Read columns numbered ``D001``; the file's name has the table's."""
    table = HeadedSheet.of(document, _FACTFINDER_PLACE)
    match = _FACTFINDER_FILE.match(document.name)
    name = said.table or (match[1].upper() if match else None)
    if name is None:
        raise SourceError(
            f"{table.sheet.label}: expected a file named like DEC_10_SF1_P12_with_ann.csv, which "
            "tells its table; or give mapping.table"
        )
    counts = tuple(
        CountColumn(at, code, None, name, int(found[1]) if found else None)
        for at, code in enumerate(table.headers)
        if code and code not in _FACTFINDER_NAMES
        for found in [_FACTFINDER_COLUMN.fullmatch(code)]
    )
    return _labelled(table, _FACTFINDER_PLACE, counts, number=_REVISED)


def _labelled(
    table: HeadedSheet, place: str, counts: tuple[CountColumn, ...], number: str | None = None
) -> CountSheet:
    """Read columns with labels below their codes, if the place has one there."""
    at = table.headers.index(place)
    below = table.below if table.below[at].casefold() in ("id", "geography") else ()
    labels = {each.header: below[each.at] for each in counts} if below else {}
    roles = table.roles(at, counts, geoid=from_geo_id(at), skip=bool(below))
    return replace(roles, number=number, labels=labels)


def _read_nhgis(document: Document, beside: Sequence[Document], _said: FileMapping) -> CountSheet:
    """Read the codes of NHGIS, which only the codebook beside the file explains."""
    table = HeadedSheet.of(document, _GISJOIN)
    stem = document.name.rpartition(".")[0]
    book = next((each for each in beside if each.name == f"{stem}_codebook.txt"), None)
    if book is None:
        raise SourceError(
            f"{table.sheet.label}: expected its codebook {stem}_codebook.txt in the same folder or "
            "zip; only it says which tables the columns are of"
        )
    text = book.read().decode("latin-1")
    tables = {code: name for name, code in _NHGIS_TABLE.findall(text)}
    counts = tuple(
        CountColumn(at, header, None, tables[header[:-3]], int(header[-3:]))
        for at, header in enumerate(table.headers)
        if header[:-3] in tables and header[-3:].isdigit()
    )
    labels = {code: said.strip() for code, said in _NHGIS_CELL.findall(text) if code[:-3] in tables}
    if lost := [code for code in labels if code not in table.headers]:
        raise SourceError(
            f"{table.sheet.where(table.at + 1)}: no column {lost[0]}, which {stem}_codebook.txt "
            "has; mend the header, or take the line out of the codebook"
        )
    at = table.headers.index(_GISJOIN)
    roles = table.roles(at, counts, geoid=from_gisjoin(at), skip=" " in table.below[at])
    return replace(roles, labels=labels)


CENSUS_API: Final = Format("census-api", "Census API JSON", _is_api, alone(_read_api))
DATA_CENSUS_GOV: Final = Format(
    "data-census-gov", "data.census.gov", _is_download, alone(_read_download)
)
FACTFINDER: Final = Format(
    "factfinder", "American FactFinder", first_line_has(_FACTFINDER_PLACE), alone(_read_factfinder)
)
NHGIS: Final = Format("nhgis", "IPUMS NHGIS", first_line_has(_GISJOIN), alone(_read_nhgis))
