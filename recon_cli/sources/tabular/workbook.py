"""Sheets of an xlsx workbook: what its cells hold, as text."""

from __future__ import annotations

import datetime
import io

from recon_cli.errors import ConfigError, SourceError
from recon_cli.sources.tabular.documents import Document
from recon_cli.sources.tabular.sheet import Sheet, sheet_of_rows


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
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(document.read()))
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
