"""Sheets of an xlsx workbook: what its cells hold, as text, and which are merged."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import IO, Final
from xml.etree import ElementTree

from recon_cli.errors import ConfigError, SourceError
from recon_cli.sources.tabular.documents import DAMAGE, Document
from recon_cli.sources.tabular.indents import cell_indents
from recon_cli.sources.tabular.sheet import Merge, Sheet, sheet_of_rows

#: Limits of a workbook, which is held in memory.
_MOST_CELLS: Final = 5_000_000
_MOST_UNPACKED: Final = 1 << 28
_CHUNK: Final = 1 << 20
#: Where a cell stands, and the longest way to write that.
_REFERENCE: Final = re.compile(rb"""r\s*=\s*["']([A-Za-z]{1,3})([0-9]{1,7})["']""")
_LONGEST: Final = 20


@dataclass(frozen=True)
class Workbook:
    """What a workbook has.

    Attributes:
        sheets: Name → its cells as text, for the sheets with cells; an indent is two blanks.
        merges: Name → its merged ranges.
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


def workbook_sheet(document: Document, name: str | None) -> Sheet:
    """Read one sheet of a workbook.

    Args:
        name: Of the sheet; the only one with cells if None.

    Raises:
        ConfigError: The package for workbooks is not installed, or the sheet has to be named.
        SourceError: The workbook is damaged, or has no such sheet.
    """
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
    sheet = sheet_of_rows(f"{document.label}, sheet {chosen}", book.sheets[chosen])
    return replace(sheet, merges=book.merges[chosen])


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
        indents = cell_indents(data)
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
    """Refuse a workbook that would fill memory: its reader makes room up to the last cell.

    Raises:
        SourceError: It is damaged, or its sheets are too large.
    """
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
