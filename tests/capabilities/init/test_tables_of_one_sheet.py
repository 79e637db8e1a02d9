"""Several tables on one sheet: below each other, and side by side."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from openpyxl import Workbook

from recon_cli.capabilities.init.recognition import recognise
from recon_cli.sources.read.choices import Choices
from tests.support.command_line import audit_drafted, recon

BENEFITS: list[list[object]] = [
    ["Area", "Total", "Housing", "Disability", "Carer"],
    ["Aldon", 60, 32, 15, 13],
    ["Brexley", 33, 16, "*", "*"],
    ["Carham", 21, 13, 8, 0],
    ["Dunmere", 80, 40, 27, 13],
    ["All areas", 194, 101, 64, 29],
]
AGES: list[list[object]] = [
    ["Area", "Total", "Under 25", "25 to 49", "50 and over", "Not known"],
    ["Aldon", 60, 14, 30, 12, 4],
    ["Brexley", 33, 8, 17, 8, 0],
    ["Carham", 21, 7, 7, 7, 0],
    ["Dunmere", 80, 21, "*", 25, "*"],
    ["All areas", 194, 50, 86, 52, 6],
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _side_by_side(gap: int, *, is_shorter: bool = False) -> Path:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Table 1a: claimants by benefit", *[None] * (4 + gap), "Table 1b: by age"])
    blank: list[object] = [None] * gap
    ages = [AGES[0], *AGES[2:]] if is_shorter else AGES
    for row, own in enumerate(BENEFITS):
        sheet.append([*own, *blank, *(ages[row] if row < len(ages) else [])])
    book.save("claims.xlsx")
    return Path("claims.xlsx")


def _stacked(*tables: list[list[object]]) -> Path:
    lines = ["Claimants,,,,,"]
    for number, rows in enumerate(tables, start=1):
        lines += ["", f"Table {number},,,,,"]
        lines += [",".join(map(str, [*row, *[""] * (6 - len(row))])) for row in rows]
    Path("claims.csv").write_text("\n".join(lines) + "\n")
    return Path("claims.csv")


def _audited(path: Path) -> list[tuple[int, int | None]]:
    recon("init", path, "--below", "5", "--complementary", "--all-places")
    audit_drafted()
    found = pl.read_parquet("work/claims/audit/**/*.parquet")
    return sorted(found.select("least", "greatest").rows())


@pytest.mark.parametrize("gap", [0, 1, 2])
def test_tables_side_by_side_are_both_read(gap: int) -> None:
    """Of each the stars follow from what else it says, and from the total of all areas."""
    assert _audited(_side_by_side(gap)) == [(2, 2), (3, 3), (14, 14), (32, 32)]
    assert not recognise([Path("claims.xlsx")]).left_out


def test_the_second_may_have_fewer_rows() -> None:
    found = recognise([_side_by_side(1, is_shorter=True)])
    assert {len(each.cells) for each in found.schema.tables} == {4, 5}
    assert not found.left_out


def test_tables_below_each_other_may_be_of_different_width() -> None:
    assert _audited(_stacked(BENEFITS, AGES)) == [(2, 2), (3, 3), (14, 14), (32, 32)]
    reading = Path("recon.yaml").read_text()
    assert "claims.csv, table 2: TABLE2" in reading


def test_a_blank_column_between_counts_is_no_border() -> None:
    rows = [[*own[:3], "", *own[3:]] for own in BENEFITS]
    Path("claims.csv").write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    found = recognise([Path("claims.csv")])
    assert len(found.schema.tables) == 1
    assert len(found.schema.tables[0].cells) == 4


BANDS = """,Men,,,Women,,
Area,{0},25-49,50+,{0},25-49,50+
Aldon,14,10,6,11,9,10
Brexley,8,7,3,5,6,*
Carham,3,4,3,5,6,*
Dunmere,20,20,10,10,10,10
All areas,45,41,22,31,31,24
"""


@pytest.mark.parametrize("youngest", ["0-24", "<25", "Under 25"])
@pytest.mark.parametrize("is_second", [False, True])
def test_ages_over_columns_are_no_row_of_intervals(youngest: str, *, is_second: bool) -> None:
    text = BANDS.format(youngest)
    first = "\n".join(",".join(map(str, [*row, "", ""])) for row in BENEFITS)
    Path("bands.csv").write_text(f"{first}\n\nTable 2,,,,,,\n{text}" if is_second else text)
    found = recognise([Path("bands.csv")])
    geoids = found.mapping["geoids"]
    assert isinstance(geoids, dict)
    assert "Area" not in geoids
    headers = found.mapping["labels"]["columns"]  # type: ignore[index]
    assert f"Women: {youngest}" in headers


#: Offences by outcome, of males and of females; what is starred follows from all three together.
OUTCOMES = {
    "All persons": (
        "Violence,0,*,0,*,3\nSexual,4,4,6,16,30\nRobbery,*,*,*,13,17\nTheft,7,18,22,37,84\n"
        "All offences,13,24,29,68,134\n"
    ),
    "Males": (
        "Violence,0,0,0,0,0\nSexual,*,0,*,10,13\nRobbery,*,0,0,*,*\nTheft,*,*,0,10,14\n"
        "All offences,4,*,*,21,29\n"
    ),
    "Females": (
        "Violence,0,*,0,*,3\nSexual,3,4,4,6,17\nRobbery,*,*,*,12,15\nTheft,5,16,22,27,70\n"
        "All offences,9,22,27,47,105\n"
    ),
}


def test_tables_of_kinds_below_each_other_are_of_the_people_that_titles_say() -> None:
    header = "Offence,Discharge,Fine,Community,Custody,Total\n"
    text = "".join(f"Table {name},,,,,\n{header}{own},,,,,\n" for name, own in OUTCOMES.items())
    Path("courts.csv").write_text(text)
    recon("init", "courts.csv", "--below", "3", "--total", "Total")
    found = recognise([Path("courts.csv")], choices=Choices(total=("Total",)))
    assert found.draft is not None
    features = {each.name: each.values for each in found.schema.features}
    assert features["sex"] == ("males", "females")
    assert [len(table.cells) for table in found.schema.tables] == [25, 25, 25]
    assert not any("count the same people" in each for each in found.doubts)
    audit_drafted()
    audit = pl.read_parquet("work/courts/audit/**/*.parquet", hive_partitioning=False)
    assert audit.filter(status="recovered").height == audit.height > 15


def test_labels_that_come_again_below_others_are_parts_of_these() -> None:
    rows = ["All persons,52,50,102", "Angling,26,27,53", "Rowing,26,23,49", "Males,15,20,35"]
    rows += ["Angling,9,12,21", "Rowing,6,8,14", "Females,37,30,67", "Angling,17,15,32"]
    Path("kinds.csv").write_text("\n".join(["Kind,Ayr,Bute,Total", *rows, "Rowing,20,15,35", ""]))
    found = recognise([Path("kinds.csv")])
    assert not found.questions
    assert {each.values for each in found.schema.features} == {
        ("ayr", "bute"),
        ("angling", "rowing"),
        ("males", "females"),
    }


def test_a_header_of_ages_begins_a_second_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ages look like intervals of counts: places of the second table were in the first twice."""
    monkeypatch.chdir(tmp_path)
    Path("carers.csv").write_text(
        "Table 1: Carers by area and sex,,,\nArea,All carers,Male,Female\nOrkney,131,93,38\n"
        "East,55,39,16\nWest,32,19,13\nIsles,44,35,9\n\nTable 2: Carers by area and age,,,\n"
        "Area,16-34,35-64,65+\nOrkney,58,34,39\nEast,25,*,19\nWest,21,*,5\nIsles,12,17,15\n"
    )
    recon("init", "carers.csv", "--total", "Orkney", "--all-places")
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert sorted(found.select("least", "greatest").iter_rows()) == [(6, 6), (11, 11)]


def test_a_table_of_places_above_one_of_kinds_is_read_by_itself() -> None:
    """The draft said of all rows that they are kinds, and its own ingest refused it."""
    Path("a.csv").write_text(
        "Ward,All,Men,Women\nAbbey,12,*,*\nCastle,19,11,8\nTotal,31,15,16\n\n"
        "Cause of death,All,Men,Women\nCancer,17,8,9\nInjury,14,7,7\nAll causes,31,15,16\n"
    )
    flags = ("--place", "Ward")
    asked = recon("init", "a.csv", code=2).output
    assert "'a.csv, table 1' has a row per place, and 'a.csv, table 2' a row per kind" in asked

    recon("init", "a.csv", *flags, "--leave-out", "a.csv, table 2", "--all-places")
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert sorted(found["least"].to_list()) == [4, 8]


def test_a_header_of_ages_that_comes_again_begins_a_table() -> None:
    """Its ages looked like counts that are withheld."""
    head = "Area,All ages,Under 16,16-64,65+\n"
    Path("a.csv").write_text(
        f"Males\n{head}Ayr,27,*,*,10\nBute,36,6,20,10\nTotal,63,10,33,20\nFemales\n{head}"
        f"Ayr,29,*,*,11\nBute,31,5,16,10\nTotal,60,8,31,21\nPersons\n{head}Ayr,56,7,28,21\n"
        "Bute,67,11,36,20\nTotal,123,18,64,41\n"
    )
    recon("init", "a.csv", "--all-places")
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert sorted(found["least"].to_list()) == [3, 4, 13, 15]
    assert found["least"].to_list() == found["greatest"].to_list()
