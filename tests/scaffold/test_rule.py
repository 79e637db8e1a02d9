"""The rule of suppression: what a note says is quoted, what is said is drafted and proves more."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.init.notes import noted_rule
from tests.support.command_line import recon

TABLE = """Court,All,Men,Women
Ashby,40,31,9
Elm,7,*,*
Oak,17,12,5
Yew,6,*,*
"""
NOTED = TABLE + "* fewer than 5 people\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _page() -> str:
    return Path("work/courts/report/report.html").read_text()


@pytest.mark.parametrize(
    ("text", "below"),
    [
        ("* fewer than 5 people", 5),
        ("* = 1 to 4", 5),
        ("Zahlen unter 3 unterliegen der Geheimhaltung", 3),
        ("Numbers between one and nine are suppressed", 10),
        ("Counts of less than ten are withheld", 10),
        ("c moins de 11 personnes, secret statistique", 11),
        ("Children under 5 are counted by area of residence", None),
        ("* provisional", None),
    ],
)
def test_a_note_says_the_rule(text: str, below: int | None) -> None:
    found = noted_rule(["A title", text], ["*"])
    assert (found and found.below) == below


def test_two_notes_that_differ_say_nothing() -> None:
    assert noted_rule(["* fewer than 5", "* fewer than 10 from 2020 on"], ["*"]) is None


def test_a_note_is_quoted_with_the_flags_that_say_the_same() -> None:
    Path("courts.csv").write_text(NOTED)
    told = " ".join(recon("init", "courts.csv").stdout.split())
    assert "'* fewer than 5 people' (`--below 5`, with `--complementary`" in told
    Path("plain.csv").write_text(TABLE)
    told = " ".join(recon("init", "plain.csv", "--to", "plain.yaml").stdout.split())
    assert "a narrower rule proves more page" in told


def test_what_is_said_is_the_law_that_is_audited() -> None:
    Path("courts.csv").write_text(NOTED)
    recon("init", "courts.csv")
    unknown = recon("run").stdout
    assert "safe if" in unknown
    assert "A count is safe if nobody knows by which rule" in _page()
    recon("init", "courts.csv", "--force", "--below", "5")
    known = recon("run").stdout
    assert "safe if" not in known
    assert "by which rule" not in _page()
    found = pl.read_parquet("work/courts/audit/**/*.parquet").sort("geoid", "cell")
    assert found["least"].to_list() == [3, 3, 2, 2]  # of seven, and six
    assert found["greatest"].to_list() == [4, 4, 4, 4]


def test_a_rule_of_nothing_and_half_a_rule_are_refused() -> None:
    Path("full.csv").write_text("Court,All,Men,Women\nAshby,40,31,9\nElm,22,12,10\n")
    text = recon("init", "full.csv", "--below", "5", code=2).stderr
    assert "--below 5: no text stands in place of a count" in text
    text = recon("init", "full.csv", "--zeros", code=2).stderr
    assert "--zeros: say below which number counts are suppressed" in text
