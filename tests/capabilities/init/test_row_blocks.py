"""Sheets whose rows stand in blocks, each below a row that names their place."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import polars as pl
import pytest
from openpyxl import Workbook, load_workbook

from recon_cli.capabilities.init.proposal.row_blocks import ask_above
from tests.support.command_line import audit_drafted, recon

#: Place → kind → total, men, women.
COUNTS = {
    "Ashby": {"In work": "20,9,11", "Out of work": "17,*,*", "Retired": "9,*,*"},
    "Birch": {"In work": "31,16,15", "Out of work": "12,7,5", "Retired": "8,5,3"},
    "Corfe": {"In work": "14,8,6", "Out of work": "13,*,*", "Retired": "11,*,*"},
    "All places": {"In work": "65,33,32", "Out of work": "42,16,26", "Retired": "28,15,13"},
}
WHOLES = {"Ashby": "46,17,29", "Birch": "51,28,23", "Corfe": "38,19,19", "All places": "135,64,71"}
RULE = ("--below", "5", "--complementary", "--all-places")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _long() -> str:
    """Return the table with a column of places."""
    rows = ["Place,Status,Total,Men,Women"]
    for place, own in COUNTS.items():
        rows += [f"{place},{kind},{counts}" for kind, counts in own.items()]
        rows.append(f"{place},All,{WHOLES[place]}")
    return "\n".join(rows) + "\n"


def _blocks(*, is_total_above: bool, title: str = "", note: str = "", last: str = "") -> str:
    """Return the table with a row above each block that names the place.

    Args:
        is_total_above: Whether that row has the counts of all kinds; else the last of the block.
        last: Another name of all places.
    """
    rows = [*filter(None, [title]), "Status,Total,Men,Women"]
    for place, own in COUNTS.items():
        name = last if last and place == "All places" else place
        rows.append(f"{name},{WHOLES[place]}" if is_total_above else f"{name},,,")
        rows += [f"{kind},{counts}" for kind, counts in own.items()]
        rows += [] if is_total_above else [f"All,{WHOLES[place]}"]
    return "\n".join([*rows, *filter(None, [note])]) + "\n"


def _audited(text: str, *flags: str) -> list[tuple[int, int]]:
    """Return the least and greatest of what is withheld, in order."""
    Path("a.csv").write_text(text, encoding="utf-8")
    recon("init", "a.csv", "--force", *RULE, *flags)
    audit_drafted("--force")
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    return sorted(found.select("least", "greatest").iter_rows())


@pytest.fixture(scope="module")
def of_long(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, int]]:
    """What is proven of the table with a column of places."""
    with chdir(tmp_path_factory.mktemp("long")):
        return _audited(_long())


@pytest.mark.parametrize("is_total_above", [False, True])
def test_rows_below_a_place_are_kinds_there(
    of_long: list[tuple[int, int]], *, is_total_above: bool
) -> None:
    text = _blocks(is_total_above=is_total_above)
    assert _audited(text, "--above", "place") == of_long


@pytest.mark.parametrize("is_total_above", [False, True])
def test_rows_called_alike_below_each_of_several_are_asked_about(*, is_total_above: bool) -> None:
    text = _blocks(is_total_above=is_total_above)
    Path("a.csv").write_text(text[: text.index("All places")])
    asked = recon("init", "a.csv", *RULE, code=2).output
    assert "'In work', 'Out of work', 'Retired'" in asked
    assert "--above place" in asked
    Path("a.csv").write_text(_blocks(is_total_above=False))
    assert "--above place" in recon("init", "a.csv", *RULE, code=2).output


def test_one_row_below_each_place_is_asked_about() -> None:
    """A row *of which* below each place has one name everywhere: it was refused."""
    blocks = "Area,Total,Men,Women\n"
    long = "Area,Age,Total,Men,Women\n"
    for place, own in COUNTS.items():
        blocks += f"{place},{WHOLES[place]}\nof which retired,{own['Retired']}\n"
        long += f"{place},All,{WHOLES[place]}\n{place},of which retired,{own['Retired']}\n"
    Path("a.csv").write_text(blocks)
    for flags in ((), ("--yes",)):
        told = recon("init", "a.csv", *RULE, *flags, code=2).output
        assert "'of which retired' stands below each of 'Ashby', 'Birch', 'Corfe', …" in told
        assert "--above place" in told
        assert "--yes takes" not in told
    assert _audited(blocks, "--above", "place") == _audited(long)
    recon("init", "a.csv", "--force", "--leave-out", "of which retired")


def test_places_below_each_kind() -> None:
    """Places that stand below each of several kinds were places within the kinds alone."""
    blocks, long = "Place,Total,Men,Women\n", "Place,Status,Total,Men,Women\n"
    for kind in ("In work", "Out of work", "Retired"):
        blocks += f"{kind},,,\n"
        for place, own in COUNTS.items():
            blocks += f"{place},{own[kind]}\n"
            long += f"{place},{kind},{own[kind]}\n"
    Path("a.csv").write_text(blocks)
    assert "--above kind" in recon("init", "a.csv", *RULE, code=2).output
    assert _audited(blocks, "--above", "kind") == _audited(long, "--apart", "Status")


def test_two_places_of_one_name_are_refused() -> None:
    Path("a.csv").write_text(
        "Place,Total,Men,Women\nAshby,9,5,4\nBirch,8,4,4\nCorfe,7,3,4\nBirch,6,2,4\nDene,5,1,4\n"
        "Elm,9,2,7\nFern,8,3,5\n"
    )
    told = recon("init", "a.csv", code=4).output
    assert "'Birch' is in row 3 already" in told


def test_titles_notes_and_a_place_called_as_a_kind(of_long: list[tuple[int, int]]) -> None:
    text = _blocks(is_total_above=True, title="Status by place", note="Source: the survey")
    assert _audited(text, "--above", "place") == of_long
    assert _audited(_blocks(is_total_above=False, last="All"), "--above", "place") == of_long


def test_kinds_that_a_place_lacks() -> None:
    lacking = [
        text.replace("Retired,8,5,3\n", "")
        .replace("51,28,23", "43,23,20")
        .replace("28,15,13", "20,10,10")
        .replace("135,64,71", "127,59,68")
        for text in (_blocks(is_total_above=False), _long().replace("Birch,Retired", "Retired"))
    ]
    assert _audited(lacking[0], "--above", "place") == _audited(lacking[1])


def test_parts_of_places_may_be_called_alike() -> None:
    text = "Area,Total,Men,Women\n" + "".join(
        f"{name},{a + b + c + d},{a + c},{b + d}\nUrban,{a + b},{a},{b}\nRural,{c + d},{c},{d}\n"
        for name, (a, b, c, d) in {
            "Ashby": (11, 12, 8, 7),
            "Birch": (21, 17, 6, 9),
            "Corfe": (31, 30, 14, 9),
        }.items()
    )
    Path("a.csv").write_text(text)
    assert "--place Area" in recon("init", "a.csv", code=2).output
    recon("init", "a.csv", "--place", "Area")
    recon("ingest", "-q")


def test_rows_between_blocks_are_refused() -> None:
    text = _blocks(is_total_above=False).replace("Corfe,,,", "The south,,,\nCorfe,,,")
    Path("a.csv").write_text(text)
    told = recon("init", "a.csv", *RULE, "--above", "place", code=4).output
    assert "'The south' stands between the blocks" in told


def test_a_sheet_without_blocks_is_refused() -> None:
    Path("a.csv").write_text(_long())
    told = recon("init", "a.csv", *RULE, "--above", "place", code=4).output
    assert "expected rows that are called alike below each" in told


def test_the_protected_copy_keeps_the_blocks() -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    text = _blocks(is_total_above=True).replace("17,*,*", "17,3,14").replace("9,*,*", "9,5,4")
    text = text.replace("13,*,*", "13,6,7").replace("11,*,*", "11,5,6")
    for line in text.splitlines():
        sheet.append([int(cell) if cell.isdigit() else cell or None for cell in line.split(",")])
    book.save("a.xlsx")
    recon("init", "a.xlsx", "--above", "place", "--all-places")
    recon("ingest", "-q")
    recon("export", "--suppressed", "safe", "--below", "5", "--mark", "c", "--footnote", "")
    (copy,) = load_workbook("safe/a.xlsx").worksheets
    before, after = (
        [[cell.value for cell in row] for row in own.iter_rows()] for own in (sheet, copy)
    )
    changed = {
        (one, two)
        for old, new in zip(before, after, strict=True)
        for one, two in zip(old, new, strict=True)
        if one != two
    }
    assert {"c"} == {two for _, two in changed}
    assert {3, 4} <= {one for one, _ in changed}


def test_schools_of_one_name_in_two_towns_are_no_kinds() -> None:
    towns = {"Ashby": ["All", "Priory", "St Anne"], "Birch": ["All", "Priory"], "Corfe": ["All"]}
    rows = [(town, school) for town, schools in towns.items() for school in schools]
    assert ask_above(rows, "School", is_said=False) is None
    assert ask_above([*rows, ("Birch", "St Anne")], "School", is_said=False) is not None
