"""Words in place of counts that are there once, and words that speak of thousands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import recon

DEATHS = (
    "County,County Code,Deaths\nAdams,39001,22\nBrown,39003,25\nClark,39005,Suppressed\n"
    "Darke,39007,31\n"
)
COUNTED = ("--leave-out", "County Code", "--count", "Deaths", "--all-places")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "said", [("--withheld", "Suppressed"), ("--below", "Suppressed=10"), ("--nil", "Suppressed")]
)
def test_a_word_is_answered_without_all_other_questions(said: tuple[str, str]) -> None:
    """``--yes`` was its only answer, and took a column of codes for everybody, too."""
    Path("a.csv").write_text(DEATHS)
    told = recon("init", "a.csv", *COUNTED, code=2).output
    assert "--withheld Suppressed" in told
    assert "--yes  " not in told
    assert "County Code" in recon("init", "a.csv", *said, code=2).output
    recon("init", "a.csv", *COUNTED, *said)


def test_a_misprint_is_no_mark_of_what_is_withheld() -> None:
    """*3x1* is 31, or a count that is not published; it was taken for that, safe or not."""
    Path("a.csv").write_text("Area,All,Men,Women\nAsh,3x1,17,14\nElm,25,13,12\nOak,40,21,19\n")
    told = recon("init", "a.csv", code=2).output
    assert "row 2, column All: '3x1' is no number" in told
    recon("init", "a.csv", "--withheld", "3x1")


def test_numbers_as_they_stand() -> None:
    Path("a.csv").write_text(
        "Persons in thousands,,,\nArea,Total,Men,Women\nAsh,31,17,14\nElm,25,13,12\nOak,40,21,19\n"
    )
    assert "--unscaled" in recon("init", "a.csv", code=2).output
    recon("init", "a.csv", "--unscaled")


def test_a_text_file_that_is_named_is_a_table() -> None:
    Path("a.txt").write_text("Area\tTotal\tMen\tWomen\nAsh\t31\t17\t14\nElm\t25\t13\t12\n")
    recon("init", "a.txt")
    Path("readme.txt").write_text("Counts of people, by area.\n")
    assert "has no counts" in recon("init", "readme.txt", "--to", "b.yaml", code=4).output
