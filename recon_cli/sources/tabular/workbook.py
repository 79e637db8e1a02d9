"""Documents as sheets: cell contents, merged ranges and indents of workbooks."""

from __future__ import annotations

import datetime
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from recon_cli.errors import ConfigError, SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.tabular.package import Indents, read_looks
from recon_cli.sources.tabular.package_parts import Hidden, Spans
from recon_cli.sources.tabular.sheet import Merge, Sheet, sheet_of_rows
from recon_cli.sources.tabular.text import text_sheet
from recon_cli.spreadsheet import column_letters


@dataclass(frozen=True)
class Workbook:
    """The sheets of a workbook.

    Attributes:
        sheets: Name → its cells as text, for the sheets with cells; an indent is two blanks.
        hidden: Names of the sheets that people who open the workbook do not see.
        hidden_lines: Name → rows and columns of the sheet, from 0, that people do not see.
    """

    sheets: Mapping[str, list[list[str]]]
    merges: Mapping[str, tuple[Merge, ...]]
    hidden: frozenset[str]
    hidden_lines: Mapping[str, Hidden] = field(default_factory=dict)


def open_workbook(document: Document) -> Workbook:
    """Read all sheets of a workbook.

    Raises:
        ConfigError: The package for workbooks is not installed.
        SourceError: The workbook is damaged.
    """
    return _read(document.read(), document.label)


def documents_of_sheets(document: Document, names: Sequence[str]) -> tuple[Document, ...]:
    """Return one document for each sheet of a workbook with several; else the document itself.

    Args:
        names: Sheets to open, as far as the workbook has them; if empty, all that are not hidden.

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
    """Return the sheets of a workbook that `documents_of_sheets` skips, hidden ones included."""
    if not document.is_workbook or document.sheet is not None:
        return {}
    read = {each.sheet for each in documents_of_sheets(document, names)}
    book = open_workbook(document)
    return {name: rows for name, rows in book.sheets.items() if not {name, None} & read}


def hidden_sheets(document: Document) -> tuple[str, ...]:
    """Return the sheets with cells that people who open the workbook cannot see."""
    if not document.is_workbook:
        return ()
    book = open_workbook(document)
    return tuple(name for name in book.sheets if name in book.hidden)


def hidden_lines(document: Document) -> tuple[str, ...]:
    """Return the rows and columns with cells that people who open a sheet cannot see.

    They are named as in spreadsheets: ``column M``.
    """
    if not document.is_workbook:
        return ()
    book = open_workbook(document)
    name = document.sheet or next(iter(book.sheets), "")
    rows, columns = book.hidden_lines.get(name, (frozenset[int](), frozenset[int]()))
    cells = book.sheets.get(name, [])
    filled = {j for row in cells for j, text in enumerate(row) if text.strip()}
    return (
        *(f"column {column_letters(j + 1)}" for j in sorted(columns & filled)),
        *(f"row {i + 1}" for i in sorted(rows) if i < len(cells) and any(map(str.strip, cells[i]))),
    )


def read_sheet(document: Document, sheet: str | None = None) -> Sheet:
    """Read delimited text or a sheet of a workbook.

    Args:
        sheet: Name of a workbook's sheet, unless the document is one; the only one with
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
        import python_calamine as calamine  # optional
    except ImportError as error:
        raise ConfigError(
            f"{label}: workbooks need `pip install recon-cli[xlsx]`; or save it as CSV"
        ) from error
    looks = read_looks(data, label)
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        about = [each for each in book.sheets_metadata if each.name in book.sheet_names]
        opened = {each.name: book.get_sheet_by_name(each.name) for each in about}
        values = {name: each.to_python(skip_empty_area=False) for name, each in opened.items()}
        merges = {
            name: looks.spans.get(name) or list(each.merged_cell_ranges or [])
            for name, each in opened.items()
        }
    except (calamine.CalamineError, OSError) as error:
        raise SourceError(f"{label}: damaged workbook: {error}") from error
    hidden = [each for each in about if each.visible != calamine.SheetVisibleEnum.Visible]
    filled = {name: rows for name, rows in values.items() if any(any(row) for row in rows)}
    return Workbook(
        {name: _texts(rows, looks.indents.get(name, {})) for name, rows in filled.items()},
        {name: _merges(rows, merges[name], label) for name, rows in filled.items()},
        frozenset(each.name for each in hidden),
        {name: own for name, own in looks.hidden.items() if any(own)},
    )


def _texts(rows: Sequence[Sequence[object]], indents: Indents) -> list[list[str]]:
    return [
        [_text(value, indents.get((i, j), 0)) for j, value in enumerate(row)]
        for i, row in enumerate(rows)
    ]


def _merges(
    rows: Sequence[Sequence[object]],
    merges: Spans,
    label: str,
) -> tuple[Merge, ...]:
    """Return ranges of merged cells, within the sheet.

    Raises:
        SourceError: Ranges overlap.
    """
    height, width = len(rows), len(rows[0])
    found = tuple(
        (top, left, min(bottom, height - 1), min(right, width - 1))
        for (top, left), (bottom, right) in merges
        if top < height and left < width
    )
    area = sum((bottom - top + 1) * (right - left + 1) for top, left, bottom, right in found)
    if area > height * width:
        raise SourceError(f"{label}: damaged workbook: ranges of merged cells overlap")
    return found


def _text(value: object, indent: int) -> str:
    """Format a whole number without decimals, a date in ISO form, and text with its indent."""
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
