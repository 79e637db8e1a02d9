"""One config for several files of an office: headers that they share, and features."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from openpyxl import Workbook

from recon_cli.capabilities.init.recognition import recognise
from recon_cli.schema import load_release
from recon_cli.sources import FileMapping
from recon_cli.sources.read.choices import Choices, SaidSum
from tests.support.command_line import recon

SEX = "Place,Total,Male,Female\nAshby,12,7,5\nElm,9,4,5\nOak,20,9,11\n"
AGE = "Place,Total,0-64,65+\nAshby,12,9,3\nElm,9,5,4\nOak,20,8,12\n"
HOME = "Place,Total,Owner,Renter\nAshby,12,2,10\nElm,9,8,1\nOak,20,5,15\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("sex", SEX), ("age", AGE), ("home", HOME)):
        Path(f"{name}.csv").write_text(text)


def test_files_about_the_same_places_have_tables_of_their_own() -> None:
    recon("init", "sex.csv", "age.csv", "home.csv")
    mapping = yaml.safe_load(Path("recon.yaml").read_text())["ingest"]["mapping"]
    assert mapping["tables"] == {"sex.csv": "TABLE1", "age.csv": "TABLE2", "home.csv": "TABLE3"}
    assert mapping["labels"]["columns"]["Total"] == {}
    assert {feature.name: feature.values for feature in load_release("sex.yaml").features} == {
        "sex": ("male", "female"),
        "age": ("0-64", "65+"),
        "feature_1": ("owner", "renter"),
    }
    assert "verified" in recon("run", "--until", "reconstruct").stdout


def test_files_with_the_same_headers_are_one_table() -> None:
    other = "Place,Total,Male,Female\nFord,14,9,5\nAsh,7,4,3\nYew,22,9,13\n"
    Path("south.csv").write_text(other)
    recon("init", "sex.csv", "south.csv")
    assert list(load_release("sex.yaml").table_by_name) == ["TABLE1"]
    assert "18 cells, all equal" in recon("run", "--until", "reconstruct").stdout


def test_two_systems_of_places_are_not_read_together(tmp_path: Path) -> None:
    book = Workbook()
    wards, boards = book.active, book.create_sheet("Boards")
    assert wards is not None
    wards.title = "Wards"
    for row in SEX.splitlines():
        wards.append([int(text) if text.isdigit() else text for text in row.split(",")])
    for sheet, rows in (
        (wards, [("Country", 41, 20, 21)]),
        (boards, [("Place", "Total", "Male", "Female"), ("Country", 41, 20, 21)]),
        (boards, [("North", 25, 11, 14), ("South", 16, 9, 7)]),
    ):
        for line in rows:
            sheet.append(line)
    book.save(tmp_path / "two.xlsx")
    asked = " ".join(recon("init", "two.xlsx", code=2).stderr.split())
    assert "two systems of places, each with all people of 'Country'" in asked
    assert "'Wards' has 'Ashby' and 2 more, 'Boards' has 'North' and 1 more" in asked
    recon("init", "two.xlsx", "--sheet", "Boards")
    assert "verified" in recon("run", "--until", "reconstruct").stdout


@pytest.mark.parametrize("first", [1, 2])
def test_a_sheet_of_numbered_notes_is_not_asked_about(tmp_path: Path, first: int) -> None:
    """What it says of the marks is believed; numbers that do not count notes are asked about."""
    book = Workbook()
    notes, table = book.active, book.create_sheet("Table 1")
    assert notes is not None
    for row in (("Note number", "Text"), (first, "Adults"), (first + 1, "– nil")):
        notes.append(row)
    for line in SEX.replace("9,4,5", "9,9,–").splitlines():
        table.append([int(text) if text.isdigit() else text for text in line.split(",")])
    book.save(tmp_path / "noted.xlsx")
    found = recognise([tmp_path / "noted.xlsx"])
    assert bool(found.questions) == (first > 1)
    if first == 1:
        assert found.mapping["zeros"] == ["–"]


def test_a_column_that_two_files_print_counts_the_same_in_both(tmp_path: Path) -> None:
    """It is no part of a sum, and no second count of everybody."""
    meals = [14, 9, 17, 4]
    everybody = [60, 44, 71, 39]
    for name, some in {"sex": [31, 20, 40, 21], "need": [12, 8, 15, 11]}.items():
        rows = [
            f"School {i},{all_},{own},{all_ - own},{eats}"
            for i, (all_, own, eats) in enumerate(zip(everybody, some, meals, strict=True))
        ]
        header = f"School,All,{name} one,{name} two,Meals"
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *rows, ""]))
    found = recognise(
        [tmp_path / "need.csv", tmp_path / "sex.csv"], choices=Choices(count=("Meals",))
    )
    labels = found.mapping["labels"]
    assert isinstance(labels, dict)
    assert labels["columns"]["Meals"] == {"meals": "meals"}
    assert not any("counts the same" in doubt for doubt in found.doubts)


SEXES = (
    "Area,All,Men,Women\nAldon,60,29,31\nBrexley,33,15,18\nCarham,21,6,15\nAll areas,114,50,64\n"
)
BENEFITS = """Area,All,Men Housing,Men Carer,Women Housing,Women Carer
Aldon,60,25,{0},23,8
Brexley,33,{1},{1},13,5
Carham,21,{1},{1},13,{1}
All areas,114,42,8,49,15
"""


def test_headers_of_one_file_begin_with_those_of_another(tmp_path: Path) -> None:
    """Few rows show that men are those of the other file: their stars follow from it."""
    (tmp_path / "sexes.csv").write_text(SEXES)
    (tmp_path / "benefits.csv").write_text(BENEFITS.format(4, "*"))
    found = recognise([tmp_path / "sexes.csv", tmp_path / "benefits.csv"])
    assert not found.questions
    labels = found.mapping["labels"]["columns"]  # type: ignore[index]
    assert {frozenset(labels[f"{sex} Carer"].values()) for sex in ("Men", "Women")} == {
        frozenset({"men", "carer"}),
        frozenset({"women", "carer"}),
    }


def test_a_sum_of_another_file_that_too_few_rows_show_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "sexes.csv").write_text(SEXES)
    text = BENEFITS.format("*", "*").replace("114,42,8,49,15", "114,42,*,49,*")
    (tmp_path / "benefits.csv").write_text(text.replace("23,8", "23,*").replace("13,5", "13,*"))
    paths = [tmp_path / "sexes.csv", tmp_path / "benefits.csv"]
    asked = recognise(paths).questions
    said = ["Men = Men Housing + Men Carer", "Women = Women Housing + Women Carer"]
    flags = " ".join(f"--sum '{each}'" for each in said)
    assert flags in [each.answers.get("yes") for each in asked]
    choices = Choices(sums=tuple(map(SaidSum.of, said)), total=("All",))
    assert not recognise(paths, choices=choices).questions
    parts = tuple(f"{sex} {kind}" for sex in ("Men", "Women") for kind in ("Housing", "Carer"))
    denied = recognise(paths, choices=Choices(count=parts, total=("All",)))
    assert not any("another table" in each.text for each in denied.questions)


def test_sheets_of_several_years_are_read_one_at_a_time(tmp_path: Path) -> None:
    book = Workbook()
    for year, more in ((2022, 0), (2023, 3)):
        sheet = book.create_sheet(str(year))
        sheet.append(["Area", "All", "Men", "Women"])
        for name, men, women in (("Aldon", 29, 31), ("Brexley", 15, 18), ("Carham", 6, 15)):
            sheet.append([name, men + women + more, men + more, women])
    del book["Sheet"]
    path = tmp_path / "years.xlsx"
    book.save(path)
    (asked, *_) = recognise([path]).questions
    assert asked.text.startswith("'2022', '2023' have the same columns and places")
    assert list(asked.answers.values()) == ["--sheet 2022", "--sheet 2023"]
    found = recognise([path], said=FileMapping(sheet=("2023",)))
    assert not found.questions
