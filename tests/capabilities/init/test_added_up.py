"""How numbers came to be rounded: each by itself, together, or by one base in each table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from openpyxl import Workbook

from tests.support.command_line import recon

HEADER = "Area,All,Car,Bus,Cycle,Foot"
ASKED = "rounded numbers add up to it exactly"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, *, is_added: bool, seed: int) -> None:
    """Write ways to work in eight areas, rounded at random to threes, and their total."""
    draws = np.random.default_rng(seed)
    people = draws.poisson([[40.0], [30.0], [12.0], [3.0]], (4, 8))

    def rounded(counts: np.ndarray) -> np.ndarray:
        up = draws.random(counts.shape) * 3 < counts % 3
        return np.asarray(counts // 3 * 3 + 3 * up)

    parts = rounded(people)
    total = parts.sum(axis=0) if is_added else rounded(people.sum(axis=0))
    rows = [
        ",".join(map(str, [f"Area {name}", all_, *own]))
        for name, all_, own in zip("ABCDEFGH", total, parts.T, strict=True)
    ]
    path.write_text("\n".join([HEADER, *rows]) + "\n")


@pytest.mark.parametrize("said", [("--rounded", "random"), ("--rounded", "nearest"), ()])
def test_how_such_totals_were_made_is_asked(said: tuple[str, ...]) -> None:
    write(Path("ways.csv"), is_added=True, seed=3)
    asked = " ".join(recon("init", "ways.csv", *said, code=2).stderr.split())
    assert f"'All': {ASKED}" in asked
    assert "--rounded controlled rounded so" in asked
    assert "--leave-out All added up after" in asked


@pytest.mark.parametrize(
    "said",
    [
        ("--rounded", "controlled"),
        ("--rounded", "random", "--leave-out", "All"),
        ("--rounded", "random", "--total", "All"),
    ],
)
def test_any_answer_is_taken(said: tuple[str, ...]) -> None:
    write(Path("ways.csv"), is_added=True, seed=3)
    assert ASKED not in recon("init", "ways.csv", *said, "--all-places").stdout


def test_totals_that_are_rounded_by_themselves_are_not_asked_about() -> None:
    for seed in range(6):
        write(Path("ways.csv"), is_added=False, seed=seed)
        shown = recon("init", "ways.csv", "--rounded", "random", "--all-places", "--force", "--yes")
        assert ASKED not in shown.stdout + shown.stderr


def book(**sheets: str) -> None:
    """Write a workbook of comma-separated sheets."""
    made = Workbook()
    made.remove(made.worksheets[0])
    for name, text in sheets.items():
        sheet = made.create_sheet(name)
        for line in text.split():
            sheet.append([int(word) if word.isdigit() else word for word in line.split(",")])
    made.save("book.xlsx")


TENS = "Area,Persons,Female,Male Ashby,70,30,40 Birch,90,50,40 Carr,60,20,40 Dale,110,50,60"
FIVES = "Area,0-15,16-64,65+ Ashby,20,35,20 Birch,25,45,25 Carr,15,30,15 Dale,35,55,20"
EXACT = "Area,Car,Bus,Foot Ashby,21,32,19 Birch,25,41,23 Carr,17,31,12 Dale,33,57,18"


def test_each_table_has_its_own_base() -> None:
    book(Sex=TENS, Age=FIVES)
    shown = " ".join(recon("init", "book.xlsx", "--all-places").stdout.split())
    assert "counts are multiples of 10 in TABLE1, of 5 in TABLE2" in shown
    recon("init", "book.xlsx", "--rounded", "nearest", "--all-places", "--force")
    assert Path("recon.protection.yaml").read_text().splitlines()[-2:] == [
        "  - {tables: [TABLE2], law: {rounded: {base: 5, how: nearest}}}",
        "  - {tables: [TABLE1], law: {rounded: {base: 10, how: nearest}}}",
    ]


def test_a_rounded_table_beside_an_exact_one_is_rounded() -> None:
    book(Sex=TENS, Ways=EXACT)
    said = "--apart", "Car", "--apart", "Bus", "--apart", "Foot"
    recon("init", "book.xlsx", "--rounded", "nearest", "--all-places", *said)
    assert Path("recon.protection.yaml").read_text().splitlines()[-1] == (
        "  - {tables: [TABLE1], law: {rounded: {base: 10, how: nearest}}}"
    )
