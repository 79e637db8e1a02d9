"""Flags of `recon init` mean the same for every layout, and overrule what was found."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import openpyxl
import pytest

from recon_cli.capabilities.ingest.options import Ingest, Mapping
from recon_cli.config import load_config
from tests.support.command_line import recon

AGES = ("0-14", "15-64", "65+")
#: Town → its district, and its people by sex and age.
TOWNS = {
    name: (district, {key: 3 + (7 * number + 5 * at) % 11 for at, key in enumerate(keys)})
    for keys in [list(product("MF", AGES))]
    for number, (name, district) in enumerate(
        (("Oak", "North"), ("Elm", "North"), ("Ash", "North"), ("Yew", "South"), ("Box", "South"))
    )
}
HEADER = ["Persons", "Men", "Women", *AGES, "Cars"]
LAYOUTS = ("wide.csv", "long.csv", "stacked.csv", "book.xlsx")


def people(town: str, sex: str = "MF", ages: tuple[str, ...] = AGES) -> int:
    return sum(n for (s, a), n in TOWNS[town][1].items() if s in sex and a in ages)


def row(town: str) -> list[object]:
    cars = 13 * len(town) + people(town) % 7
    sexes = [people(town), people(town, "M"), people(town, "F")]
    return [*sexes, *(people(town, ages=(age,)) for age in AGES), cars]


def rows_of(layout: str) -> list[list[object]]:
    if layout == "wide.csv":
        return [["District", "Town", *HEADER], *([TOWNS[t][0], t, *row(t)] for t in TOWNS)]
    if layout == "stacked.csv":
        found: list[list[object]] = [["People and cars"], ["Town", *HEADER]]
        for district in ("North", "South"):
            found += [[district], *([t, *row(t)] for t in TOWNS if TOWNS[t][0] == district)]
        return found
    groups = product((("All", "MF"), ("Men", "M"), ("Women", "F")), ("All ages", *AGES))
    return [
        ["District", "Town", "Sex", "Age", "Persons", "Cars"],
        *(
            [TOWNS[t][0], t, label, age, people(t, sex, AGES if age == "All ages" else (age,)), 7]
            for (label, sex), age in groups
            for t in TOWNS
        ),
    ]


@pytest.fixture(autouse=True)
def layouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in ("wide.csv", "long.csv", "stacked.csv"):
        rows = rows_of(name)
        width = max(map(len, rows))
        lines = (",".join(map(str, [*each, *[""] * (width - len(each))])) for each in rows)
        Path(name).write_text("\n".join([*lines, ""]))
        if name == "wide.csv":
            sheet = book.create_sheet(name)
            for each in rows:
                sheet.append(each)
    homes = book.create_sheet("homes")
    homes.append(["Town", "Persons", "Owners", "Tenants"])
    for number, town in enumerate(TOWNS):
        homes.append([town, people(town), number + 2, people(town) - number - 2])
    book.save("book.xlsx")


def drafted(layout: str, *flags: str) -> Mapping:
    """The mapping that is drafted, which `recon ingest` reads the file by."""
    recon("init", layout, *flags, "--force")
    recon("ingest", "-q", "--force")
    mapping = load_config(Path("recon.yaml")).section(Ingest).mapping
    assert mapping is not None
    return mapping


def place_of(layout: str) -> tuple[str, ...]:
    """What has to be said where several columns may have the places."""
    return ("--place", "Town") if layout == "long.csv" else ()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_column_is_left_out(layout: str) -> None:
    mapping = drafted(layout, "--leave-out", "Cars", *place_of(layout))
    assert mapping.columns == {"Cars": None}
    assert not any("Cars" in own for own in mapping.labels.values())
    (page,) = Path().glob("work/*/tables/_reading.html")
    assert "<li>Cars: " in page.read_text()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_column_is_counted(layout: str) -> None:
    mapping = drafted(layout, "--count", "Cars", *place_of(layout))
    assert any("Cars" in own for own in mapping.labels.values())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_places_are_said(layout: str) -> None:
    mapping = drafted(layout, "--leave-out", "Cars", "--place", "Town")
    assert mapping.place == "Town"
    assert {name.rpartition(" / ")[2] for name in mapping.geoids} >= set(TOWNS)


@pytest.mark.parametrize("layout", ["wide.csv", "long.csv", "book.xlsx"])
def test_the_parent_is_said(layout: str) -> None:
    mapping = drafted(layout, "--leave-out", "Cars", "--parent", "District")
    assert (mapping.place, mapping.parent) == ("Town", ("District",))
    assert {name for name in mapping.geoids if " / " in name} == {
        f"{district} / {town}" for town, (district, _) in TOWNS.items()
    }


def test_a_place_that_is_said_overrules_the_column_that_names_each_row() -> None:
    refused = recon("init", "wide.csv", "--leave-out", "Cars", "--place", "District", code=4)
    assert "row 3: 'North' is in row 2 already" in refused.stderr
    assert drafted("long.csv", "--leave-out", "Cars", "--place", "District").place == "District"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "flag", ["--place", "--parent", "--count", "--leave-out", "--apart", "--total"]
)
def test_what_no_column_is_called_is_refused(layout: str, flag: str) -> None:
    refused = recon("init", layout, flag, "No such", code=2).stderr
    assert f"{flag} 'No such': no column is called so; there are " in refused
    assert "'Town'" in refused


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_header_row_is_said(layout: str) -> None:
    row = "2" if layout == "stacked.csv" else "1"
    flags = () if layout == "book.xlsx" else ("--header", row)
    drafted(layout, "--leave-out", "Cars", *flags, *place_of(layout))
    assert (
        "--header 99: this row is empty" in recon("init", layout, "--header", "99", code=2).stderr
    )


def test_sheets_may_call_their_places_differently() -> None:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, place, parts in (("A", "School", (14, 17)), ("B", "Establishment", (20, 11))):
        sheet = book.create_sheet(name)
        sheet.append([place, "Pupils", f"{name} one", f"{name} two"])
        for number, town in enumerate(TOWNS):
            sheet.append([town, sum(parts) + 3 * number, parts[0] + number, parts[1] + 2 * number])
    book.save("two.xlsx")
    assert set(drafted("two.xlsx").geoids) >= set(TOWNS)
