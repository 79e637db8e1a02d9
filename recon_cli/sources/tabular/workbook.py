"""A document as sheets: of an xlsx workbook what its cells hold, which are merged or indented."""

from __future__ import annotations

import datetime
import io
import posixpath
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import IO, Final
from xml.etree import ElementTree

from recon_cli.errors import ConfigError, SourceError
from recon_cli.sources.documents import DAMAGE, Document
from recon_cli.sources.tabular.sheet import Merge, Sheet, sheet_of_rows
from recon_cli.sources.tabular.text import text_sheet

#: Limits of a workbook, which is held in memory.
_MOST_CELLS: Final = 5_000_000
_MOST_UNPACKED: Final = 1 << 28
_CHUNK: Final = 1 << 20
#: Where a cell stands, and the longest way to write that.
_REFERENCE: Final = re.compile(rb"""r\s*=\s*["']([A-Za-z]{1,3})([0-9]{1,7})["']""")
_LONGEST: Final = 20
#: Parts of a workbook, and names in them, that say how far its cells are indented.
_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ID: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_BOOK: Final = "xl/workbook.xml"
_RELATIONS: Final = "xl/_rels/workbook.xml.rels"
_STYLES: Final = "xl/styles.xml"
_ADDRESS: Final = re.compile(r"([A-Z]+)([0-9]+)")


@dataclass(frozen=True)
class Workbook:
    """What a workbook has.

    Attributes:
        sheets: Name → its cells as text, for the sheets with cells; an indent is two blanks.
        hidden: Names of the sheets that a reader of the workbook does not see.
    """

    sheets: Mapping[str, list[list[str]]]
    merges: Mapping[str, tuple[Merge, ...]]
    hidden: frozenset[str]


def open_workbook(document: Document) -> Workbook:
    """Read all sheets of a workbook.

    Raises:
        ConfigError: The package for workbooks is not installed.
        SourceError: The workbook is damaged.
    """
    return _read(document.read(), document.label)


def documents_of_sheets(document: Document, names: Sequence[str]) -> tuple[Document, ...]:
    """One document for each sheet of a workbook that has several; the document itself of others.

    Args:
        names: The sheets, as far as it has them; all that are not hidden if empty.

    Raises:
        ConfigError: Workbooks cannot be read here.
        SourceError: The workbook is damaged, or has none of the sheets.
    """
    if not document.is_workbook:
        return (document,)
    book = open_workbook(document)
    own = [name for name in names if name in book.sheets]
    if names and not own:
        known = ", ".join(map(repr, book.sheets))
        raise SourceError(f"{document.label}: no sheet {names[0]!r} with cells (sheets: {known})")
    if len(book.sheets) <= 1:
        return (document,)
    chosen = own or [name for name in book.sheets if name not in book.hidden]
    return tuple(
        replace(document, name=f"{document.name}, sheet {name}", sheet=name) for name in chosen
    )


def unread_sheets(document: Document, names: Sequence[str]) -> dict[str, list[list[str]]]:
    """The sheets of a workbook that `documents_of_sheets` leaves out, hidden ones among them."""
    if not document.is_workbook or document.sheet is not None:
        return {}
    read = {each.sheet for each in documents_of_sheets(document, names)}
    book = open_workbook(document)
    return {name: rows for name, rows in book.sheets.items() if not {name, None} & read}


def hidden_sheets(document: Document) -> tuple[str, ...]:
    """The sheets with cells that a reader of a workbook does not see."""
    if not document.is_workbook:
        return ()
    book = open_workbook(document)
    return tuple(name for name in book.sheets if name in book.hidden)


def read_sheet(document: Document, sheet: str | None = None) -> Sheet:
    """Read delimited text or a sheet of a workbook.

    Args:
        sheet: Of a workbook: the name of the sheet, unless the document is one; the only one with
            cells if None.

    Raises:
        ConfigError: The sheet has to be named, or workbooks cannot be read here.
        SourceError: The document is empty, damaged or something else.
    """
    if not document.is_workbook:
        return text_sheet(document)
    name = document.sheet or sheet
    book = open_workbook(document)
    if name is not None and name not in book.sheets:
        known = ", ".join(map(repr, book.sheets))
        raise SourceError(f"{document.label}: no sheet {name!r} with cells (sheets: {known})")
    if not book.sheets:
        raise SourceError(f"{document.label}: expected a table, found empty sheets only")
    if name is None and len(book.sheets) > 1:
        raise ConfigError(
            f"{document.label}: several sheets ({', '.join(map(repr, book.sheets))}); name one "
            "with the key `sheet`"
        )
    chosen = name or next(iter(book.sheets))
    found = sheet_of_rows(f"{document.label}, sheet {chosen}", book.sheets[chosen])
    return replace(found, merges=book.merges[chosen])


@lru_cache(maxsize=2)  # every format looks at it, and every sheet is read by itself
def _read(data: bytes, label: str) -> Workbook:
    try:
        import python_calamine as calamine  # noqa: PLC0415 - optional
    except ImportError as error:
        raise ConfigError(
            f"{label}: workbooks need `pip install recon-cli[xlsx]`; or save it as CSV"
        ) from error
    _check_extent(data, label)
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        about = [each for each in book.sheets_metadata if each.name in book.sheet_names]
        opened = {each.name: book.get_sheet_by_name(each.name) for each in about}
        values = {name: each.to_python(skip_empty_area=False) for name, each in opened.items()}
        merges = {name: each.merged_cell_ranges or [] for name, each in opened.items()}
    except (calamine.CalamineError, OSError) as error:
        raise SourceError(f"{label}: damaged workbook: {error}") from error
    try:
        indents = _cell_indents(data)
    except (*DAMAGE, ElementTree.ParseError, KeyError) as error:
        raise SourceError(f"{label}: damaged workbook: {error}") from error
    hidden = [each for each in about if each.visible != calamine.SheetVisibleEnum.Visible]
    filled = {name: rows for name, rows in values.items() if any(any(row) for row in rows)}
    return Workbook(
        {
            name: [
                [_text(value, indents.get((name, i, j), 0)) for j, value in enumerate(row)]
                for i, row in enumerate(rows)
            ]
            for name, rows in filled.items()
        },
        {name: tuple((*first, *last) for first, last in merges[name]) for name in filled},
        frozenset(each.name for each in hidden),
    )


def _check_extent(data: bytes, label: str) -> None:
    """Refuse a workbook that would fill memory: its reader makes room up to the last cell."""
    unpacked = cells = 0
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                unpacked += info.file_size  # if it is more in truth, its checksum is wrong
                if unpacked <= _MOST_UNPACKED:
                    with archive.open(info) as member:
                        cells += _cells(member)
                if unpacked > _MOST_UNPACKED or cells > _MOST_CELLS:
                    raise SourceError(
                        f"{label}: larger than {_MOST_CELLS:,} cells or {_MOST_UNPACKED:,} bytes "
                        "unpacked; save the sheet with the counts as CSV"
                    )
    except DAMAGE as error:
        raise SourceError(f"{label}: damaged workbook: {error}") from error


def _cells(member: IO[bytes]) -> int:
    """Cells of a sheet up to its last row and column; 0 of what is no sheet."""
    rows = columns = 0
    tail = b""
    while chunk := member.read(_CHUNK):
        found = _REFERENCE.findall(tail + chunk)
        rows = max([rows, *(int(row) for _, row in found)])
        columns = max([columns, *map(_column, {column for column, _ in found})])
        tail = chunk[-_LONGEST:]
    return rows * columns


def _column(letters: bytes) -> int:
    """``A`` is 1, ``AA`` is 27."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number


def _text(value: object, indent: int) -> str:
    """A number as short as it is, a date as one; text with its indent."""
    match value:
        case bool():
            return str(value).upper()
        case float() if value.is_integer():
            return str(int(value))
        case datetime.datetime() if value.time() == datetime.time():
            return value.date().isoformat()
        case datetime.date() | datetime.time():
            return value.isoformat()
    text = str(value).rstrip()
    return "  " * indent + text if text else ""


def _cell_indents(data: bytes) -> dict[tuple[str, int, int], int]:
    """(Name of the sheet, row, column) → indent, for the cells that have one; from 0.

    Raises:
        KeyError: A part of the workbook is missing.
        ParseError: A part is no XML.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = set(archive.namelist())
        if not {_BOOK, _RELATIONS, _STYLES} <= names:
            return {}
        styles = _indented_styles(archive.read(_STYLES))
        if not styles:
            return {}
        found = {}
        for name, member in _sheet_parts(archive).items():
            if member in names:
                cells = _indented_cells(archive.read(member), styles)
                found.update({(name, *at): indent for at, indent in cells.items()})
    return found


def _indented_styles(data: bytes) -> dict[str, int]:
    """Number of a style → its indent."""
    formats = _parsed(data).find(f"{_MAIN}cellXfs")
    found = {}
    for number, form in enumerate(() if formats is None else formats):
        alignment = form.find(f"{_MAIN}alignment")
        indent = 0 if alignment is None else int(alignment.get("indent", "0"))
        if indent:
            found[str(number)] = indent
    return found


def _sheet_parts(archive: zipfile.ZipFile) -> dict[str, str]:
    """Name of a sheet → its part of the archive."""
    targets = {
        # A target is below xl/, or begins with a slash and is below the archive.
        each.get("Id"): posixpath.normpath(posixpath.join("/xl", each.get("Target", "")))[1:]
        for each in _parsed(archive.read(_RELATIONS))
    }
    sheets = _parsed(archive.read(_BOOK)).iter(f"{_MAIN}sheet")
    return {each.get("name", ""): targets.get(each.get(_ID), "") for each in sheets}


def _indented_cells(data: bytes, styles: dict[str, int]) -> dict[tuple[int, int], int]:
    found = {}
    for cell in _parsed(data).iter(f"{_MAIN}c"):
        indent = styles.get(cell.get("s", ""))
        at = _ADDRESS.fullmatch(cell.get("r", ""))
        if indent is not None and at is not None:
            found[int(at[2]) - 1, _column(at[1].encode()) - 1] = indent
    return found


def _parsed(data: bytes) -> ElementTree.Element:
    if b"<!DOCTYPE" in data:  # entities could make a small file fill memory
        raise ElementTree.ParseError("a document type, which no workbook has")
    return ElementTree.fromstring(data)  # noqa: S314 - no document type, so no entities
