"""Columns that count some of the people of the column before them, not of all."""

from __future__ import annotations

import shlex
from pathlib import Path

import polars as pl
import pytest

from tests.support.command_line import audit_drafted, recon

JOBS = """Area,Total,Employed,{some} women,Unemployed,{some} long-term
Nord,120,90,41,30,12
Süd,240,200,99,40,*
Ost,95,80,30,15,4
West,77,70,30,7,*
"""
FLAGS = ("--count", "Women", "--count", "Long-term")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("some", ["of which", "darunter", "dont"])
def test_what_stands_behind_a_part_is_no_more_than_it(some: str) -> None:
    assert _largest(JOBS.format(some=some)) == [7, 40]


def test_a_flag_says_so_where_no_word_does() -> None:
    text = JOBS.format(some="").replace(" women", "Women").replace(" long-term", "Long-term")

    assert _largest(text, *FLAGS) == [7, 40]


@pytest.mark.parametrize(
    ("flags", "largest"),
    [
        (("--sum", "Unemployed = of which long-term + ..."), [7, 40]),
        (("--count", "of which long-term"), [77, 240]),
    ],
)
def test_behind_the_last_part_alone_it_is_asked(flags: tuple[str, str], largest: list[int]) -> None:
    text = JOBS.format(some="of which").replace(",of which women", "")
    lines = [",".join(line.split(",")[:3] + line.split(",")[-2:]) for line in text.splitlines()]
    text = "\n".join(lines) + "\n"
    Path("jobs.csv").write_text(text, encoding="utf-8")

    asked = recon("init", "jobs.csv", code=2)

    assert "some of 'Unemployed', which stands before, or of 'Total'?" in asked.output
    assert shlex.join(flags) in asked.output
    assert _largest(text, *flags) == largest


def test_of_a_line_that_is_no_part_of_a_sum_it_is_asked() -> None:
    text = "Area,Total,Working,of which women\nA,120,80,31\nB,95,60,*\nC,77,50,22\nD,60,30,*\n"
    Path("jobs.csv").write_text(text, encoding="utf-8")

    asked = recon("init", "jobs.csv", code=2)

    flags = "--sum", "Working = of which women + ..."
    assert shlex.join(flags) in asked.output
    assert _largest(text, *flags) == [30, 60]


def test_more_of_some_than_of_all_is_refused() -> None:
    Path("jobs.csv").write_text(JOBS.format(some="of which"), encoding="utf-8")

    refused = recon("init", "jobs.csv", "--sum", "Unemployed = of which women + ...", code=4)

    assert "'of which women' is more somewhere" in refused.output


def test_rows_may_be_some_of_the_row_before_them() -> None:
    text = "Group,A,B\nTotal,120,83\nEmployed,90,63\nUnemployed,30,20\nof which long-term,*,*\n"

    apart = "--apart", "A", "--apart", "B"

    assert _largest(text, *apart, "--sum", "Unemployed = of which long-term + ...") == [20, 30]


def _largest(text: str, *flags: str) -> list[int]:
    """Return what the two stars may be at most."""
    Path("jobs.csv").write_text(text, encoding="utf-8")
    recon("init", "jobs.csv", *flags)
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    return sorted(found["greatest"].to_list())


@pytest.mark.parametrize(
    "text",
    [
        "Area,Men,Women\nTotal,31,43\nAsh,10,15\nElm,21,28\n",
        "Area,Kind,Count\nAsh,Men,10\nAsh,Women,9\nElm,Men,4\nElm,Women,9\n"
        "Total,Men,14\nTotal,Women,18\n",
    ],
)
def test_places_have_no_others_beside(text: str) -> None:
    Path("jobs.csv").write_text(text, encoding="utf-8")

    refused = recon("init", "jobs.csv", "--sum", "Total = Ash + ...", code=4)

    assert "say '...' of what is counted, in columns, rows or values, and not" in refused.output


def test_rows_below_another_that_has_others_in_it() -> None:
    """The offered answer made each a property of its own: a * of at most 13 was 0 to 21."""
    Path("a.csv").write_text(
        "Cause,All,Male,Female\nAll causes,50,25,25\nInfectious,9,4,5\nNeoplasms,21,12,9\n"
        "  Lung,8,5,3\n  Breast,*,0,*\nCirculatory,20,9,11\n"
    )
    said = "Neoplasms = Neoplasms / Lung + Neoplasms / Breast + ..."
    asked = recon("init", "a.csv", code=2).output
    assert f"--sum '{said}'" in asked

    recon("init", "a.csv", "--sum", said)
    audit_drafted()
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert found["greatest"].max() == 6
