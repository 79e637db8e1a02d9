"""Workbooks for tests."""

from __future__ import annotations

import io
import zipfile

import polars as pl


def workbook(frame: pl.DataFrame) -> bytes:
    """The smallest xlsx file with the frame in it."""
    rows = [frame.columns, *frame.rows()]
    body = "".join(
        "<row>"
        + "".join(f'<c t="inlineStr"><is><t>{value}</t></is></c>' for value in row)
        + "</row>"
        for row in rows
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/s.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="a" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet '
        'name="held" sheetId="1" r:id="b"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="b" Type="{office}/worksheet" Target="s.xml"/></Relationships>',
        "xl/s.xml": f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>',
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()
