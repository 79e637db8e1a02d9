"""Workbooks for tests and made-up offices: a zip of XML with values, merged cells and indents."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.sax.saxutils import escape, quoteattr

import polars as pl

_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
_KIND: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_MOST_INDENT: Final = 4

#: First row and column, last row and column, from 0.
Merge = tuple[int, int, int, int]


@dataclass
class WorkbookSheet:
    """A sheet to write.

    Attributes:
        rows: Numbers are written as numbers, all else as text; an empty text is an empty cell.
        merges: Ranges of cells that are one.
        indents: (Row, column) → indent of the cell's style.
        hidden: Whether a reader of the workbook does not see it.
    """

    rows: list[list[object]]
    merges: list[Merge] = field(default_factory=list)
    indents: dict[tuple[int, int], int] = field(default_factory=dict)
    hidden: bool = False


def workbook(frame: pl.DataFrame) -> bytes:
    """The smallest xlsx file with the frame in it."""
    rows: list[list[object]] = [list(frame.columns)]
    rows += [[str(value) for value in row] for row in frame.rows()]
    return workbook_of({"held": WorkbookSheet(rows)})


def workbook_of(sheets: Mapping[str, WorkbookSheet]) -> bytes:
    """An xlsx file; the same bytes for the same sheets."""

    def relation(number: int, kind: str, target: str) -> str:
        return f'<Relationship Id="r{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'

    names = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{i}" r:id="r{i}"'
        + (' state="hidden"' if sheet.hidden else "")
        + "/>"
        for i, (name, sheet) in enumerate(sheets.items(), start=1)
    )
    parts = [
        relation(i, "worksheet", f"worksheets/sheet{i}.xml") for i in range(1, len(sheets) + 1)
    ]
    parts.append(relation(len(sheets) + 1, "styles", "styles.xml"))
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{_KIND}.worksheet+xml"/>'
        for i in range(1, len(sheets) + 1)
    )
    styles = "".join(
        f'<xf><alignment indent="{indent}"/></xf>' for indent in range(_MOST_INDENT + 1)
    )
    texts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_KIND}.styles+xml"/>{overrides}'
        "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f"{relation(1, 'officeDocument', 'xl/workbook.xml')}</Relationships>",
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{names}'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f"{''.join(parts)}</Relationships>",
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><fonts><font/></fonts>'
        "<fills><fill><patternFill/></fill></fills><borders><border/></borders><cellStyleXfs><xf/></cellStyleXfs><cellXfs>"
        f"{styles}</cellXfs></styleSheet>",
        **{
            f"xl/worksheets/sheet{i}.xml": _sheet(sheet)
            for i, sheet in enumerate(sheets.values(), start=1)
        },
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            data = '<?xml version="1.0"?>' + text
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _sheet(sheet: WorkbookSheet) -> str:
    body = "".join(
        f'<row r="{i + 1}">'
        + "".join(_cell(i, j, value, sheet.indents.get((i, j), 0)) for j, value in enumerate(row))
        + "</row>"
        for i, row in enumerate(sheet.rows)
    )
    merges = "".join(
        f'<mergeCell ref="{_name(top, left)}:{_name(bottom, right)}"/>'
        for top, left, bottom, right in sheet.merges
    )
    if merges:
        merges = f"<mergeCells>{merges}</mergeCells>"
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{body}</sheetData>{merges}</worksheet>'


def _cell(row: int, column: int, value: object, indent: int) -> str:
    style = f' s="{indent}"' if indent else ""
    at = f'<c r="{_name(row, column)}"{style}'
    if value == "" or value is None:
        return ""
    if isinstance(value, int | float):
        return f"{at}><v>{value}</v></c>"
    text = escape(str(value))
    return f'{at} t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def _name(row: int, column: int) -> str:
    letters = ""
    at = column + 1
    while at:
        at, left = divmod(at - 1, 26)
        letters = chr(ord("A") + left) + letters
    return f"{letters}{row + 1}"


def plain_sheets(sheets: Mapping[str, Sequence[Sequence[object]]]) -> dict[str, WorkbookSheet]:
    """Sheets of plain cells."""
    return {name: WorkbookSheet([list(row) for row in rows]) for name, rows in sheets.items()}
