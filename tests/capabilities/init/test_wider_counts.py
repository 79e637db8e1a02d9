"""Columns that count the people of a total, and others: all who were proceeded against."""

from __future__ import annotations

import shlex
from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.init.open_question import flag
from recon_cli.capabilities.init.recognition import recognise
from tests.support.command_line import audit_drafted, recon

COURTS = """Court,Proceeded,Convicted,Custody,Suspended,Fine
Leeds,76,54,13,18,23
York,70,54,20,18,16
Hull,53,39,20,9,10
Ripon,55,41,*,23,15
All courts,254,188,56,68,64
"""
WIDER = "Proceeded = Convicted + ..."
#: Beside it a column that is nowhere less than that.
RECORDED = "\n".join(
    line.replace(",", f",{more},", 1)
    for line, more in zip(COURTS.splitlines(), ("Recorded", 96, 90, 73, 95, 354), strict=True)
)
_ANY = 10**6


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _ends() -> list[tuple[int, int]]:
    audit_drafted("--force")
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    most = pl.col("greatest").fill_null(_ANY)
    return sorted(found.select("least", most).iter_rows())


def test_the_question_says_that_it_has_the_total_in_it() -> None:
    Path("a.csv").write_text(COURTS)
    (asked,) = recognise([Path("a.csv")]).questions
    assert list(asked.answers.values()) == [f"--sum '{WIDER}'", "--leave-out Proceeded"]
    for flags in asked.answers.values():
        recon("init", "a.csv", "--all-places", "--force", *shlex.split(flags))
        assert _ends() == [(3, 3)]


def test_a_count_of_it_is_the_whole(tmp_path: Path) -> None:
    """The narrower total was everybody, and the audit found a contradiction."""
    Path("a.csv").write_text(COURTS)
    told = recon("init", "a.csv", "--all-places", "--count", "Proceeded").output
    assert "'Convicted' is among 'Proceeded': nowhere more, and taken so" in " ".join(told.split())
    assert _ends() == [(3, 3)]


def test_two_of_them_may_be_each_some_of_the_next() -> None:
    Path("a.csv").write_text(RECORDED)
    (asked,) = recognise([Path("a.csv")]).questions
    flags = asked.answers["each counts some of the next"]
    assert flags == f"--sum '{WIDER}' --sum 'Recorded = Proceeded + ...'"
    said = recon("init", "a.csv", "--sum", WIDER, code=2).output
    assert "--sum 'Recorded = Proceeded + ...'" in said
    recon("init", "a.csv", "--all-places", *shlex.split(flags))
    assert _ends() == [(3, 3)]


def test_two_that_are_counted_bound_no_other() -> None:
    Path("a.csv").write_text(RECORDED.replace("41,*,23", "*,*,23").replace(",188,56,", ",*,*,"))
    recon("init", "a.csv", "--all-places", "--count", "Proceeded", "--count", "Recorded")
    recorded = 95  # in Ripon: those who are convicted may be others
    assert all(most > recorded for _, most in _ends())


def test_a_total_that_is_divided_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Non-EU stood in no relation, and 24 was 21 to 32 with the answers that were offered."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(
        "Area,EU,Other Europe,Europe,Rest of world,Non-EU,World\nTotal,82,28,110,13,41,123\n"
        "Ayr,26,17,43,6,23,49\nBute,*,*,32,*,11,35\nCrail,*,*,*,*,*,21\nDoune,*,*,18,0,*,18\n"
    )
    sums = ("World = EU + Non-EU", "Non-EU = Other Europe + Rest of world")
    asked = recon("init", "a.csv", code=2).output
    assert f"{flag('sum', *sums)}  'Non-EU' adds up so: {', and '.join(sums)}" in asked

    totals = ("--total", "Europe", "--total", "World")
    recon("init", "a.csv", *(w for each in sums for w in ("--sum", each)), *totals, "--all-places")
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert (24, 24) in [*found.select("least", "greatest").iter_rows()]
