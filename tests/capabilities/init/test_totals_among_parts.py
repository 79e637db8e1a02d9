"""Totals in the midst of their parts, and sums that too few rows show beside a named total."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.init.recognition import recognise
from recon_cli.sources.read.choices import Choices, SaidSum
from tests.support.command_line import audit_drafted, recon

MIDST = """District,Area,0-14,Total,15-64,65+
North,Ashby,24,46,5,17
,Birch,18,41,4,19
,Cedar,69,133,13,51
,All,111,220,22,87
West,Dale,22,41,5,14
,Elmton,14,29,4,11
,All,36,70,9,25
County,,147,290,31,112
"""
YEARS = """Area,0-14 2021,0-14 2022,Total 2021,Total 2022,15-64 2021,15-64 2022,65+ 2021,65+ 2022
All areas,631,669,1315,840,452,*,232,*
Ashby,292,*,567,387,*,*,*,51
Birch,54,54,125,64,52,*,19,8
Cedar,101,92,201,117,61,8,39,17
Dale,36,26,70,*,16,3,18,*
Elmton,148,188,352,239,*,14,60,37
"""
INNER = """Area,All,Males,Young males,Old males
Birch,56,43,37,6
Dale,52,40,36,*
County,108,83,73,*
"""
GIRLS = """Ward,Total,Girls,Girls white,Girls other,Boys
Paton,94,61,50,11,33
Pbton,129,81,80,*,48
Pcton,51,25,21,*,26
Pdton,114,92,*,*,22
Peton,119,84,80,*,35
Pfton,91,41,39,*,50
Pgton,100,43,*,*,57
Phton,42,22,21,*,20
County,740,449,*,*,291
"""
CROSSED = """,,Males,,,Females,,
Area,Total,Total,Young,Old,Total,Young,Old
Ashby,202,152,140,*,50,*,44
Birch,56,43,37,6,13,*,*
Dale,52,40,36,*,12,*,*
Elm,90,60,*,*,30,22,8
County,400,295,*,*,105,*,*
"""
LONG = "Area,Sex,Age,Count\n" + "".join(
    f"{area},{sex},{age},{count}\n"
    for area, rows in {
        "Elm": (("Girls", 89, 36), ("", 230, 40), ("Boys", 141, "*")),
        "Oak": (("Girls", 30, "*"), ("", 50, 12), ("Boys", 20, 9)),
        "All": (("Girls", 119, "*"), ("", 280, 52), ("Boys", 161, "*")),
    }.items()
    for sex, *counts in rows
    for age, count in zip(("0-14", "15+"), counts, strict=True)
)
RULE = ("--below", "5", "--complementary", "--all-places")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def recovered(text: str, *flags: str) -> set[int]:
    """Return the counts that are found again."""
    Path("t.csv").write_text(text)
    recon("init", "t.csv", *RULE, *flags)
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    return set(found.filter(status="recovered")["least"])


@pytest.mark.parametrize("header", ["Total", "Ensemble"])
def test_a_total_in_the_midst_of_its_parts_is_found(header: str) -> None:
    Path("t.csv").write_text(MIDST.replace("Total", header))
    features = {each.name: each.values for each in recognise([Path("t.csv")]).schema.features}
    assert features == {"age": ("0-14", "15-64", "65+")}
    recon("init", "t.csv", "--all-places")
    recon("export", "--suppressed", "out", "--below", "5", "--mark", "*")
    rows = [line.split(",") for line in Path("out/t.csv").read_text().splitlines()]
    assert rows[2].count("*") > 1, "41 - 18 - 19 = 4"


def test_totals_in_the_midst_of_every_second_column_are_found() -> None:
    assert 2 in recovered(YEARS)


def test_a_total_in_the_midst_of_the_values_of_a_long_file_is_found() -> None:
    assert recovered(LONG) >= {3, 4}


def test_so_is_one_of_another_name() -> None:
    assert recovered(LONG.replace(",,", ",Pupils,")) >= {3, 4}


@pytest.mark.parametrize(
    ("text", "sums", "found"),
    [
        (INNER, ["Males = Young males + Old males"], {4, 10}),
    ],
)
def test_sums_that_one_row_shows_beside_a_total_are_asked_about(
    text: str, sums: list[str], found: set[int]
) -> None:
    Path("t.csv").write_text(text)
    asked = " ".join(recon("init", "t.csv", *RULE, code=2).stderr.split())
    assert f"--sum '{sums[0]}'" in asked
    assert recovered(text, *(word for each in sums for word in ("--sum", each))) == found


@pytest.mark.parametrize(
    ("text", "totals", "found"),
    [
        (GIRLS, {"Girls": "Girls white + Girls other"}, {1, 2, 4}),
        (
            CROSSED,
            {
                "Males: Total": "Males: Young + Males: Old",
                "Females: Total": "Females: Young + Females: Old",
            },
            {4, 6, 12},
        ),
    ],
)
def test_parts_of_a_part_that_one_row_shows_are_asked_about(
    text: str, totals: dict[str, str], found: set[int]
) -> None:
    Path("t.csv").write_text(text)
    asked = " ".join(recon("init", "t.csv", *RULE, code=2).stderr.split())
    for total, parts in totals.items():
        said = " + ".join(map(repr, parts.split(" + ")))
        assert f"{total!r} may be {said}: too few rows show it" in asked
    assert recovered(text, *(word for each in totals for word in ("--total", each))) == found


def test_what_is_said_to_count_some_people_is_not_asked_about_again() -> None:
    Path("t.csv").write_text(INNER)
    said = Choices(count=("Young males", "Old males"))
    assert not recognise([Path("t.csv")], choices=said).questions
    whole = Choices(sums=(SaidSum.of("Males = Young males + Old males"),))
    assert not recognise([Path("t.csv")], choices=whole).questions


ROUNDED = """Buurt,Inwoners,Mannen,Vrouwen,0 tot 15 jaar,15 tot 45 jaar,45 jaar of ouder,Dichtheid
Tiel,100,45,55,25,5,70,47389
Breda,355,190,165,105,125,120,46268
Edam,220,150,70,140,10,70,17982
Sneek,210,85,125,60,5,150,63451
Meppel,220,115,105,120,55,45,63752
Urk,95,45,50,15,20,60,62230
Weert,265,125,140,120,15,130,62837
Kampen,85,45,40,40,5,40,85124
"""


def test_ages_that_add_up_within_rounding_are_read_by_themselves() -> None:
    Path("t.csv").write_text(ROUNDED)
    asked = " ".join(recon("init", "t.csv", code=2).stderr.split())
    assert "? 'Dichtheid' is in no relation to the counts" in asked
    assert "1 question to be answered" in asked
    flags = "--leave-out", "Dichtheid", "--rounded", "nearest"
    shown = recon("init", "t.csv", *flags).stdout
    assert "'45 jaar of ouder' is age 45+" in " ".join(shown.split())
