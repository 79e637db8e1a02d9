"""Sums that no list of columns proposes: of any columns, under years, and across sheets."""

from __future__ import annotations

import itertools
from pathlib import Path

import polars as pl
import pytest
from openpyxl import Workbook

from tests.support.command_line import audit_drafted, recon

RULE = ("--below", "5", "--complementary", "--all-places")
NESTED = (
    "County,Murder,Assault,Violent,Theft,Fraud,Property,All\n"
    "Ames,c,9,12,15,c,18,30\nBoone,6,c,8,c,14,18,26\nCole,7,c,10,6,c,8,18\n"
)
YEARS = (
    "Region,2022,,,2023,,\n,Total,Public,Private,Total,Public,Private\n"
    "North,20,17,c,22,c,18\nSouth,31,c,28,30,26,c\nEast,25,21,c,24,c,21\n"
)
PARTS = ("2022: Public", "2022: Private", "2023: Public", "2023: Private")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _counted(*names: str) -> list[str]:
    return [word for name in names for word in ("--count", name)]


def _asked(path: str, *flags: str) -> str:
    return recon("init", path, *RULE, *flags, code=2).output


def _intervals(path: str, *flags: str) -> list[tuple[int, int]]:
    """Return the least and greatest of what is withheld, in order."""
    recon("init", path, *RULE, *flags)
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    return sorted(found.select("least", "greatest").iter_rows())


def test_a_sum_of_columns_apart_is_asked_about_though_all_are_said_to_be_counts() -> None:
    Path("a.csv").write_text(NESTED)
    top = "--sum 'All = Violent + Property'"
    assert top in _asked("a.csv")
    assert top in _asked("a.csv", *_counted(*NESTED.splitlines()[0].split(",")[1:]))
    sums = ("All = Violent + Property", "Violent = Murder + Assault", "Property = Theft + Fraud")
    flags = [word for each in sums for word in ("--sum", each)]
    assert _intervals("a.csv", *flags) == [(n, n) for n in (2, 2, 3, 3, 3, 4)]


def test_a_total_that_is_said_holds_under_each_year() -> None:
    Path("a.csv").write_text(YEARS)
    asked = _asked("a.csv")
    assert "'Total' may be 'Public' + 'Private'" in asked
    assert "in no relation" not in asked
    found = _intervals("a.csv", "--total", "Total", *_counted(*PARTS))
    assert found == [(n, n) for n in (3, 3, 3, 4, 4, 4)]


def test_a_total_of_another_sheet_is_asked_about() -> None:
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, text in {
        "Totals": "Area,Prisoners\nAyr,20\nBute,31\nCaith,18\nDyce,27\n",
        "By sex": "Area,Men,Women\nAyr,17,c\nBute,27,c\nCaith,c,15\nDyce,23,c\n",
    }.items():
        sheet = book.create_sheet(title)
        for line in text.splitlines():
            sheet.append([int(cell) if cell.isdigit() else cell for cell in line.split(",")])
    book.save("a.xlsx")
    asked = _asked("a.xlsx")
    assert "--sum 'Prisoners = Men + Women'" in asked
    assert "in no relation" not in asked
    found = _intervals("a.xlsx", "--sum", "Prisoners = Men + Women")
    assert found == [(3, 3), (3, 3), (4, 4), (4, 4)]


def test_needs_that_overlap_are_said_to_be_counts_once() -> None:
    Path("a.csv").write_text(
        "School,Pupils,Visual,Hearing,Mobility\nAden,21,13,10,10\nBude,14,8,6,6\n"
        "Cobh,21,14,12,11\nDeal,5,c,c,c\nAll,61,39,31,31\n"
    )
    found = _intervals("a.csv", *_counted("Pupils", "Visual", "Hearing", "Mobility"))
    assert found == [(3, 3), (4, 4), (4, 4)]


def test_a_sum_of_values_that_another_column_forbids_is_not_asked_about() -> None:
    Path("a.csv").write_text(
        "Place,Sex,All,Working,Other\nBari,All,9,c,c\nBari,Men,0,0,0\nBari,Women,9,c,c\n"
        "Como,All,12,c,5\nComo,Men,c,0,c\nComo,Women,9,c,c\nPisa,All,17,8,c\nPisa,Men,c,c,c\n"
        "Pisa,Women,13,5,c\nItaly,All,38,13,25\nItaly,Men,7,c,c\nItaly,Women,31,10,21\n"
    )
    recon("init", "a.csv", *RULE, "--total", "Italy", "--total", "All")


@pytest.mark.parametrize(
    ("text", "sums", "found"),
    [
        (
            "\n".join(line.rpartition(",")[0] for line in NESTED.splitlines()) + "\n",
            ("Violent = Murder + Assault", "Property = Theft + Fraud"),
            (2, 2, 3, 3, 3, 4),
        ),
        (
            "Area,Total,Boys,Girls\nNorth,20,9,11\nAsh,12,c,9\nBirch,8,c,c\n"
            "South,31,14,17\nCarr,13,c,10\nDale,18,c,c\n",
            ("North = Ash + Birch", "South = Carr + Dale"),
            (2, 3, 3, 6, 7, 11),
        ),
    ],
    ids=["columns", "rows"],
)
def test_subtotals_whose_parts_have_a_star_each_are_asked_about(
    text: str, sums: tuple[str, ...], found: tuple[int, ...]
) -> None:
    Path("a.csv").write_text(text)
    flags = [word for each in sums for word in ("--sum", each)]
    assert " ".join(f"--sum '{each}'" for each in sums) in _asked("a.csv")
    assert _intervals("a.csv", *flags) == [(n, n) for n in found]


#: Nobody is counted in the first column where it is printed.
FAITHS = """Area,Atheist,Christian,Hindu,Other,Stated,Refused,Unknown,All
Taupo,0,0,6,c,8,c,c,14
Rotorua,c,c,5,5,12,c,c,15
Napier,0,0,7,c,9,12,c,24
Region,c,c,18,9,29,17,7,53
"""


def test_a_sum_is_offered_with_a_column_of_nobody_beside_it_too() -> None:
    """Without it one of the two who are withheld in Rotorua is none, and the other was 2."""
    Path("a.csv").write_text(FAITHS)
    sums = ["Stated = Atheist + Christian + Hindu + Other", "All = Stated + Refused + Unknown"]
    assert f"--sum '{sums[0]}'" in recon("init", "a.csv", "--below", "5", code=2).output
    recon("init", "a.csv", "--below", "5", "--all-places", *(f"--sum={each}" for each in sums))
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    atheists = found.filter(pl.col("cell") == 1).select("least", "greatest").rows()
    assert atheists == [(1, 1), (1, 1)]
    assert sorted(found.select("least", "greatest").rows())[4:] == [
        *((1, 2), (1, 2), (2, 2), (2, 2), (2, 3), (3, 3), (3, 4)),
    ]


def test_columns_that_no_sum_fits_are_asked_about_as_before() -> None:
    Path("a.csv").write_text(
        "Area,Cars,Bikes,Boats\nAsh,12,c,3\nElm,4,9,c\nOak,c,7,15\nYew,8,8,9\n"
    )
    assert "in no relation" in _asked("a.csv")


DEEP_BELOW = (
    "Area,A,B,C,Total\nWard 111,8,c,0,12\nWard 112,18,17,c,36\nWard 113,12,31,c,45\n"
    "Town 11,38,52,c,93\nWard 121,c,5,0,7\nWard 122,c,15,8,27\nWard 123,27,7,c,37\n"
    "Town 12,33,27,11,71\nCounty 1,71,79,14,164\nWard 211,0,8,11,19\nWard 212,22,0,14,36\n"
    "Ward 213,0,0,0,0\nTown 21,22,8,25,55\nWard 221,21,c,c,25\nWard 222,c,c,9,14\n"
    "Ward 223,0,0,66,66\nTown 22,23,6,76,105\nCounty 2,45,14,101,160\nCountry,116,93,115,324\n"
)
DEEP_ABOVE = (
    "Region,Total,Employed,Unemployed,Inactive\nEast,136,28,73,35\nLand 11,32,10,10,12\n"
    "Land 12,104,18,63,23\nWest,123,73,20,30\nLand 21,63,41,10,12\nKreis 211,32,20,8,c\n"
    "Kreis 212,18,18,0,0\nKreis 213,13,c,c,8\nLand 22,60,32,10,18\nKreis 221,31,8,6,17\n"
    "Kreis 222,14,10,c,0\nKreis 223,15,14,0,c\n"
)


@pytest.mark.parametrize(
    ("text", "sums"),
    [
        (
            DEEP_BELOW,
            (
                "Town 21 = Ward 211 + Ward 212 + Ward 213",
                "Town 22 = Ward 221 + Ward 222 + Ward 223",
                "County 2 = Town 21 + Town 22",
            ),
        ),
        (
            DEEP_ABOVE,
            ("Land 21 = Kreis 211 + Kreis 212 + Kreis 213", "West = Land 21 + Land 22"),
        ),
    ],
    ids=["below", "above"],
)
def test_totals_at_three_depths_of_one_list_are_asked_about(
    text: str, sums: tuple[str, ...]
) -> None:
    Path("a.csv").write_text(text)
    assert " ".join(f"--sum '{each}'" for each in sums) in _asked("a.csv")
    found = _intervals("a.csv", *(word for each in sums for word in ("--sum", each)))
    assert all(least == greatest for least, greatest in found)
    assert len(found) == text.count("c,") + text.count(",c\n")


def test_columns_that_are_all_said_to_be_counts_bound_none_of_the_others() -> None:
    Path("a.csv").write_text(
        "Area,In,Out\nAlm,c,c\nBro,c,9\nCis,6,12\nDal,8,8\nEls,5,7\nFen,0,11\nRegion,24,48\n"
    )
    found = _intervals("a.csv", "--total", "Region", *_counted("In", "Out"))
    assert found == [(1, 1), (1, 4), (1, 4)]


def test_sums_of_which_each_is_in_the_next_hold_together() -> None:
    Path("a.csv").write_text(
        "Area,Q1,Q1-Q2,Q1-Q3,Q1-Q4\nAlm,c,c,9,12\nCis,0,c,14,20\nDal,6,10,11,15\n"
        "Els,7,9,13,16\nRegion,17,24,47,63\n"
    )
    names = ("Q1", "Q1-Q2", "Q1-Q3", "Q1-Q4")
    sums = [f"{total} = {part} + ..." for part, total in itertools.pairwise(names)]
    flags = [word for each in sums for word in ("--sum", each)]
    assert _intervals("a.csv", "--total", "Q1-Q4", "--total", "Region", *flags) == [
        (n, n) for n in (1, 4, 4)
    ]


def test_kinds_of_a_chapter_are_asked_about_where_stars_hide_their_sum() -> None:
    Path("a.csv").write_text(
        "Cause,Men 0-64,Men 65+,Women 0-64,Women 65+,Total\nAll causes,52,21,23,34,130\n"
        "Infections,22,15,12,11,60\nInf kind 1,8,6,*,6,22\nInf kind 2,10,*,8,*,22\n"
        "Inf kind 3,*,6,*,*,16\nHeart,30,6,11,23,70\nHea kind 1,5,*,7,*,17\n"
        "Hea kind 2,11,*,*,7,22\nHea kind 3,14,0,*,14,31\n"
    )
    asked = recon("init", "a.csv", "--below", "5", "--one-place", code=2).output
    assert "--sum 'Infections = Inf kind 1 + Inf kind 2 + Inf kind 3'  yes" in asked
    assert "in no relation" not in asked


def test_sizes_in_headers_are_told_as_not_used() -> None:
    Path("a.csv").write_text(
        "Area,Men (N=21),Women (n = 46)\nAlm,c,8\nBro,0,15\nCis,7,c\nDal,11,0\nEls,0,15\n"
    )
    recon("init", "a.csv", *RULE, "--apart", "Men (N=21)", "--apart", "Women (n = 46)")
    recon("ingest", "-q")
    told = " ".join(recon("audit").output.split())
    assert "safe without numbers that are not used" in told
    assert "N in 'Men (N=21)'" in told


def test_columns_that_grow_may_count_some_of_the_next() -> None:
    """Quarters to date: with ``--count`` each was bounded by the whole year alone."""
    rows = "North,12,30,c,71\nSouth,8,14,25,33\nEast,21,44,60,88\nWest,5,9,31,40\n"
    Path("a.csv").write_text(f"Region,Q1,Q1-Q2,Q1-Q3,Q1-Q4\n{rows}")
    chain = [("Q1-Q2", "Q1"), ("Q1-Q3", "Q1-Q2"), ("Q1-Q4", "Q1-Q3")]
    sums = [word for more, less in chain for word in ("--sum", f"{more} = {less} + ...")]
    told = recon("init", "a.csv", code=2).output
    assert "each counts some of the next" in told
    assert all(f"'{word}'" in told for word in sums[1::2])
    recon("init", "a.csv", *sums)
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert found.select("least", "greatest").rows() == [(30, 71)]
    Path("b.csv").write_text(f"Region,A,B,C,D\n{rows.replace('8,14', '8,7')}")
    assert "of the next" not in recon("init", "b.csv", "--to", "b.yaml", code=2).output
