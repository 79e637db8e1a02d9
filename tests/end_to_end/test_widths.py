"""Runs whose counts nothing bounds, or whose numbers are too large: nothing false, one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from tests.support.command_line import recon
from tests.support.paths import SHARED, needs_shared

pytestmark = needs_shared


def case(name: str, folder: Path) -> Path:
    """A copy of one of the cases that version 0.2.0 gets wrong."""
    return Path(shutil.copytree(SHARED / "cases" / name, folder / name))


def table(work: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(work / name / "**" / "*.parquet")


def test_what_nothing_bounds_has_no_maximum(tmp_path: Path) -> None:
    folder = case("open-maximum", tmp_path)
    recon("run", "-c", folder / "recon.yaml")
    assert table(folder / "work", "intervals").rows() == [
        ("A101", "f", 1, None, False),
        ("A101", "m", 3, 3, True),
        ("A102", "f", 4, 4, True),
    ]


def test_what_nothing_bounds_has_a_row(tmp_path: Path) -> None:
    folder = case("missing-interval-rows", tmp_path)
    recon("run", "-c", folder / "recon.yaml")
    assert table(folder / "work", "intervals").rows() == [
        ("A101", "f", 2, 2, True),
        ("A101", "m", 0, None, False),
        ("A102", "f", 1, 1, True),
        ("A102", "m", 1, 1, True),
    ]


def test_engines_agree_where_nothing_bounds(tmp_path: Path) -> None:
    folder = case("engines-disagree", tmp_path)
    recon("run", "-c", folder / "recon.yaml")
    audit = table(folder / "work", "audit")
    assert audit.select("least", "greatest", "status").unique().rows() == [(1, None, "safe")]


def test_sums_of_counts_do_not_wrap(tmp_path: Path) -> None:
    folder = case("hostile", tmp_path)
    result = recon("run", "-c", folder / "huge.yaml", code=4)
    assert "6,442,450,941" in result.output
    assert "geoid A101: a count of 2,147,483,647; one partition holds at most" in result.output


def test_a_chart_without_a_value_says_so(tmp_path: Path) -> None:
    folder = case("empty-chart", tmp_path)
    recon("run", "-c", folder / "c2.yaml")
    page = (folder / "w2" / "report" / "report.html").read_text(encoding="utf-8")
    assert "Nothing is drawn: every number is withheld or unknown." in page


@pytest.mark.parametrize("value", [".inf", "-.inf", ".nan", "-1", "1.0e+300", "9" * 40])
def test_numbers_that_are_none_are_refused(value: str, tmp_path: Path) -> None:
    folder = case("empty-chart", tmp_path)
    config = folder / "capacity.yaml"
    config.write_text(
        "release: town.yaml\nwork: work\ningest: {source: tidy, paths: [tidy.csv]}\n"
        f"capacity:\n  sd: [{value}]\n",
        encoding="utf-8",
    )
    result = recon("run", "-c", config, code=2)
    assert "capacity.yaml:5: capacity.sd" in result.output
