"""Workbooks with a sheet for each place: asked about, read, and audited as one sheet would be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from openpyxl import Workbook

from recon_cli.capabilities.init.questions import Said
from recon_cli.capabilities.init.recognition import recognise
from recon_cli.errors import ConfigError
from tests.support.command_line import recon

PLACES = ("Ashby", "Brill", "Corley", "Denby")
SEXES = ("Male", "Female")
AGES = ("0-15", "16-34", "35-64", "65+")
WHOLE = "All places"

#: Rows of text and numbers, the header first.
Rows = list[list[object]]


def counts(seed: int = 5) -> dict[str, np.ndarray]:
    """Return sexes by ages of each place, and of all together."""
    drawn = np.random.default_rng(seed).choice([2, 3, 4, 7, 12, 18, 25, 9], (4, 2, 4))
    return dict(zip(PLACES, drawn, strict=True)) | {WHOLE: drawn.sum(axis=0)}


def starred(number: int) -> object:
    return "*" if 0 < number < 5 else int(number)


def table(own: np.ndarray, *, by_age: bool) -> Rows:
    """Return a table of one place with its totals, small counts starred."""
    names, corner = [*SEXES, "Total"], "Age" if by_age else "Sex"
    ages = [*AGES, "Total"]
    full = np.vstack([own, own.sum(axis=0)])
    full = np.hstack([full, full.sum(axis=1)[:, None]])
    if by_age:
        names, ages, full = ages, names, full.T
    body = [[name, *map(starred, row)] for name, row in zip(names, full, strict=True)]
    return [[corner, *ages], *body]


def write(path: Path, sheets: dict[str, Rows]) -> Path:
    book = Workbook()
    assert book.active is not None
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def long_rows(places: Sequence[str], found: dict[str, np.ndarray]) -> Rows:
    """Return all tables as one long sheet, the place in a column."""
    tables = [(place, table(found[place], by_age=True)) for place in places]
    return [
        ["Place", *tables[0][1][0]],
        *([place, *row] for place, rows in tables for row in rows[1:]),
    ]


def audited(path: Path, *flags: str) -> list[tuple[str, int, int, str]]:
    """Return name, ends and status of each withheld count, as the commands find them."""
    config = path.with_suffix(".yaml")
    recon("init", str(path), "--to", str(config), "--below", "5", *flags)
    recon("ingest", "-c", str(config))
    recon("audit", "-c", str(config))
    work = path.parent / "work" / path.stem
    names = json.loads((work / "geounits" / "_names.json").read_text())
    rows = pl.read_parquet(work / "audit" / "**/*.parquet")
    ends = rows.select("geoid", "least", "greatest", "status").rows()
    return sorted((names[geoid], *rest) for geoid, *rest in ends)


@pytest.mark.parametrize(("by_age", "has_whole"), [(True, True), (False, False)])
def test_a_sheet_for_each_place_is_audited_as_one_long_sheet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_age: bool, has_whole: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    found = counts()
    places = [*([WHOLE] if has_whole else []), *PLACES]
    sheets = {place: table(found[place], by_age=by_age) for place in places}
    path = write(tmp_path / "sheets.xlsx", {"Contents": [["Residents, 2022"]], **sheets})
    long = write(tmp_path / "long.xlsx", {"All": long_rows(places, found)})
    total = () if has_whole else ("--total", "Total")
    assert audited(path, "--place-per-sheet") == audited(long, *total)


def test_the_question_offers_the_flag(tmp_path: Path) -> None:
    found = counts()
    for places in (PLACES, (WHOLE, *PLACES)):
        sheets = {place: table(found[place], by_age=False) for place in places}
        path = write(tmp_path / "sheets.xlsx", sheets)
        asked = recognise([path]).questions[0]
        assert asked.answers["each sheet is a place"] == "--place-per-sheet"
        said = Said().with_flags(asked.answers["each sheet is a place"])
        again = recognise([path], None, said.mapping, said.choices(codes_first=False))
        assert not again.questions
        assert sorted(again.names or again.mapping["geoids"]) == sorted(places)  # type: ignore[call-overload]


def test_sheets_of_kinds_are_those_of_one_place(tmp_path: Path) -> None:
    found = counts()
    sheets = {place: table(found[place], by_age=True) for place in (WHOLE, *PLACES)}
    said = Said(one_place=True, total=("Total",))
    path = write(tmp_path / "sheets.xlsx", sheets)
    kinds = recognise([path], None, said.mapping, said.choices(codes_first=False))
    assert not kinds.questions
    assert kinds.mapping["geoids"] == {"A": "A1"}


def test_a_sheet_may_lack_a_row_or_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = counts()
    found["Denby"][:, 1] = 0
    found[WHOLE] = sum(found[place] for place in PLACES)  # type: ignore[assignment]
    sheets = {place: table(found[place], by_age=True) for place in (WHOLE, *PLACES)}
    del sheets["Denby"][2]
    path = write(tmp_path / "sheets.xlsx", sheets)
    rows = long_rows((WHOLE, *PLACES), found)
    rows.remove(["Denby", "16-34", 0, 0, 0])
    long = write(tmp_path / "long.xlsx", {"All": rows})
    assert audited(path, "--place-per-sheet") == audited(long)
    less = audited(path, "--place-per-sheet", "--leave-out", WHOLE, "--force")
    assert {name for name, *_ in less} == set(PLACES)


def test_sheets_without_a_column_of_places_are_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = counts()
    sheets: dict[str, Rows] = {}
    for place in PLACES:
        (_, *sexes), *rows = table(found[place], by_age=True)
        sheets[place] = [["Age", "Sex", "Count"]]
        sheets[place] += [
            [age, sex, n] for age, *own in rows for sex, n in zip(sexes, own, strict=True)
        ]
    path = write(tmp_path / "sheets.xlsx", sheets)
    asked = [each for each in recognise([path]).questions if "has the places" in each.text]
    assert asked[0].answers["each sheet is a place"] == "--place-per-sheet"
    assert asked[0].answers["none: all is about one place"] == "--one-place"
    long = write(tmp_path / "long.xlsx", {"All": long_rows(PLACES, found)})
    total = ("--total", "Total")
    assert audited(path, "--place-per-sheet", *total) == audited(long, *total)
    one = audited(path, "--sheet", "Brill", "--one-place", *total, "--force")
    assert {name for name, *_ in one} == {"A"}


def test_a_file_without_sheets_has_none_for_each_place(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("Age,Male,Female,Total\n0-15,4,5,9\n16+,2,8,10\nTotal,6,13,19\n")
    said = Said(place_per_sheet=True)
    with pytest.raises(ConfigError, match="no sheet for each place"):
        recognise([path], None, said.mapping, said.choices(codes_first=False))
