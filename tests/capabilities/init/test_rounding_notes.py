"""A note on rounding beside counts that are not all multiples of one number."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from recon_cli.cli import main
from tests.support.command_line import recon

IN_PART = """Claimants (rounded to the nearest 5) and population
Area,Population,Claimants,Male,Female
Ayr,3511,75,35,40
Bute,4344,70,35,35
Crail,3153,55,20,35
Doune,4706,15,10,*
Total,15714,215,100,115
"""
FLAGS = ("--count", "Population", "--total", "Claimants")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _told(text: str, *flags: str, code: int = 0) -> str:
    Path("a.csv").write_text(text, encoding="utf-8")
    return " ".join(recon("init", "a.csv", *flags, code=code).output.split())


def test_columns_that_are_rounded_beside_one_that_is_not() -> None:
    """All were taken as exact: 5 was recovered, where 1 to 9 is possible."""
    told = _told(IN_PART, *FLAGS, code=2)
    assert "'Claimants', 'Male', 'Female' are multiples of 5, and 'Population' not" in told

    assert "all are multiples of 5" in _told(IN_PART, *FLAGS[2:], "--leave-out", "Population")
    assert "whether counts are rounded" not in _told(
        IN_PART, *FLAGS, "--rounded", "none", "--force"
    )


@pytest.mark.parametrize(
    "note", ["Counts are randomly rounded.", "Alle Zahlen wurden gerundet", "Chiffres arrondis"]
)
def test_a_note_that_no_number_bears_out_is_told(note: str) -> None:
    text = "Area,All,Men,Women\nAyr,12,5,7\nBute,21,10,11\nCrail,17,9,8\n\n"

    assert f"whether counts are rounded: a note says '{note}'" in _told(text + note + "\n")
    assert "rounded" not in _told(text + "Source: the register\n", "--force")


def test_how_counts_are_rounded_is_answered_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.csv").write_text(IN_PART, encoding="utf-8")
    monkeypatch.setattr("recon_cli.capabilities.init.command.is_terminal", lambda: True)

    done = CliRunner().invoke(main, ["init", "a.csv", *FLAGS], input="2\n")

    assert done.exit_code == 0, done.output
    assert "2  none is rounded  (--rounded none)" in done.output
