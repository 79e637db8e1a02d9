"""Sheets as offices lay them out: each row of counts is of the right place and cell, or refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from recon_cli.errors import SourceError
from recon_cli.sources.documents import document_of
from recon_cli.sources.formats.layout import WHOLE, Layout, lay_out
from recon_cli.sources.formats.mapping import NO_MAPPING, FileMapping
from recon_cli.sources.tabular import documents_of_sheets, hidden_sheets, read_sheet
from tests.support.workbooks import WorkbookSheet, workbook_of

HEADER: list[object] = ["School", "Boys", "Girls", "All pupils"]
#: Two districts with an Oak each; sums of rows and of columns.
NORTH: list[list[object]] = [["Oak", 12, 9, 21], ["Elm", 7, 11, 18]]
SOUTH: list[list[object]] = [["Oak", 3, 4, 7], ["All Saints", 20, 18, 38]]
TOTALS = {"North": (19, 20, 39), "South": (23, 22, 45), "": (42, 42, 84)}
TRUTH = {
    "North / Oak": (12, 9, 21), "North / Elm": (7, 11, 18), "North": (19, 20, 39),
    "South / Oak": (3, 4, 7), "South / All Saints": (20, 18, 38), "South": (23, 22, 45),
    WHOLE: (42, 42, 84),
}  # fmt: skip


def laid_out(
    folder: Path, sheet: WorkbookSheet, mapping: FileMapping = NO_MAPPING
) -> tuple[Layout, dict[str, tuple[int, ...]]]:
    path = folder / "office.xlsx"
    path.write_bytes(workbook_of({"Table": sheet}))
    found = lay_out(read_sheet(document_of(path)), mapping)
    (frame,) = found.sheet.batches()
    counts = {
        str(row[str(found.place)]): tuple(int(row[str(at)] or -1) for at in found.counts)
        for row in frame.rows(named=True)
    }
    return found, counts


def total(name: object, district: str = "") -> list[object]:
    return [name, *TOTALS[district]]


def test_a_merged_parent_column_with_a_total_a_district(tmp_path: Path) -> None:
    rows: list[list[object]] = [["Pupils, 2023"], [], ["District", *HEADER]]
    merges = [(0, 0, 0, 4)]
    for district, schools in (("North", NORTH), ("South", SOUTH)):
        merges.append((len(rows), 0, len(rows) + 2, 0))
        rows += [["", *school] for school in schools] + [["", *total("All schools", district)]]
        rows[-3][0] = district
    rows += [["County", "", *TOTALS[""]], [], ["Source: the office"]]
    found, counts = laid_out(tmp_path, WorkbookSheet(rows, merges))
    assert counts == TRUTH
    assert (found.levels, found.questions) == (("district", "school"), ())


@pytest.mark.parametrize("merged", [True, False])
def test_header_rows_merged_and_not(tmp_path: Path, merged: bool) -> None:
    rows: list[list[object]] = [
        ["Place", "Boys", "", "", "Girls", "", "All"],
        ["", "Year 7", "Year 8", "", "Year 7", "Year 8", ""],
        ["Oak", 1, 2, "", 3, 4, 10],
        ["Elm", 5, 6, "", 7, 8, 26],
    ]
    merges = [(0, 0, 1, 0), (0, 1, 0, 2), (0, 4, 0, 5), (0, 6, 1, 6)] if merged else []
    found, counts = laid_out(tmp_path, WorkbookSheet(rows, merges))
    words = [": ".join(found.headers[at]) for at in found.counts]
    assert words == [
        "Boys: Year 7", "Boys: Year 8", "Girls: Year 7", "Girls: Year 8", "All",
    ]  # fmt: skip
    assert counts == {"Oak": (1, 2, 3, 4, 10), "Elm": (5, 6, 7, 8, 26)}


@pytest.mark.parametrize("style", ["indent", "blanks"])
def test_indents_say_what_is_part_of_what(tmp_path: Path, style: str) -> None:
    rows: list[list[object]] = [HEADER]
    indents = {}
    for district, schools in (("North", NORTH), ("South", SOUTH)):
        rows.append(total(district, district))
        for name, *counts in schools:
            indents[len(rows), 0] = 1
            rows.append([name if style == "indent" else f"   {name}", *counts])
    rows.append(total("Total"))
    sheet = WorkbookSheet(rows, indents=indents if style == "indent" else {})
    assert laid_out(tmp_path, sheet)[1] == TRUTH


def test_heading_rows_and_totals_below(tmp_path: Path) -> None:
    rows: list[list[object]] = [["Table 1"], HEADER]
    for district, schools in (("North", NORTH), ("South", SOUTH)):
        rows += [[district], *schools, total("Total", district)]
    rows.append(total("All schools"))
    assert laid_out(tmp_path, WorkbookSheet(rows))[1] == TRUTH


def test_rows_that_are_the_sums_of_others_are_what_these_are_part_of(tmp_path: Path) -> None:
    rows = [HEADER, *NORTH, total("North", "North"), *SOUTH, total("South", "South")]
    found, counts = laid_out(tmp_path, WorkbookSheet([*rows, total("Kent")]))
    assert counts == TRUTH
    assert any("'Kent' is all places together" in note for note in found.notes)


def test_all_saints_is_a_school_and_all_schools_are_not(tmp_path: Path) -> None:
    rows: list[list[object]] = [HEADER, ["All Saints", 5, 6, 11], ["Elm", 1, 2, 3]]
    _, counts = laid_out(tmp_path, WorkbookSheet([*rows, ["All schools", 6, 8, 14]]))
    assert set(counts) == {"All Saints", "Elm", WHOLE}


def test_codes_are_kept_and_begin_with_those_of_the_parent(tmp_path: Path) -> None:
    header: list[object] = ["District code", "District", "Ward code", "Ward", "Men", "Women"]
    rows: list[list[object]] = [
        header,
        ["01", "North", "0101", "Abbey", 12, 15],
        ["01", "North", "0102", "Castle", 9, 3],
        ["02", "South", "0201", "Abbey", 6, 6],
        ["02", "South", "0202", "Quay", 30, 24],
    ]
    found, counts = laid_out(tmp_path, WorkbookSheet(rows))
    assert counts == {"0101": (12, 15), "0102": (9, 3), "0201": (6, 6), "0202": (30, 24)}
    assert found.names["0201"] == "South / Abbey"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([HEADER, ["Oak", 1, 2, 3], ["Oak", 4, 5, 9]], "Oak is in row 2 already"),
        ([HEADER, ["Oak", 1, 2, 3], ["", 4, 5, 9]], "row 3: has counts and no place"),
        ([HEADER, *NORTH, ["Name", "Free", "Paid", "Sum"], *SOUTH], "a second table"),
        ([HEADER, *NORTH, total("Total", "North"), total("Total", "North")], "another row"),
        (
            [["Ward code", "Men"], ["0101", 4], ["0102", 8], ["201", 9]],
            "was a leading zero lost?",
        ),
        ([["A", "B", "Men"], ["k", "y", 1], ["k", "z", 2]], "recon init --parent HEADER"),
    ],
)
def test_what_cannot_be_told_is_refused(
    tmp_path: Path, rows: list[list[object]], message: str
) -> None:
    with pytest.raises(SourceError, match=message.replace("?", r"\?")):
        laid_out(tmp_path, WorkbookSheet(rows))


def test_merged_counts_are_refused(tmp_path: Path) -> None:
    rows: list[list[object]] = [HEADER, *NORTH]
    with pytest.raises(SourceError, match=r"row 2.*merged cells among the counts"):
        laid_out(tmp_path, WorkbookSheet(rows, [(1, 1, 2, 1)]))


def test_a_total_that_is_not_the_sum_is_a_question(tmp_path: Path) -> None:
    found, counts = laid_out(tmp_path, WorkbookSheet([HEADER, *NORTH, ["All schools", 19, 19, 39]]))
    assert counts[WHOLE] == (19, 19, 39)
    (question,) = found.questions
    assert "column Girls: all places together have 19, and the 2 parts of it 20" in question


def test_hidden_sheets_are_known_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "office.xlsx"
    sheets = {"Table": WorkbookSheet([HEADER, *NORTH]), "More": WorkbookSheet([HEADER, *SOUTH])}
    sheets["Work"] = WorkbookSheet([HEADER], hidden=True)
    path.write_bytes(workbook_of(sheets))
    document = document_of(path)
    assert [each.sheet for each in documents_of_sheets(document, ())] == ["Table", "More"]
    assert [each.sheet for each in documents_of_sheets(document, ["Work"])] == ["Work"]
    assert hidden_sheets(document) == ("Work",)
    with pytest.raises(SourceError, match="no sheet 'Other' with cells"):
        documents_of_sheets(document, ["Other"])


def test_the_same_sheets_are_the_same_bytes() -> None:
    sheets = {"A": WorkbookSheet([HEADER, *NORTH], [(0, 0, 0, 1)], {(1, 0): 2})}
    assert workbook_of(sheets) == workbook_of(sheets)
    assert io.BytesIO(workbook_of(sheets)).read(2) == b"PK"
