"""Rows and columns that a spreadsheet program hides: whoever has the file can show them."""

from __future__ import annotations

from pathlib import Path

import pytest
from openpyxl import Workbook

from recon_cli.capabilities.init.recognition import recognise
from recon_cli.sources.read.choices import Choices

ROWS = [
    ("Area", "Total", "Housing", "Carer", None, "Carer"),
    ("Aldon", 60, 47, 13, None, 13),
    ("Brexley", 33, "*", "*", None, 2),
    ("Carham", 21, 12, 9, None, 9),
    ("Dunmere", 80, "*", "*", None, 4),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in ROWS:
        sheet.append(row)
    sheet.column_dimensions["F"].hidden = True
    sheet.row_dimensions[4].hidden = True
    book.save(tmp_path / "claims.xlsx")
    return tmp_path / "claims.xlsx"


def test_hidden_rows_and_columns_are_told(path: Path) -> None:
    found = recognise([path], choices=Choices(leave_out={"Carer (column 6)": ""}))
    (told,) = [doubt for doubt in found.doubts if "hidden" in doubt]
    assert told.startswith("claims.xlsx: whether column F, row 4, hidden there, may be published")


def test_a_column_with_what_another_withholds_is_asked_about(path: Path) -> None:
    asked = recognise([path]).questions[0]
    assert asked.text.startswith("'Carer (column 6)' has the numbers of 'Carer (column 4)'")
    assert list(asked.answers.values()) == ["--leave-out 'Carer (column 6)'"]
