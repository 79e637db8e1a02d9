"""Numbers of a sheet that stand in no table of counts are told, and settled by a reason."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.support.command_line import recon

COUNTS = "School,All,Girls,Boys\nAsh,30,14,16\nElm,25,12,13\nFir,41,20,21\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("above", "below", "unused"),
    [
        (
            "",
            "Per cent\n\nSchool,All,Girls,Boys\n"
            "Ash,100.0,46.7,53.3\nElm,100.0,48.0,52.0\nFir,100.0,48.8,51.2\n",
            "9 numbers: 'All' of office.csv, 'Girls' of office.csv, 'Boys' of office.csv",
        ),
        (
            "",
            "District,Mean age,,\nNorth,11.2,,\nSouth,12.1,,\nEast,11.1,,\n",
            "3 numbers: 'North' of office.csv, 'South' of office.csv, 'East' of office.csv",
        ),
        (
            "Pupils of Northshire,,,\nAll pupils in the county,96,,\n",
            "Girls with free meals,7,,\n",
            "2 numbers: 'All pupils in the county' of office.csv, 'Girls with free meals' of "
            "office.csv",
        ),
        ("Pupils in,2024,,\n", "Notes,,,\n1,Rounded nowhere,,\n2,Of all schools,,\n", None),
    ],
)
def test_numbers_around_a_table_are_no_places_and_are_told(
    above: str, below: str, unused: str | None
) -> None:
    Path("office.csv").write_text(f"{above}{COUNTS}\n{below}")
    said = " ".join(recon("init", "office.csv", "--yes").stdout.split())
    assert (f"not used {unused} source" in said) if unused else ("not used" not in said)
    done = " ".join(recon("ingest").stdout.split())
    assert "people 96" in done
    assert "schools 3" in done
    assert ("not used" in done) == (unused is not None)


def test_a_reason_settles_a_number_beside_a_table() -> None:
    Path("office.csv").write_text(f"{COUNTS}\nGirls with free meals,7,,\n")
    recon("init", "office.csv")
    config = yaml.safe_load(Path("recon.yaml").read_text())
    config["check"] = {"rules": [{"certain_records": {}, "most": 100}]}
    Path("recon.yaml").write_text(yaml.safe_dump(config))
    assert "'Girls with free meals' of office.csv" in " ".join(
        recon("check", code=21).stdout.split()
    )
    config["ingest"]["mapping"]["leave_out"] = {"Girls with free meals": "published before"}
    Path("recon.yaml").write_text(yaml.safe_dump(config))
    assert "published before" in recon("check").stdout


@pytest.mark.parametrize("inside", ["({:.1f}%)", "({low}\u2013{high})", "[{low} to {high}]"])
def test_what_stands_in_parentheses_behind_a_count_is_told(inside: str) -> None:
    """The column was read as words, and its counts were lost."""
    rows = [
        f"{name},{all_},{ill} "
        + inside.format(100 * ill / all_, low=ill - 5, high=ill + 7)
        + f",{all_ - ill}"
        for name, all_, ill in (("Ash", 130, 14), ("Elm", 125, 12), ("Fir", 141, 20))
    ]
    Path("office.csv").write_text("\n".join(["Area,Tested,Ill,Well", *rows, ""]))
    said = " ".join(recon("init", "office.csv").stdout.split())
    assert "not used 3 numbers: 'Ill (in parentheses)' of office.csv source" in said
    assert "'Tested' is everybody, 'Ill' is" in said
    recon("ingest", "-q")
    counts = pl.read_parquet("work/**/tables/**/*.parquet", hive_partitioning=False)["count"]
    assert sorted(counts.to_list()) == [12, 14, 20, 113, 116, 121, 125, 130, 141]


def test_a_column_that_is_left_out_is_not_said_to_be_equal() -> None:
    Path("office.csv").write_text(
        "Area,Population,Births,Deaths\nAsh,13000,114,96\nElm,12500,112,103\nFir,14100,120,121\n"
    )
    said = " ".join(recon("init", "office.csv", "--yes").stdout.split())
    assert "not used 6 numbers: 'Births' of office.csv, 'Deaths' of office.csv" in said
    assert "their numbers are equal" not in said


def test_a_row_of_blanks_among_places_is_no_heading() -> None:
    Path("office.csv").write_text(
        "Area,All,Girls,Boys\nAsh,30,14,16\nElm,25,9,16\nFir,,,\nOak,12,5,7\nYew,9,4,5\n"
    )
    recon("init", "office.csv")
    geoids = yaml.safe_load(Path("recon.yaml").read_text())["ingest"]["mapping"]["geoids"]
    assert {*geoids} == {"Ash", "Elm", "Fir", "Oak", "Yew"}


def test_a_row_of_words_below_the_total_of_all_is_a_heading() -> None:
    Path("office.csv").write_text(
        "Area,All,Girls,Boys\nCounty,76,32,44\nNorth,,,\nAsh,30,14,16\nElm,25,9,16\n"
        "South,,,\nOak,12,5,7\nYew,9,4,5\n"
    )
    recon("init", "office.csv")
    geoids = yaml.safe_load(Path("recon.yaml").read_text())["ingest"]["mapping"]["geoids"]
    assert {"North / Ash", "South / Yew", "County"} <= {*geoids}


def test_rows_of_sexes_are_no_places() -> None:
    Path("office.csv").write_text(
        ",Ash,Elm,Fir,All areas\nAll pupils,30,25,41,96\nGirls,14,12,20,46\nBoys,16,13,21,50\n"
    )
    said = " ".join(recon("init", "office.csv").stdout.split())
    assert "'Girls' is sex girls, 'Boys' is sex boys" in said


def test_years_are_no_ages() -> None:
    Path("office.csv").write_text(
        "Area,Girls 2022,Boys 2022,All 2022,Girls 2023,Boys 2023,All 2023\n"
        "Ash,14,16,30,15,17,32\nElm,12,13,25,11,12,23\nFir,20,21,41,22,20,42\n"
    )
    assert "sex girls, year 2022" in " ".join(recon("init", "office.csv").stdout.split())
