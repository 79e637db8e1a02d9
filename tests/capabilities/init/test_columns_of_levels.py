"""A column that says of what kind places are: region, district."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.support.command_line import audit_drafted, recon

ROWS = """Region,North,120,60,60
District,Alder,70,40,30
District,Birch,50,20,30
Region,South,88,*,*
District,Cedar,48,*,*
District,Dunn,40,20,20
Country,All,208,103,105
"""
TRUE = [(23, 23), (25, 25), (43, 43), (45, 45)]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _ends() -> list[tuple[int, int]]:
    audit_drafted("--force")
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    return sorted(found.select("least", "greatest").iter_rows())


@pytest.mark.parametrize("is_first", [True, False])
def test_regions_are_sums_of_what_it_calls_districts(*, is_first: bool) -> None:
    """Places were parts of *Region* and *District*: four counts of two stars each were safe."""
    head = "Type,Area,Persons,Male,Female\n"
    text = head + ROWS
    if not is_first:
        cells = [line.split(",") for line in text.splitlines()]
        text = "".join(f"{','.join([area, kind, *rest])}\n" for kind, area, *rest in cells)
    Path("a.csv").write_text(text)
    told = recon("init", "a.csv", code=2).output
    assert "'Type' says what places are part of, or of what kind they are?" in told
    told = recon("init", "a.csv", "--leave-out", "Type", code=2).output
    assert "--sum 'South = Cedar + Dunn'" in told
    recon("init", "a.csv", "--leave-out", "Type", "--sum", "South = Cedar + Dunn", "--all-places")
    assert _ends() == TRUE


def test_a_column_of_what_places_are_part_of_is_not_asked_about() -> None:
    Path("a.csv").write_text(
        "Region,District,Persons,Male,Female\n"
        "North,Alder,70,40,30\nNorth,Birch,50,20,30\nNorth,North,120,60,60\n"
        "South,Cedar,48,*,*\nSouth,Dunn,40,*,*\nSouth,South,88,41,47\n"
        "All,All,208,101,107\n"
    )
    recon("init", "a.csv", "--all-places")
    assert _ends() == [(0, 40), (0, 40), (1, 41), (7, 47)]


def test_a_parent_that_is_said_is_believed() -> None:
    Path("a.csv").write_text("Type,Area,Persons,Male,Female\n" + ROWS)
    assert "of what kind" not in recon("init", "a.csv", "--parent", "Type").output


def test_places_are_part_of_others_that_are_part_of_one() -> None:
    """A column *Part of* names rows of the same list: each is the total of those below it."""
    part = {"Alder": "North", "Birch": "North", "Cedar": "South", "Dunn": "South", "All": ""}
    cells = [line.split(",") for line in ROWS.splitlines()]
    rows = [",".join([area, part.get(area, "All"), *rest]) for _, area, *rest in cells]
    Path("a.csv").write_text("\n".join(["Area,Part of,Persons,Male,Female", *rows]) + "\n")
    recon("init", "a.csv", "--all-places")
    assert _ends() == TRUE


@pytest.mark.parametrize("codes", [("1", "2", "3", "4"), ("E01", "E02", "E03", "E04")])
def test_ranks_and_codes_that_some_rows_lack_are_no_levels(codes: tuple[str, ...]) -> None:
    """The total, without a rank as the others are, was the whole of these alone."""
    counts = ("Syria,13,*,*", "Iran,30,23,7", "Sudan,19,13,6", "Eritrea,6,6,0")
    rows = [*map(",".join, zip(codes, counts, strict=True)), ",Other,21,15,6", ",Total,89,69,20"]
    Path("a.csv").write_text("\n".join(["Rank,Nationality,All,Main,Dependants", *rows, ""]))
    recon("init", "a.csv", "--all-places")
    assert _ends() == [(1, 1), (12, 12)]
