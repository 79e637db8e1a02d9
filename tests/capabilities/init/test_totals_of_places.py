"""A total over all groups of places, and places that two sheets call by other words."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.init.recognition import recognise
from recon_cli.sources.read.choices import Choices
from tests.support.command_line import audit_drafted, recon

WIDE = """Region,Prison,All,Men,Women
England,All prisons,1063,830,233
North,North total,400,300,100
North,Aldwick,250,180,70
North,Birch,150,120,30
South,South total,650,520,130
South,Ivel,410,310,100
South,Jarrow,240,210,30
Islands,Islands total,c,c,c
Islands,Sark,c,c,c
"""
LONG = "Region,Prison,Type,Count\n" + "".join(
    f"{region},{prison},{kind},{count}\n"
    for region, prison, counts in (
        ("England", "All prisons", (1050, 650, 400)),
        ("North", "North total", (400, 250, 150)),
        ("North", "Aldwick", (250, 150, 100)),
        ("North", "Birch", (150, 100, 50)),
        ("South", "South total", (650, 400, 250)),
        ("South", "Ivel", (410, 240, 170)),
        ("South", "Jarrow", (240, 160, 80)),
    )
    for kind, count in zip(("All types", "Remand", "Sentenced"), counts, strict=True)
)
TOTAL = "England / All prisons"


def test_a_total_that_no_column_shows_is_asked_about(tmp_path: Path) -> None:
    (asked,) = recognise([_written(tmp_path)], choices=Choices(place="Prison")).questions
    assert asked.text.startswith(f"{TOTAL!r} may be all other places together")


def test_a_row_that_is_part_of_nothing_may_be_the_total(tmp_path: Path) -> None:
    text = WIDE.replace("England,All prisons", ",England")
    (asked,) = recognise([_written(tmp_path, text)], choices=Choices(place="Prison")).questions
    assert asked.text.startswith("'England' may be all other places together")


def _written(folder: Path, text: str = WIDE) -> Path:
    path = folder / "prisons.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize("answer", ["--total", "--apart"])
def test_the_answer_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.chdir(tmp_path)
    _written(tmp_path)
    flags = ("--below", "15", "--complementary", "--all-places", answer, TOTAL)
    recon("init", "prisons.csv", "--place", "Prison", *flags)
    audit_drafted()
    found = pl.read_parquet("work/prisons/audit/**/*.parquet")
    ends = set(found.select("least", "greatest").rows())
    assert (ends == {(13, 13), (10, 10), (3, 3)}) == (answer == "--total")


def test_rows_without_a_place_are_their_total_as_the_question_says(tmp_path: Path) -> None:
    sexes = {"Adams": (21, 96), "Brown": (8, 25), "Clark": (10, 20)}
    rows = [
        f"{county},{code},{sex},{count}"
        for code, (county, (women, men)) in enumerate(sexes.items())
        for sex, count in (("F", women), ("M", men), ("", women + men))
    ]
    path = _written(tmp_path, "\n".join(["County,Code,Sex,Deaths", *rows, ",,,180", ""]))
    (asked,) = recognise([path], choices=Choices(count=("Deaths",))).questions
    assert asked.answers["yes"] == "--total '(blank)'"
    said = Choices(count=("Deaths",), total=("(blank)",))
    assert not recognise([path], choices=said).questions


def test_two_such_totals_are_places(tmp_path: Path) -> None:
    text = WIDE + "Wales,All of Wales,90,60,30\n"
    found = recognise([_written(tmp_path, text)], choices=Choices(place="Prison"))
    assert not any("all other places" in each.text for each in found.questions)


def test_sheets_that_call_places_by_other_words_have_the_same(tmp_path: Path) -> None:
    wide = WIDE.replace("Islands,Islands total,c,c,c\nIslands,Sark,c,c,c\n", "")
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, text in zip(paths, (wide.replace("1063,830,233", "1050,820,230"), LONG), strict=True):
        path.write_text(text)
    found = recognise(paths, choices=Choices(place="Prison"))
    geoids = found.mapping["geoids"]
    assert isinstance(geoids, dict)
    assert geoids["Aldwick"] == geoids["North / Aldwick"]
    assert geoids["North total"] == geoids["North / North total"]
    assert geoids["All prisons"] == geoids[TOTAL]
    assert len(set(geoids.values())) == 7


def test_a_total_that_one_column_shows_is_not_asked_about_for_another(tmp_path: Path) -> None:
    head, *rows = LONG.splitlines()
    kinds = {"All types": "9", "Remand": "c", "Sentenced": "c"}
    text = "\n".join([f"{head},Under 21", *(f"{row},{kinds[row.split(',')[2]]}" for row in rows)])
    path = _written(tmp_path, text)
    choices = Choices(place="Prison", count=("Count", "Under 21"))
    asked = [each.text for each in recognise([path], choices=choices).questions]
    assert not any("Type" in text for text in asked), asked


LISTED = """Area,Claimants,of which carers
North,114,6
Aldon,60,*
Brexley,33,*
Carham,21,0
South,141,8
Dunmere,80,6
Elsham,17,0
Fordby,44,*
"""


def test_rows_that_cut_a_list_into_groups_are_asked_about(tmp_path: Path) -> None:
    path = _written(tmp_path, LISTED)
    (asked,) = recognise([path]).questions
    assert "North = Aldon + Brexley + Carham; South = Dunmere" in asked.text
    assert "--apart North --apart South" in asked.answers.values()
    total = recognise([_written(tmp_path, LISTED + "All areas,255,14\n")])
    assert [each.text for each in total.questions] == [asked.text]
    behind = "\n".join([LISTED.splitlines()[0], *LISTED.splitlines()[:0:-1]]) + "\n"
    (asked,) = recognise([_written(tmp_path, behind)]).questions
    assert "North = Carham + Brexley + Aldon; South = Fordby" in asked.text


@pytest.mark.parametrize(
    ("flags", "ends"),
    [
        (("--total", "North", "--total", "South"), {(2, 2), (2, 4)}),
        (("--apart", "North", "--apart", "South"), {(1, 4)}),
    ],
)
def test_what_is_said_of_groups_is_audited(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str, ...],
    ends: set[tuple[int, int]],
) -> None:
    monkeypatch.chdir(tmp_path)
    _written(tmp_path, LISTED)
    recon("init", "prisons.csv", "--below", "5", *flags)
    audit_drafted()
    found = pl.read_parquet("work/prisons/audit/**/*.parquet")
    assert set(found.select("least", "greatest").rows()) == ends


def test_a_list_of_places_that_are_no_totals_is_no_question(tmp_path: Path) -> None:
    text = "Area,All,of which carers\n" + "".join(
        f"Place {i},{n},{n // 7}\n" for i, n in enumerate((114, 61, 33, 22, 141, 80, 17, 47))
    )
    asked = recognise([_written(tmp_path, text)]).questions
    assert not any("rows may be" in each.text for each in asked)


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        (
            ("South total,Remand,400", "South total,Remand,401"),
            "row 15: Prison 'South total' is 401",
        ),
        (("Ivel,All types,410", "Ivel,All types,c"), "South total = Ivel + Jarrow"),
    ],
)
def test_a_long_file_in_which_one_of_two_totals_is_not_shown(
    tmp_path: Path, change: tuple[str, str], asked: str
) -> None:
    """One number is wrong, or too many are starred: the other total has its parts below it, too."""
    text = "\n".join(line.partition(",")[2] for line in LONG.splitlines()) + "\n"
    for place, remand, whole in (
        ("Birch", 100, 150),
        ("North total", 250, 400),
        ("All prisons", 650, 1050),
    ):
        text = text.replace(f"{place},Remand,{remand}", f"{place},Remand,{remand + 1}")
        text = text.replace(f"{place},All types,{whole}", f"{place},All types,{whole + 1}")
    text = text.replace(*change)
    if "c" in change[1].split(","):
        text = text.replace("Ivel,Remand,240", "Ivel,Remand,c").replace(
            "Sentenced,170", "Sentenced,c"
        )
    found = recognise([_written(tmp_path, text)], choices=Choices(place="Prison")).questions
    assert any(asked in each.text for each in found), found


KINDS = """Level,Name,All,Men,Women
State,Samland,200,110,90
District,Amra,120,70,50
Village,Kalan,70,42,28
Village,Khurd,50,28,22
District,Bel,80,40,40
Village,Nagar,45,22,23
Village,Pura,35,18,17
"""


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_column_of_kinds_of_places_is_nothing_that_they_are_part_of(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    rows = [line.split(",") for line in KINDS.splitlines()]
    text = "\n".join(",".join([*(row[i] for i in order), *row[2:]]) for row in rows) + "\n"
    found = recognise([_written(tmp_path, text)])
    assert not found.questions
    assert found.mapping["geoids"] == {
        "Samland": "A", "Amra": "A1", "Kalan": "A11", "Khurd": "A12",
        "Bel": "A2", "Nagar": "A21", "Pura": "A22",
    }  # fmt: skip


REGIONS = (
    "Area,Total,Boys,Girls\nCountry,98,44,54\nNorth,53,22,31\nAshby,17,*,*\nBirch,17,*,*\n"
    "Cedar,19,5,14\nSouth,45,22,23\nDale,29,8,21\nElm,16,14,2\n"
)
WITHHELD = "Area,Total,Boys,Girls\nAston,10,4,6\nBurley,*,*,*\nCorfe,*,*,*\nCounty,15,7,8\n"
TWICE = (
    "Area,Total,Boys,Girls\nDistrict A,17,10,7\nDistrict B,19,11,8\nDistrict C,21,9,12\n"
    "Zone X,29,*,*\nZone Y,28,15,13\nCounty,57,30,27\n"
)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        (REGIONS, ("--sum", "North = Ashby + Birch + Cedar", "--sum", "South = Dale + Elm")),
        (WITHHELD, ("--total", "County", "--all-places")),
        (
            TWICE,
            (*(w for at in "ABC" for w in ("--leave-out", f"District {at}")), "--total", "County"),
        ),
    ],
    ids=["regions", "withheld", "twice"],
)
def test_a_long_file_is_asked_about_like_a_wide_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, answers: tuple[str, ...]
) -> None:
    headers, *rows = (line.split(",") for line in text.splitlines())
    cells = [(row[0], *cell) for row in rows for cell in zip(headers[1:], row[1:], strict=True)]
    long = "Area,Sex,Count\n" + "".join(f"{','.join(cell)}\n" for cell in cells)
    found = []
    for name, own in {"wide": text, "long": long}.items():
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        Path("a.csv").write_text(own)
        asked = recon("init", "a.csv", code=2).output
        assert all(answer in asked for answer in answers[:2])
        recon("init", "a.csv", *answers)
        audit_drafted()
        audited = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
        found.append(sorted(audited.select("least", "greatest").iter_rows()))
    assert found[0] == found[1]


def test_a_total_that_few_numbers_show_is_borne_out_by_the_total_that_it_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two stars in each part of one total silenced the question of all: 2 and 7 were 0 to 9."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(
        "Country,Persons,Males,Females\nUnited Kingdom,91,39,52\nGreat Britain,69,28,41\n"
        "England and Wales,27,11,16\nEngland,9,*,*\nWales,18,*,9\nScotland,42,17,25\n"
        "Northern Ireland,22,11,11\n"
    )
    sums = [
        "England and Wales = England + Wales",
        "Great Britain = England and Wales + Scotland",
    ]
    asked = recon("init", "a.csv", code=2).output
    assert all(f"--sum '{each}'" in asked for each in sums)

    recon("init", "a.csv", *(word for each in sums for word in ("--sum", each)), "--all-places")
    audit_drafted()
    audited = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert sorted(audited["least"].to_list()) == [2, 7, 9]


@pytest.mark.parametrize("south", [(17, 24, 41), (14, 12, 26)])
def test_totals_of_one_name_over_other_places_are_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, south: tuple[int, ...]
) -> None:
    """Two blocks side by side had one *Total*: true counts contradicted each other."""
    monkeypatch.chdir(tmp_path)
    male, female, every = south
    Path("a.csv").write_text(
        "North borough,,,,,South borough\nWard,Male,Female,All,,Ward,Male,Female,All\n"
        f"Abbey,*,*,7,,Elm,8,{female - 12},{8 + female - 12}\n"
        f"Castle,11,8,19,,Fern,{male - 8},12,{male + 4}\n"
        f"Total,14,12,26,,Total,{male},{female},{every}\n"
    )
    asked = recon("init", "a.csv", code=2).output
    assert "'a.csv, table 1' has 'Abbey' and 1 more, 'a.csv, table 2' has 'Elm'" in asked

    recon("init", "a.csv", "--leave-out", "a.csv, table 2", "--all-places")
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert sorted(found["least"].to_list()) == sorted(found["greatest"].to_list()) == [3, 4]


def test_regions_among_areas_of_a_long_file_with_levels_and_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was asked whether England is all regions and areas together; "yes" gave wrong ends."""
    monkeypatch.chdir(tmp_path)
    places = [("National", "England"), ("Region", "North"), *(("LA", w) for w in ("Hull", "York"))]
    places += [("Region", "Midlands"), *(("LA", w) for w in ("Derby", "Leicester"))]
    places += [("Region", "London"), *(("LA", w) for w in ("Barnet", "Camden"))]
    counts = ["128 84 44", "46 32 14", "12 * *", "34 * *", "25 14 11", "* * *", "* * *"]
    counts += ["57 38 19", "31 23 8", "26 15 11"]
    ages = ("All", "Under 18", "18 and over")
    lines = [
        f"{level},E{number},{name},{age},{count}"
        for number, ((level, name), own) in enumerate(zip(places, counts, strict=True))
        for age, count in zip(ages, own.split(), strict=True)
    ]
    Path("a.csv").write_text("\n".join(["Level,Code,Area,Age,Count", *lines, ""]))
    asked = recon("init", "a.csv", "--place", "Area", code=2).output
    sums = ("North = Hull + York", "Midlands = Derby + Leicester")
    assert " ".join(f"--sum '{each}'" for each in sums) in asked

    recon("init", "a.csv", "--place", "Area", *(w for own in sums for w in ("--sum", own)))
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert sorted(found["greatest"].to_list())[:2] == [11, 11]
