"""Workbooks of other programs are read as xlsx files are, and as carefully."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from recon_cli.capabilities.init.proposal.proposal import propose
from recon_cli.errors import SourceError
from recon_cli.sources.documents import document_of, open_documents
from recon_cli.sources.tabular import read_sheet
from tests.support.paths import ROOT

SHEETS = ROOT.parent / "shared" / "data" / "sheets"
_NAMES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
)


def write_ods(path: Path, rows: list[list[object]], repeated: str = "") -> Path:
    """The smallest ods file with some cells."""

    def cell(value: object) -> str:
        if isinstance(value, str):
            kind = 'office:value-type="string"'
        else:
            kind = f'office:value-type="float" office:value="{value}"'
        return f"<table:table-cell {kind} {repeated}><text:p>{value}</text:p></table:table-cell>"

    body = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "content.xml",
            f'<office:document-content {_NAMES} office:version="1.2"><office:body>'
            f'<office:spreadsheet><table:table table:name="Sheet">{body}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
        archive.writestr(
            "META-INF/manifest.xml",
            "<manifest:manifest "
            'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            '<manifest:file-entry manifest:full-path="/" '
            'manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/>'
            "</manifest:manifest>",
        )
    return path


ROWS: list[list[object]] = [
    ["School", "All", "Girls", "Boys"],
    ["Ashby", 40, 21, 19],
    ["Birch", 55, 25, 30],
    ["Cedar", 80, 30, 50],
]


def test_an_ods_file_is_read(tmp_path: Path) -> None:
    (document,) = open_documents(write_ods(tmp_path / "schools.ods", ROWS))
    (table,) = propose(read_sheet(document)).tables
    (found,) = table.relations.sums(table.relations.found[0].axis)
    assert (found.line, found.of) == (1, (2, 3))


def test_an_ods_file_that_would_fill_memory_is_refused(tmp_path: Path) -> None:
    path = write_ods(tmp_path / "large.ods", ROWS, 'table:number-columns-repeated="2000000"')
    with pytest.raises(SourceError, match="larger than 5,000,000 cells"):
        read_sheet(document_of(path))


@pytest.mark.skipif(not SHEETS.is_dir(), reason="the sheets are not here")
def test_an_xls_file_is_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO((SHEETS / "cius.zip").read_bytes())) as archive:
        name = next(each for each in archive.namelist() if "Table_42_" in each)
        (tmp_path / "arrests.xls").write_bytes(archive.read(name))
    (table,) = propose(read_sheet(document_of(tmp_path / "arrests.xls"))).tables
    across = {(e.line, e.of, e.per) for e in table.relations.found if e.axis.value == "columns"}
    # Total = Male + Female, and the percentages of both, in 31 of 31 rows.
    assert across == {(1, (2, 3), 0.0), (4, (2, 1), 100.0), (5, (3, 1), 100.0)}
    assert {e.support.shown for e in table.relations.found if e.axis.value == "columns"} == {31}
