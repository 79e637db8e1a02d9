"""A unit that stands for others is never shown as if it were a place in the files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.command_line import recon

#: Rounded to base 5: no counts say that the three wards hold everybody.
ROUNDED = """\
Place,Sex,Count
Ashby,Women,25
Ashby,Men,20
Elm,Women,15
Elm,Men,35
Oak,Women,5
Oak,Men,10
All wards,Women,50
All wards,Men,65
"""
LAW = "statements:\n  - {law: {rounded: {base: 5}}}\n"


@pytest.fixture(autouse=True)
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wards.csv").write_text(ROUNDED)
    Path("protection.yaml").write_text(LAW)
    recon("init", "wards.csv")


def test_the_unit_that_stands_for_others_is_said_to_do_so() -> None:
    said = " ".join(recon("run", "--until", "reconstruct").stdout.split())
    assert said.count("1 more unit stands for any places that the files do not list") == 2
    assert said.count("places 3") == 2
    for place in ((), ("A",), ("A_",)):
        shown = " ".join(recon("show", *place).stdout.split())
        assert "A_ stands for any place that the files do not list" in shown
    assert "A_ all that are not listed" in " ".join(recon("show", "A").stdout.split())
    assert "place A_ (all that are not listed)" in recon("show", "A_").stdout
    assert "not listed" not in recon("show", "A1").stdout


def test_the_same_number_of_places_is_told_everywhere() -> None:
    """A unit that stands for others is no place, and is told apart."""
    said = " ".join(recon("run").stdout.split())
    assert set(re.findall(r"places (\d+)", said)) == {"3"}
    assert "places 3, 3 with people; 1 more for any that are not listed" in " ".join(
        recon("show").stdout.split()
    )
    assert set(re.findall(r"(\d+) places", recon("status").stdout)) == {"3"}
    recon("report")
    page = next(Path().rglob("report.md")).read_text()
    assert "- places with people: **3**" in page
    assert set(re.findall(r"[Oo]f (\d+) places", page)) == {"3"}
    assert "Besides the places that are counted here 1 unit stands for any that are not" in page


def test_with_a_list_no_unit_stands_for_others() -> None:
    Path("list.csv").write_text("geoid\nA1\nA2\nA3\nA\n")
    text = Path("recon.yaml").read_text()
    Path("recon.yaml").write_text(text.replace("  #geounits: null", "  geounits: list.csv"))
    assert "not list" not in recon("run", "--until", "reconstruct").stdout
    assert "not list" not in recon("show").stdout
