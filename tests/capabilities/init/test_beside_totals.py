"""Tables of a newcomer: what stands behind a total, ages in two groups, two systems of places."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from openpyxl import Workbook

from tests.support.command_line import audit_drafted, recon

RULE = ("--below", "5", "--complementary", "--all-places")
AREAS = "Area,Total,Boys,Girls\nAston,20,*,*\nBurley,22,12,10\nCorfe,30,18,12\nTotal,72,33,39\n"
WHOLE = "Area,Total,Boys,Girls\nAston,10,4,6\nBurley,*,*,*\nCorfe,*,*,*\nCounty,15,7,8\n"
ZONES = (
    "Area,Total,Boys,Girls\nDistrict A,17,10,7\nDistrict B,19,11,8\nDistrict C,21,9,12\n"
    "Zone X,29,*,*\nZone Y,28,15,13\nCounty,57,30,27\n"
)
BANDS = (
    "Area,All ages,0-17,16-64,65+\nAston,20,7,9,*\nBurley,19,9,7,*\nCorfe,30,12,14,6\n"
    "Dunmow,24,9,12,5\nTotal,93,37,42,18\n"
)
NESTED = (
    "Area,All ages,18 and over,30 and over,65 and over\nAston,22,15,14,*\nBurley,14,6,*,*\n"
    "Corfe,25,24,16,8\nDunmow,28,20,*,*\nTotal,89,65,43,22\n"
)
CUT = (
    "Area,Total,Under 16,Under 18,18+,65+\nAston,40,6,8,32,9\nBurley,31,5,*,*,5\n"
    "Corfe,52,10,13,39,14\nDunmow,47,8,12,35,6\nElmley,29,*,6,23,8\n"
)
SEXES = (
    "Area,Total,Men,Women\nAston,22,*,11\nBurley,14,*,12\nCorfe,25,11,13\nDunmow,28,13,14\n"
    "All areas,89,37,50\n"
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("last", ["England,5200,2600,2600", "Percent,100,46,54", "2022,70,35,35"])
def test_a_row_behind_the_total_is_beside_it(last: str) -> None:
    assert _intervals(AREAS + last + "\n") == [(3, 3), (17, 17)]


def test_a_last_row_over_places_that_are_withheld_whole_is_asked_about() -> None:
    assert "--total County" in _asked(WHOLE)
    assert _intervals(WHOLE, "--total", "County") == [
        (1, 1),
        (1, 1),
        (1, 2),
        (1, 2),
        (2, 3),
        (2, 3),
    ]


def test_places_that_add_up_to_the_same_again_are_asked_about() -> None:
    asked = _asked(ZONES)

    assert "two systems of places, each with all people of 'County'" in asked
    assert "--leave-out 'Zone X' --leave-out 'Zone Y'" in asked


def test_everybody_is_in_one_of_ages_that_overlap() -> None:
    assert _intervals(BANDS) == [(3, 3), (4, 4)]


def test_ages_that_are_in_one_another_make_no_sum() -> None:
    assert (1, 12) in _intervals(NESTED)  # of Aston's 14 of 30 and over


def test_ages_beside_those_that_add_up_are_some_of_them() -> None:
    asked = _asked(CUT)
    assert asked.count("in no relation to") == 2
    # Of Burley's 31 5 are under 16, and 5 are over 64; of Elmley's 6 under 18 some are under 16.
    said = "--count", "Under 16", "--count", "65+"
    assert _intervals(CUT, *said) == [(1, 6), (5, 26), (5, 26)]


def test_sexes_exclude_each_other_though_some_is_unknown() -> None:
    assert _intervals(SEXES) == [(2, 2), (11, 11)]
    owners = SEXES.replace("Men,Women", "Owners,Tenants")
    assert _intervals(owners, "--sum", "Total = Owners + Tenants + ...") == [(2, 2), (11, 11)]


def test_a_table_goes_on_below_its_header() -> None:
    head, *rows = AREAS.splitlines()
    pages = ["Table 4", head, *rows[:2], "Table 4 (continued)", head, *rows[2:]]

    assert _intervals("\n".join(pages) + "\n") == [(3, 3), (17, 17)]


def test_percentages_among_the_values_of_a_long_file_are_asked_about() -> None:
    rows = [
        f"{area},{sex},{measure},{value}"
        for area in ("Aston", "Burley")
        for measure, values in {"Number": (20, "*", "*"), "Percent": (100, 15, 85)}.items()
        for sex, value in zip(("All", "Male", "Female"), values, strict=True)
    ]

    asked = _asked("\n".join(["area,sex,measure,value", *rows]) + "\n")

    assert "percentages are no counts" in asked
    assert "--where measure=Number" in asked


def _asked(text: str) -> str:
    Path("a.csv").write_text(text, encoding="utf-8")
    return recon("init", "a.csv", *RULE, code=2).output


def _intervals(text: str, *flags: str) -> list[tuple[int, int]]:
    """Return the least and greatest of what is withheld, in order."""
    Path("a.csv").write_text(text, encoding="utf-8")
    recon("init", "a.csv", "--force", *RULE, *flags)
    audit_drafted("--force")
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    return sorted(found.select("least", "greatest").iter_rows())


def test_a_total_that_two_tables_print_has_the_parts_that_are_said() -> None:
    # Where nobody goes on foot the other three are all: of no row in which somebody may.
    ages = (
        "Area,Total,0-15,16-64,65+\nAshton,54,28,*,*\nBarrow,25,14,*,*\nCorby,40,*,*,22\n"
        "Dalton,15,*,0,*\nEpping,51,25,*,*\nFleet,31,15,*,*\nGoole,40,21,*,*\n"
        "All places,256,130,16,110\n"
    )
    ways = (
        "Area,Total,Car,Bus,Cycle,On foot\nAshton,54,*,18,23,*\nBarrow,25,5,7,13,0\n"
        "Corby,40,*,16,12,*\nDalton,15,5,5,5,0\nEpping,51,15,19,17,0\nFleet,31,8,11,12,0\n"
        "Goole,40,5,19,16,0\nAll places,256,*,95,98,*\n"
    )
    said = "--sum", "Total = Car + Bus + Cycle + On foot"
    found = _intervals(f"Table 1\n{ages}\nTable 2\n{ways}", *said)
    assert len(found) == 20
    assert (1, 12) in found  # of Ashton, by car; all thirteen but for one on foot


@pytest.mark.parametrize("mark", ["c", "x", "*"])
def test_a_first_place_that_is_withheld_whole_is_no_header(mark: str) -> None:
    text = f"School,Pupils,Girls,Boys\nAshby,{mark},{mark},{mark}\nBirch,20,12,8\nCarr,40,22,18\n"
    assert _intervals(text + "All,69,38,31\n") == [(4, 4), (5, 5), (9, 9)]


def test_a_second_row_of_headers_may_repeat_one_letter() -> None:
    text = ",Pupils,Girls,Boys\nSchool,n,n,n\nBirch,20,*,*\nCarr,40,22,18\nAll,60,34,26\n"
    assert _intervals(text) == [(8, 8), (12, 12)]


UNSTATED = (
    "Area,Persons,Female,Male\nAshby,20,8,12\nBirch,31,15,16\nCarr,40,22,18\nDale,33,*,29\n"
    "Elm,25,11,14\nPersons include those who did not state their sex.\n"
)


def test_others_that_a_note_tells_of_are_told_and_said() -> None:
    Path("a.csv").write_text(UNSTATED)
    shown = " ".join(recon("init", "a.csv", *RULE).stdout.split())
    assert "whether somebody is in a total and in none of its parts" in shown
    # All other rows add up, and still somebody may be in neither.
    assert _intervals(UNSTATED, "--sum", "Persons = Female + Male + ...") == [(1, 4)]


TOWNS = "Area,Total,Boys,Girls\nAshby,20,*,*\nBirch,31,15,16\nCarr,22,12,10\nDale,40,18,22\n"
REGIONS = "North,51,24,27\nSouth,62,30,32\n"
NORTH = "--sum", "North = Ashby + Birch"


def test_places_before_a_region_of_which_too_few_numbers_tell_are_asked_about() -> None:
    # Of South all three columns tell: the towns of North stood beside the county, as safe.
    text = TOWNS + REGIONS + "County,113,54,59\n"
    asked = " ".join(_asked(text).split())
    assert "places beside all others may be the parts of 'North'" in asked
    assert "--sum 'North = Ashby + Birch' 'North' is 'Ashby' + 'Birch'" in asked
    assert _intervals(text, *NORTH) == [(9, 9), (11, 11)]
    assert _intervals(text, "--apart", "North") == [(1, 19), (1, 19)]


@pytest.mark.parametrize("first", ["Country,60,35,25\n", ""])
def test_parts_of_two_regions_behind_all_others_are_asked_about(first: str) -> None:
    regions = "Capital,24,14,10\nProvince,36,21,15\n"
    towns = "Camber,c,c,c\nDenton,13,6,7\nEpping,c,c,c\nFoxley,15,9,6\nGarton,11,6,5\n"
    last = "" if first else "Country,60,35,25\n"
    text = f"Area,Total,Boys,Girls\n{first}{regions}{last}{towns}"
    sums = "--sum", "Capital = Camber + Denton", "--sum", "Province = Epping + Foxley + Garton"
    assert " ".join(f"'{word}'" if " " in word else word for word in sums) in _asked(text)
    assert _intervals(text, *sums) == [(n, n) for n in (3, 4, 6, 8, 10, 11)]


def test_places_that_are_divided_twice_are_read_by_one_division() -> None:
    text = TOWNS + REGIONS + "Urban,42,21,21\nRural,71,33,38\nCounty,113,54,59\n"
    said = "--leave-out", "Urban", "--leave-out", "Rural"
    assert f"{' '.join(said)} it is of 'North' and 'South'" in " ".join(_asked(text).split())
    assert _intervals(text, *said, *NORTH) == [(9, 9), (11, 11)]


def test_a_column_of_one_letter_is_of_counts_that_are_withheld() -> None:
    text = (
        "School,Pupils,English,Welsh,Gaelic\nAshby,31,19,c,8\nBirch,60,24,c,35\n"
        "Carr,46,31,c,13\nAll,137,74,c,56\n"
    )
    assert "'Pupils' may be 'English' + 'Welsh' + 'Gaelic'" in " ".join(_asked(text).split())
    found = _intervals(text, "--total", "Pupils", "--below", "8")
    assert found == [(1, 1), (2, 2), (4, 4), (7, 7)]


def test_flags_beside_each_number_are_none() -> None:
    text = (
        "Area,Total,,Boys,,Girls,\nAshby,20,e,9,e,11,e\nBirch,22,e,12,e,10,e\nAll,42,e,21,e,21,e\n"
    )
    Path("a.csv").write_text(text)
    shown = recon("init", "a.csv", "--all-places").stdout
    assert "3 columns" in shown or "'Girls' is sex girls" in shown


def test_sexes_below_each_place_are_no_places() -> None:
    rows = ["Area,All ages,0-15,16-64,65+"]
    for area, women, men in (
        ("Ashby", (12, 9, 9), (10, 25, 8)),
        ("Birch", (9, 12, 10), (8, 13, 14)),
    ):
        for name, own in (
            (area, [a + b for a, b in zip(women, men, strict=True)]),
            ("women", women),
            ("men", men),
        ):
            rows.append(",".join(map(str, (name, sum(own), *own))))
    Path("a.csv").write_text("\n".join(rows) + "\n")
    asked = " ".join(recon("init", "a.csv", "--all-places", code=2).stderr.split())
    assert "'women', 'men' stand below each of 'Ashby', 'Birch': kinds of people" in asked
    assert "--leave-out 'Ashby / women'" in asked


def test_a_letter_of_another_alphabet_may_be_a_mark() -> None:
    letters = AREAS.replace("*", "\u043a")
    assert _intervals(letters, "--below", "\u043a=18") == [(3, 3), (17, 17)]


def test_percentages_below_each_row_of_counts_are_left_out() -> None:
    text = (
        "Area,,Persons,Female,Male\nAshby,No.,47,40,7\n,%,100.0,85.1,14.9\n"
        "Birch,No.,30,*,*\n,%,100.0,*,*\nCarr,No.,50,30,20\n,%,100.0,60.0,40.0\n"
    )
    assert _intervals(text) == [(1, 29), (1, 29)]


def test_sheets_of_ages_are_of_one_population() -> None:
    made = Workbook()
    made.remove(made.worksheets[0])
    for name, rows in {
        "Aged 0-15": ("Ashby,13,c,11", "Birch,64,42,22", "All,77,44,33"),
        "Aged 16-64": ("Ashby,41,22,19", "Birch,35,29,6", "All,76,51,25"),
    }.items():
        sheet = made.create_sheet(name)
        for line in ("Area,Persons,Female,Male", *rows):
            sheet.append([int(w) if w.isdigit() else w for w in line.split(",")])
    made.save("a.xlsx")
    recon("init", "a.xlsx", *RULE)
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert found.select("least", "greatest").rows() == [(2, 2)]
    for sheet, year in zip(made.worksheets, ("2023", "2024"), strict=True):
        sheet.title = year
    made.save("a.xlsx")
    said = recon("init", "a.xlsx", *RULE, "--force", code=2).stderr
    assert "of several years" in " ".join(said.split())


def test_a_sum_of_two_rows_that_no_word_says_is_asked_about() -> None:
    text = "Court,Theft,Fraud,Arson\nUna,15,9,6\nVik,22,15,7\nWyn,9,7,*\n"
    asked = " ".join(_asked(text).split())
    assert "'Theft' = 'Fraud' + 'Arson' in 2 rows, which may be chance" in asked
    apart = [word for kind in ("Theft", "Fraud", "Arson") for word in ("--apart", kind)]
    assert " ".join(apart) in asked
    assert _intervals(text, *apart)[0] != (2, 2)
    assert _intervals(text, "--total", "Theft") == [(2, 2)]


def test_a_first_place_with_percentages_below_it_is_no_header() -> None:
    text = (
        "Hospital,,Total,Men,Women\nAda,Number,c,c,c\n,%,100.0,c,c\nBly,Number,c,c,c\n"
        ",%,100.0,c,c\nCam,Number,54,35,19\n,%,100.0,64.8,35.2\n"
        "All hospitals,Number,58,37,21\n,%,100.0,63.8,36.2\n"
    )
    assert _intervals(text) == [(1, 1), (1, 1), (1, 1), (1, 1), (2, 2), (2, 2)]
    assert len(_intervals(text, "--header", "1")) == 6


def test_a_first_place_with_its_parent_before_it_is_no_header() -> None:
    text = (
        "Island,Town,Total,Boys,Girls\nGozo,Qala,c,c,c\n,Xaghra,40,c,38\n,Total,42,c,39\n"
        "Malta,Sliema,c,c,c\n,Mosta,96,37,59\n,Total,98,38,60\nMalta and Gozo,,140,41,99\n"
    )
    said = "--place", "Town", "--parent", "Island"
    found = _intervals(text, *said)
    assert len(found) == 8
    assert all(least == greatest for least, greatest in found)


@pytest.mark.parametrize("header", ["Area,T,M,F", "Area,n,n,n", "Area,N,%,N"])
def test_letters_of_a_header_are_no_place(header: str) -> None:
    Path("a.csv").write_text(f"{header}\nAshby,20,9,11\nBirch,22,12,10\nAll,42,21,21\n")
    shown = recon("init", "a.csv", "--all-places", "--yes").stdout
    assert "3 rows of places" in " ".join(shown.split())


OF_ENGLAND = {
    "England": "135,42,93",
    "North": "93,26,67",
    "Hull": "15,*,12",
    "Leeds": "38,13,25",
    "York": "40,*,*",
    "Midlands": "42,16,26",
    "Derby": "35,9,26",
    "Leicester": "7,7,0",
}


def test_a_region_that_is_said_leaves_the_others_asked_about() -> None:
    """After ``--total Midlands`` nothing was asked of *North*, and two counts that follow safe."""
    ages = ("All", "Under 18", "18 and over")
    rows = [
        f"{area},{age},{count}"
        for area, counts in OF_ENGLAND.items()
        for age, count in zip(ages, counts.split(","), strict=True)
    ]
    Path("a.csv").write_text("\n".join(["Area,Age,Count", *rows]) + "\n")
    said = ["--all-places", "--place", "Area", "--total", "Midlands"]
    assert "--sum 'North = Hull + Leeds + York'" in recon("init", "a.csv", *said, code=2).output
    recon("init", "a.csv", *said, "--sum", "North = Hull + Leeds + York")
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert sorted(found.select("least", "greatest").rows()) == [(3, 3), (10, 10), (30, 30)]


def test_a_place_that_is_no_total_leaves_the_last_one_asked_about() -> None:
    Path("a.csv").write_text(
        "District,All,Men,Women\nAbbot,25,19,6\nBelm,24,x,x\nCairn,13,x,x\nDore,49,38,x\n"
        "Estate,111,x,x\n"
    )
    said = ["--all-places", "--total", "All", "--apart", "Dore"]
    assert "--total Estate" in recon("init", "a.csv", *said, code=2).output
    recon("init", "a.csv", *said, "--apart", "Estate")


@pytest.mark.parametrize("is_leveled", [False, True])
def test_regions_that_no_column_shows_are_asked_about(*, is_leveled: bool) -> None:
    """A star in each region left no column that shows a sum: thirteen counts were safe, unasked."""
    areas = [("Country", "England,52,16,36"), ("Region", "North,35,10,25"), ("LA", "Hull,18,*,*")]
    areas += [("LA", "York,*,*,*"), ("Region", "Midlands,*,*,*"), ("LA", "Derby,*,*,*")]
    areas.append(("LA", "Leicester,9,*,*"))
    rows = ["Level,Area,All,Under 18,18 and over", *(f"{level},{row}" for level, row in areas)]
    rows = rows if is_leveled else [row.partition(",")[2] for row in rows]
    Path("a.csv").write_text("\n".join(rows) + "\n")
    kind = ("--leave-out", "Level") if is_leveled else ()
    if is_leveled:
        assert "of what kind they are?" in recon("init", "a.csv", code=2).output
    told = recon("init", "a.csv", "--all-places", *kind, code=2).output
    sums = ("--sum", "North = Hull + York", "--sum", "Midlands = Derby + Leicester")
    assert " ".join(f"'{word}'" if " " in word else word for word in sums) in told
    recon("init", "a.csv", "--all-places", *kind, *sums, "--total", "England")
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    known = found.filter(status="recovered")["least"].sort().to_list()
    assert known == [6, 8, 11, 17, 17]
