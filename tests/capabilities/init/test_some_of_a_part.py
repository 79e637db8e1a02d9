"""Columns that count some of the people of the column before them, not of all."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.support.command_line import recon

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


def test_behind_the_last_part_alone_it_is_told() -> None:
    text = JOBS.format(some="of which").replace(",of which women", "")
    lines = [",".join(line.split(",")[:3] + line.split(",")[-2:]) for line in text.splitlines()]
    Path("jobs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")

    told = recon("init", "jobs.csv")

    assert "whether 'of which long-term' is of 'Unemployed' alone" in " ".join(told.output.split())


def _largest(text: str, *flags: str) -> list[int]:
    """Return what the two stars may be at most."""
    Path("jobs.csv").write_text(text, encoding="utf-8")
    recon("init", "jobs.csv", *flags)
    recon("run", "-q", "--until", "audit")
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    return sorted(found["greatest"].to_list())
