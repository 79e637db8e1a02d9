"""Columns of labels of which some rows have none, or that look like numbers."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.support.command_line import audit_drafted, recon

AGES = """Sex,Age,Cancer,Injury,All causes
Males,0,*,9,12
Males,1-4,5,7,12
Males,All ages,8,16,24
Females,0,6,*,11
Females,1-4,7,8,15
Females,All ages,13,13,26
Persons,0,9,14,23
Persons,1-4,12,15,27
Persons,All ages,21,29,50
"""
SUBTOTALS = """Region,Town,0-17,18+,All
North,Hull,0,*,*
,Leeds,*,*,17
,Subtotal,*,19,29
South,Bath,*,*,0
,Poole,0,*,11
,Subtotal,*,8,8
Total,,10,27,37
"""
SELECTED = """Town,Group,Selected offence,Count
Ayr,All,,30
Ayr,Violence,,9
Ayr,Violence,Assault,*
Ayr,Theft,,21
Ayr,Theft,Burglary,8
Bute,All,,41
Bute,Violence,,16
Bute,Violence,Assault,*
Bute,Theft,,25
Bute,Theft,Burglary,11
Total,All,,71
Total,Violence,,25
Total,Violence,Assault,20
Total,Theft,,46
Total,Theft,Burglary,19
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _asked(text: str) -> str:
    Path("a.csv").write_text(text)
    return recon("init", "a.csv", code=2).output


def _ends(*flags: str) -> list[tuple[int, int]]:
    recon("init", "a.csv", *flags)
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    return sorted(found.select("least", "greatest").iter_rows())


def test_ages_with_a_total_among_them_are_labels() -> None:
    """*0* and *1-4* looked like counts, and rows of one sex like one place."""
    assert "--one-place" in _asked(AGES)

    assert _ends("--one-place") == [(3, 3), (5, 5)]


def test_towns_between_stars_are_no_flags() -> None:
    """Each had a zero or a star beside it, where flags have; rows of one region were one place."""
    asked = _asked(SUBTOTALS)

    assert "already" not in asked
    assert "'Hull'" not in asked


def test_a_blank_that_has_others_in_it() -> None:
    """Blank was both offences, or one more: a * of at most 9 was 0 to 20."""
    asked = _asked(SELECTED)
    assert "--sum '(blank) = Burglary + Assault + ...'  they are in it, and others, too" in asked

    ends = _ends("--sum", "(blank) = Burglary + Assault + ...", "--all-places")

    assert ends == [(4, 9), (11, 16)]
