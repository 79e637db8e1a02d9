"""Sheets of an xlsx workbook: what its cells hold, as text."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from typing import IO, Final

from recon_cli.errors import ConfigError, SourceError
from recon_cli.sources.tabular.documents import DAMAGE, Document
from recon_cli.sources.tabular.sheet import Sheet, sheet_of_rows

#: Limits of a workbook, which is held in memory.
_MOST_CELLS: Final = 5_000_000
_MOST_UNPACKED: Final = 1 << 28
_CHUNK: Final = 1 << 20
#: Where a cell stands, and the longest way to write that.
_REFERENCE: Final = re.compile(rb"""r\s*=\s*["']([A-Za-z]{1,3})([0-9]{1,7})["']""")
_LONGEST: Final = 20


def workbook_sheet(document: Document, name: str | None) -> Sheet:
    """Read one sheet of a workbook.

    Args:
        document: The workbook.
        name: Of the sheet; the only one with cells if None.

    Raises:
        ConfigError: The package for workbooks is not installed, or the sheet has to be named.
        SourceError: The workbook is damaged, or has no such sheet.
    """
    try:
        import python_calamine as calamine  # noqa: PLC0415 - optional
    except ImportError as error:
        raise ConfigError(
            f"{document.label}: workbooks need `pip install recon-cli[xlsx]`; or save it as CSV"
        ) from error
    data = document.read()
    _check_extent(data, document.label)
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = {
            each: book.get_sheet_by_name(each).to_python(skip_empty_area=False)
            for each in ([name] if name in book.sheet_names else book.sheet_names)
        }
    except (calamine.CalamineError, OSError) as error:
        raise SourceError(f"{document.label}: damaged workbook: {error}") from error
    if name is not None and name not in sheets:
        known = ", ".join(map(repr, book.sheet_names))
        raise SourceError(f"{document.label}: no sheet {name!r} (sheets: {known})")
    filled = {each: rows for each, rows in sheets.items() if any(any(row) for row in rows)}
    if not filled:
        raise SourceError(f"{document.label}: expected a table, found empty sheets only")
    if len(filled) > 1:
        raise ConfigError(
            f"{document.label}: several sheets ({', '.join(map(repr, filled))}); name one with "
            "the key `sheet`"
        )
    (chosen, rows), *_ = filled.items()
    text = [[_text(value) for value in row] for row in rows]
    return sheet_of_rows(f"{document.label}, sheet {chosen}", text)


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


def _text(value: object) -> str:
    """A number as short as it is, a date as one."""
    match value:
        case bool():
            return str(value).upper()
        case float() if value.is_integer():
            return str(int(value))
        case datetime.datetime() if value.time() == datetime.time():
            return value.date().isoformat()
        case datetime.date() | datetime.time():
            return value.isoformat()
    return str(value).strip()
