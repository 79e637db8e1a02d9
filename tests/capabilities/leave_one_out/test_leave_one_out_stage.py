"""`recon leave-one-out` as a user runs it: from a synthetic population to the page."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from tests.support.command_line import recon
from tests.support.paths import ROOT

CONFIG = """\
release: sf1_2010
work: work
seed: 3
synth:
  people: 400
tabulate:
  records: work/persons
  to: tables.parquet
ingest:
  source: tidy
  paths: [tables.parquet]
reconstruct:
leave_one_out:
  solutions: 2
report:
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("left_out")
    (folder / "run.yaml").write_text(CONFIG)
    recon("run", "-c", folder / "run.yaml", "-q")
    return folder


def rows_of(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "work/leave_one_out/**/*.parquet", hive_partitioning=False)


def test_everybody_is_left_out_once_and_a_second_run_has_nothing_to_do(work: Path) -> None:
    rows = rows_of(work)
    assert rows["people"].sum() == 400
    assert rows["chance"].is_between(0, 1).all()
    # without a record that nobody else has, it cannot be certain
    alone = rows.filter(pl.col("people") == 1)
    assert not alone["certain_without"].any()
    again = recon("leave-one-out", "-c", work / "run.yaml")
    assert "up to date" in again.stdout
    assert "people left out  400" in again.stdout
    assert "People unlike most of their " in again.stdout
    assert "modal" not in again.stdout


def test_own_answers_of_nonmodal_people_give_away_more(work: Path) -> None:
    table = pl.read_csv(work / "work/leave_one_out/differences.csv")
    whole = table.filter(block_size="All", measure="chance")
    points = dict(whole.select("panel", "difference").iter_rows())
    assert points["nonmodal"] > points["modal"] > 0
    assert (whole["low"] < whole["difference"]).all()
    assert (whole["difference"] < whole["high"]).all()


def test_the_page_has_it(work: Path) -> None:
    page = (work / "work/report/report.html").read_text()
    assert "own answer gives away" in page
    text = (work / "work/report/report.md").read_text()
    section = text.partition("own answer gives away")[2]
    assert all(words in section for words in ("the whole record is certain", "with them %"))


def test_files_page_has_the_columns(work: Path) -> None:
    page = (ROOT / "docs" / "files.md").read_text()
    section = page.partition("### `leave_one_out/`")[2].partition("\n## ")[0]
    said = set(
        re.findall(r"`([\w<>]+)`", "".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)))
    )
    own = {"sex", "agebin", "race", "hispanic"}
    assert {name.replace("<unit>", "block") for name in said} == set(rows_of(work).columns) - own


def test_the_number_of_workers_changes_nothing(work: Path) -> None:
    before = rows_of(work)
    recon("leave-one-out", "-c", work / "run.yaml", "--workers", 2, "--force", "-q")
    assert rows_of(work).equals(before)


def test_other_records_are_refused(work: Path, tmp_path: Path) -> None:
    people = pl.read_parquet(work / "work/persons/**/*.parquet", hive_partitioning=False)
    people.filter(pl.int_range(pl.len()) > 0).write_parquet(tmp_path / "others.parquet")
    shared = ["leave-one-out", "-c", work / "run.yaml"]
    told = recon(*shared, "--set", f"leave_one_out.records={tmp_path / 'others.parquet'}", code=4)
    assert "give the records that were tabulated" in told.stderr
    told = recon(*shared, "--set", "leave_one_out.gains=[sex, nothing]", code=3)
    assert "nothing" in told.stderr
