"""Which columns of an office's file are counts and places, as far as init can tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from recon_cli.capabilities.ingest.options import Ingest
from recon_cli.config import load_config
from tests.support.command_line import recon

AREAS = ("Ashby", "Elm", "All areas")
ROWS = [
    f"{area},{tenure},{size},{count}"
    for area, counts in zip(AREAS, ((1, 4, 2, 0), (3, 5, 0, 1), (4, 9, 2, 1)), strict=True)
    for (tenure, size), count in zip(
        ((t, s) for t in ("Owner", "Renter") for s in ("1", "2+")), counts, strict=True
    )
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("place", ["Area", "Place", "Ward"])
@pytest.mark.parametrize("count", ["Count", "Households", "Haushalte"])
def test_a_row_a_count_whatever_the_count_is_called(place: str, count: str) -> None:
    Path("houses.csv").write_text("\n".join([f"{place},Tenure,Size,{count}", *ROWS, ""]))
    done = recon("init", "houses.csv")
    assert "a sheet read by its numbers" in done.stdout
    assert f"'{count}' is everybody" in done.stdout
    assert "12 cells, all equal" in recon("run", "--until", "reconstruct").stdout


@pytest.mark.parametrize(
    "header", ["Place,Kind,Persons,Men,Women", "Place,Kind,Men,Women,Persons", "Place,Kind,,,Stays"]
)
def test_a_row_a_place_stays_one(header: str) -> None:
    names = [name or f"Group {i}" for i, name in enumerate(header.split(","))]
    rows = ["Ashby,town,9,4,5", "Elm,village,7,3,4", "Oak,town,5,5,0"]
    if header.endswith("Persons"):
        rows = ["Ashby,town,4,5,9", "Elm,village,3,4,7", "Oak,town,5,0,5"]
    Path("wide.csv").write_text("\n".join([",".join(names), *rows, ""]))
    said = ["--total", names[2]] if names[-1] == "Stays" else []  # two rows, and no word, show it
    assert "a sheet read by its numbers" in recon("init", "wide.csv", *said).stdout


def test_a_place_column_that_cannot_be_told_is_named_on_the_command_line() -> None:
    Path("orte.csv").write_text("\n".join(["Ort,Tenure,Size,Count", *ROWS, ""]))
    asked = recon("init", "orte.csv", code=2).stderr
    assert "--place Ort" in " ".join(asked.split())
    recon("init", "orte.csv", "--place", "Ort")
    mapping = load_config(Path("recon.yaml")).section(Ingest).mapping
    assert mapping is not None
    assert mapping.place == "Ort"
    assert "all equal" in recon("run", "--until", "reconstruct").stdout


def test_a_row_of_years_is_a_header() -> None:
    Path("years.csv").write_text("Place,2020,2021\nAshby,9,4\nElm,7,3\n")
    assert "2 rows of places" in recon("init", "years.csv").stdout
    recon("init", "years.csv", "--header", 1, "--force")
    mapping = load_config(Path("recon.yaml")).section(Ingest).mapping
    assert mapping is not None
    assert mapping.header == (1,)


def test_a_header_alone_is_said_to_have_no_rows() -> None:
    Path("empty.csv").write_text("Area,Sex,Age,Count\n")
    assert "has no counts" in recon("init", "empty.csv", code=4).stderr


def test_tidy_files_are_told_nothing() -> None:
    Path("tidy.csv").write_text("geoid,table,cell,count\nA1,T,1,2\n")
    assert (
        "says itself what it counts" in recon("init", "tidy.csv", "--place", "geoid", code=2).stderr
    )


def test_names_with_numbers_are_names_under_any_header() -> None:
    Path("wards.csv").write_text("Area,Total,Men,Women\nWard 1,9,4,5\nWard 2,7,3,4\n")
    recon("init", "wards.csv")
    mapping = load_config(Path("recon.yaml")).section(Ingest).mapping
    assert mapping is not None
    assert mapping.geoids == {"Ward 1": "A1", "Ward 2": "A2"}
