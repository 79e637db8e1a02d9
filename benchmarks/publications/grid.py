"""Sheets of cells, written as workbooks (.xlsx, .ods) and as text."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from dataclasses import dataclass, field
from typing import Final
from xml.sax.saxutils import escape

import openpyxl
from openpyxl.styles import Alignment, Font

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_TIME: Final = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z?")
Value = str | int | float | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A value and its looks."""

    value: Value
    bold: bool = False
    indent: int = 0


@dataclass
class Grid:
    """Cells by row and column, from 1; merged: row and column, last row and column."""

    name: str
    cells: dict[tuple[int, int], Cell] = field(default_factory=dict)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    hidden: bool = False

    @property
    def rows(self) -> int:
        """Return the last row with a cell."""
        return max((row for row, _ in self.cells), default=0)

    def lines(self) -> list[list[Value]]:
        """Return the values row by row, all rows equally long."""
        width = max((column for _, column in self.cells), default=0)
        lines: list[list[Value]] = [[None] * width for _ in range(self.rows)]
        for (row, column), cell in self.cells.items():
            lines[row - 1][column - 1] = cell.value
        return lines


def as_text(grid: Grid, separator: str, encoding: str, comma: bool = False) -> bytes:
    """Return a sheet as delimited text; with ``comma`` that is what decimals have."""
    out = io.StringIO()

    def said(value: Value) -> str:
        if value is None:
            return ""
        return f"{value}".replace(".", ",") if comma and isinstance(value, float) else f"{value}"

    lines = [[said(value) for value in line] for line in grid.lines()]
    csv.writer(out, delimiter=separator, lineterminator="\r\n").writerows(lines)
    return out.getvalue().encode(encoding, errors="replace")


def _repacked(data: bytes) -> bytes:
    """Return a zip without the time at which it was written."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            body = old.read(name)
            if name == "docProps/core.xml":
                body = _TIME.sub(b"2020-01-01T00:00:00Z", body)
            new.writestr(info, body)
    return out.getvalue()


def as_xlsx(grids: list[Grid]) -> bytes:
    """Return the sheets as an Excel workbook."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for grid in grids:
        sheet = book.create_sheet(grid.name)
        if grid.hidden:
            sheet.sheet_state = "hidden"
        for (row, column), cell in grid.cells.items():
            written = sheet.cell(row, column, cell.value)
            if isinstance(cell.value, str):
                written.data_type = "s"
            if cell.bold:
                written.font = Font(bold=True)
            if cell.indent:
                written.alignment = Alignment(indent=cell.indent)
        for row, column, last_row, last_column in grid.merged:
            sheet.merge_cells(
                start_row=row, start_column=column, end_row=last_row, end_column=last_column
            )
    out = io.BytesIO()
    book.save(out)
    return _repacked(out.getvalue())


_ODS: Final = (
    '<?xml version="1.0" encoding="UTF-8"?><office:document-content office:version="1.3"'
    ' xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
    ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
    "<office:body><office:spreadsheet>{}</office:spreadsheet></office:body></office:document-content>"
)
_MANIFEST: Final = (
    '<?xml version="1.0" encoding="UTF-8"?><manifest:manifest manifest:version="1.3"'
    ' xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="/" manifest:media-type="{0}"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
    "</manifest:manifest>"
)


def as_ods(grids: list[Grid]) -> bytes:
    """Return the sheets as an OpenDocument workbook."""
    tables = []
    for grid in grids:
        spans = {
            (row, column): (last_row - row + 1, last_column - column + 1)
            for row, column, last_row, last_column in grid.merged
        }
        rows = []
        for row, line in enumerate(grid.lines(), start=1):
            cells = []
            for column, value in enumerate(line, start=1):
                down, right = spans.get((row, column), (1, 1))
                span = (
                    f' table:number-rows-spanned="{down}" table:number-columns-spanned="{right}"'
                    if (down, right) != (1, 1)
                    else ""
                )
                if value is None:
                    cells.append("<table:table-cell/>")
                elif isinstance(value, str):
                    cells.append(
                        f'<table:table-cell{span} office:value-type="string">'
                        f"<text:p>{escape(value)}</text:p></table:table-cell>"
                    )
                else:
                    cells.append(
                        f'<table:table-cell{span} office:value-type="float" office:value="{value}">'
                        f"<text:p>{value}</text:p></table:table-cell>"
                    )
            rows.append(f"<table:table-row>{''.join(cells)}</table:table-row>")
        name = escape(grid.name, {'"': "&quot;"})
        tables.append(f'<table:table table:name="{name}">{"".join(rows)}</table:table>')
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, body in (
            ("mimetype", kind),
            ("content.xml", _ODS.format("".join(tables))),
            ("META-INF/manifest.xml", _MANIFEST.format(kind)),
        ):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), body)
    return out.getvalue()
