"""A row that may be the total of those beside it is asked about, whatever it is called."""

from __future__ import annotations

import shlex
from pathlib import Path

import polars as pl
import pytest
from openpyxl import Workbook

from tests.support.command_line import audit_drafted, recon

#: Every column has a star, and each star follows from the last row.
HARDSHIP = """Ward,All,Men,Women,0-24,25-49,50+
Aln,87,64,23,41,28,18
Bure,151,122,29,90,32,29
Chess,61,*,*,28,23,10
Deben,66,46,20,27,19,20
Ebble,33,19,14,*,*,14
Frome,62,40,22,28,19,15
Gade,*,*,16,20,15,*
Hull,83,56,27,45,17,21
Norfolk,581,427,154,282,169,130
"""
#: In the columns that are printed whole nobody of Small is counted.
SMALL = """Area,Households,Grant,Loan,Advice
Northam,*,*,30,9
Eastham,46,25,14,7
Westham,71,31,22,18
Smallham,*,*,0,0
Totaal regio,170,70,66,34
"""
GREAT = """Area,All,Male,Female,16-24,25-49,50+
Great Britain,520,402,118,347,125,48
North East,179,135,44,94,52,33
Alnford,39,31,8,29,10,0
Beckton,101,73,28,51,18,32
Castlemoor,[c],[c],[c],[c],[c],0
Dunwick,34,29,[c],12,21,[c]
North West,192,142,50,129,55,8
Eskdale,[c],[c],[c],[c],[c],0
Farrow,74,55,19,48,24,[c]
Graythwaite,111,82,29,79,26,[c]
Midlands,149,125,24,124,18,[c]
Holmby,17,15,[c],14,[c],[c]
Ironville,51,44,[c],45,[c],[c]
Kelham,23,17,[c],16,[c],[c]
Larkhill,58,49,9,49,[c],[c]
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def asked(text: str, *flags: str) -> str:
    Path("table.csv").write_text(text)
    return " ".join(recon("init", "table.csv", *flags, code=2).stderr.split())


def audited(*flags: str) -> pl.DataFrame:
    recon("init", "table.csv", "--all-places", *flags)
    audit_drafted()
    return pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)


@pytest.mark.parametrize("name", ["Norfolk", "Ensemble du département"])
def test_the_last_row_may_be_all_others(name: str) -> None:
    text = HARDSHIP.replace("Norfolk", name)
    flags = "--below", "5", "--complementary"
    assert f"'{name}' may be all places beside it together" in asked(text, *flags)
    found = audited(*flags, "--total", name)
    assert found.filter(status="recovered").height == found.height == 7
    apart = audited(*flags, "--apart", name, "--force")
    assert apart.filter(status="recovered").height == 0


def test_the_last_row_of_a_group_may_be_all_others_of_it() -> None:
    """Every column has a star in each district, whose office stands below its schools."""
    rows = ["North,Oak,31,*,*", "North,Elm,*,14,*", "North,Ash,40,22,18", "North,Office,88,49,39"]
    rows += ["South,Fir,*,*,9", "South,Yew,24,14,*", "South,Bay,18,*,11", "South,Office,61,31,30"]
    text = "\n".join(["District,School,All,Boys,Girls", *rows, ""])
    said = asked(text, "--below", "15", "--complementary")
    assert "'North / Office' may be all places beside it together" in said
    assert "'South / Office' may be all places beside it together" in said
    flags = "--total", "North / Office", "--total", "South / Office"
    found = audited("--below", "15", "--complementary", *flags)
    assert found.filter(status="recovered").height == found.height


def test_a_row_that_is_less_than_the_others_is_no_total() -> None:
    Path("table.csv").write_text(
        HARDSHIP.replace("581,427,154,282,169,130", "531,387,144,262,149,120")
    )
    recon("init", "table.csv", "--below", "5", "--complementary")
    wrong = recon("init", "table.csv", "--total", "Norfolk", "--force", code=4).stderr
    assert "the 8 places beside it do not add up to it" in " ".join(wrong.split())


def test_a_place_of_nobody_in_what_is_printed_may_be_in_the_total() -> None:
    """Without it two counts are recovered, and wrong: 51 and 12 become 53 and 14."""
    flags = "--below", "5", "--complementary"
    assert "'Smallham' may be in 'Totaal regio', too" in asked(SMALL, *flags)
    found = audited(*flags, "--total", "Totaal regio")
    assert found.filter(status="recovered").height == 0
    alone = audited(*flags, "--apart", "Smallham", "--force")
    assert alone.filter(status="recovered").height == 2


def test_regions_that_a_whole_adds_up_to_have_the_rows_below_them() -> None:
    said = asked(GREAT, "--below", "8")
    assert "North West = Eskdale + Farrow + Graythwaite" in said
    sums = (
        "North East = Alnford + Beckton + Castlemoor + Dunwick",
        "North West = Eskdale + Farrow + Graythwaite",
        "Midlands = Holmby + Ironville + Kelham + Larkhill",
    )
    found = audited("--below", "8", *(word for each in sums for word in ("--sum", each)))
    assert found.filter(status="recovered").height == 18


def test_two_sheets_of_the_same_people_by_other_places_are_not_read_together() -> None:
    """No row says how many there are: each column adds up to the same."""
    book = Workbook()
    districts, centres = book.active, book.create_sheet("Jobcentres")
    assert districts is not None
    districts.title = "Districts"
    for sheet, rows in (
        (districts, [("Adel", 61, 25, 36), ("Bram", 40, 22, 18), ("Cook", 59, 33, 26)]),
        (centres, [("North", 72, 41, 31), ("South", 88, 39, 49)]),
    ):
        sheet.append(("Place", "All", "Men", "Women"))
        for row in rows:
            sheet.append(row)
    book.save("two.xlsx")
    said = " ".join(recon("init", "two.xlsx", code=2).stderr.split())
    assert "each with all people, or with others: 'Districts' has 'Adel' and 2 more" in said
    told = recon("init", "two.xlsx", "--sheet", "Jobcentres").stdout
    assert "not used  9 numbers: two.xlsx, sheet Districts" in told


PARISHES = """Parish,All,Catholic,Other
Deanery of St Anne,,,
Upper,11,7,4
Lower,13,,13
Deanery total,24,7,17
Deanery of St Brendan,,,
Kells,86,46,40
Moyle,114,14,100
Swords,,,
Trim,3,,3
Deanery total,203,60,143
All parishes,227,67,160
"""


@pytest.mark.parametrize(
    ("note", "flags"), [("A blank cell means nobody.", []), ("", ["--nil", ""])]
)
def test_a_place_of_nobody_among_the_parts_of_a_sum_is_no_heading(
    note: str, flags: list[str]
) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for line in PARISHES.splitlines():
        sheet.append([int(text) if text.isdigit() else text or None for text in line.split(",")])
    sheet.append([note or None])
    book.save("parishes.xlsx")
    recon("init", "parishes.xlsx", *flags)
    assert "  people          227\n" in recon("run", "--until", "ingest").stdout
    geoids = Path("recon.yaml").read_text()
    assert "Deanery of St Brendan / Swords: " in geoids
    assert "Deanery of St Brendan / Trim: " in geoids


def test_a_row_of_blanks_below_places_is_a_place() -> None:
    text = "Parish,All,Men,Women\nAskham,51,20,31\nBarton,39,17,22\nClifton,76,35,41\n"
    text += "Dufton,,,\nEden,34,18,16\nFlusco,c,c,24\nAll parishes,227,93,134\n"
    Path("blank.csv").write_text(text)
    said = recon("init", "blank.csv", "--below", "5", "--complementary").stdout
    assert "what blanks mean" in said
    assert "  Dufton: A4" in " ".join(Path("recon.yaml").read_text().splitlines())
    recon("init", "blank.csv", "--nil", "", "--below", "5", "--complementary", "--force")
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert found.height == 2


def test_a_place_that_overlaps_with_others_may_be_left_out() -> None:
    text = "Area,All,Men,Women\nTotal,200,110,90\nCities,140,80,60\nCounties,60,30,30\n"
    said = asked(text + "Suburbs,45,21,24\n")
    assert "the places that 'Total' is of add up to more than it" in said
    assert "--leave-out Suburbs 'Suburbs' is not in it: leave it out" in said
    told = recon("init", "table.csv", "--leave-out", "Suburbs").stdout
    assert "not used  3 numbers: 'Suburbs' of table.csv" in told


def test_what_is_safe_depends_on_places_that_may_not_be_listed() -> None:
    Path("table.csv").write_text(SMALL)
    flags = "--below", "5", "--complementary", "--total", "Totaal regio", "--force"
    for more, is_told in (((), True), (("--all-places",), False)):
        recon("init", "table.csv", *flags, *more)
        recon("run", "-q", "--until", "ingest")
        told = " ".join(recon("audit", "--force").stdout.split())
        assert "safe 4 (100%)" in told
        assert ("safe if there may be places that the files do not list" in told) == is_told


PRINTED = """Area,Men,Women
All,31,43
Ash,10,15
Elm,21,28
Oak,*,*
"""


@pytest.mark.parametrize(
    ("flags", "largest"), [(("--total", "All"), [0, 0]), (("--apart", "All"), [None, None])]
)
def test_a_total_of_what_is_printed_is_asked_about(
    flags: tuple[str, str],
    largest: list[int | None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("areas.csv").write_text(PRINTED, encoding="utf-8")

    asked = recon("init", "areas.csv", code=2)

    assert "'All' is the sum of what is printed of its parts" in asked.output
    assert shlex.join(flags) in asked.output
    recon("init", "areas.csv", *flags)
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert found["greatest"].to_list() == largest


def test_a_part_that_is_nobody_in_most_rows_makes_no_slip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["Aln,12,45,-,57", "Bure,7,33,9,49", "Chess,-,20,3,23", "Deben,15,*,8,27"]
    rows += ["Ebble,10,31,-,41", "Frome,-,18,6,24", "Glas,*,-,6,9", "Hull,11,*,1,14"]
    text = "\n".join(["Ward,0-17,18-64,65+,Total", *rows]) + "\n"
    Path("wards.csv").write_text(text, encoding="utf-8")

    asked = recon("init", "wards.csv", "--below", "5", code=2)

    assert "'Total' may be '0-17' + '18-64' + '65+'" in asked.output
    assert "1 question to be answered" in asked.output
