"""`recon confidence` as a user runs it: a synthetic population, its truth, the page."""

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
seed: 5
synth:
  people: 500
tabulate:
  records: work/persons
  to: tables.parquet
ingest:
  source: tidy
  paths: [tables.parquet]
reconstruct:
confidence:
  solutions: 4
link:
score:
  bootstrap: 20
  threshold: 0
report:
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("confidence")
    (folder / "run.yaml").write_text(CONFIG)
    recon("run", "-c", folder / "run.yaml", "-q")
    return folder / "work"


def read(work: Path, folder: str) -> pl.DataFrame:
    return pl.read_parquet(work / folder / "**/*.parquet", hive_partitioning=False)


def test_the_rows_are_those_of_the_microdata(work: Path) -> None:
    rows, records = read(work, "confidence"), read(work, "microdata")
    assert rows["certain"].to_list() == records["certain"].to_list()
    open_records = rows.filter(~pl.col("certain"))
    assert 0 < open_records.height < rows.height
    assert open_records["confidence"].is_between(0, 1).all()
    assert rows.filter("certain")["confidence"].null_count() == rows["certain"].sum()


def test_the_score_has_every_uncertain_record(work: Path) -> None:
    table = pl.read_csv(work / "score/confidence.csv")
    rows = read(work, "confidence")
    assert table["truth"].unique().to_list() == ["CEF"]
    assert table["records"].sum() == rows["confidence"].count()
    weighted = float((table["records"] * table["confidence_pct"]).sum())
    assert weighted == pytest.approx(100 * float(rows["confidence"].drop_nulls().sum()))


def test_the_page_and_the_summary_say_that_it_is_no_proof(work: Path) -> None:
    text = (work / "report/report.md").read_text()
    section = text.partition("Confidence of records that are not certain")[2]
    assert "**confidence is no proof**" in section
    assert "Confidence beside the truth, CEF" in section
    shown = recon("confidence", "-c", work.parent / "run.yaml").stdout
    assert "up to date" in shown
    assert "tenth of confidence" in shown


def test_files_page_has_the_columns(work: Path) -> None:
    page = (ROOT / "docs" / "files.md").read_text()
    section = page.partition("### `confidence/`")[2].partition("\n## ")[0]
    said = set(re.findall(r"^\| `([\w<>]+)` \|", section, re.MULTILINE))
    own = {"sex", "agebin", "race", "hispanic"}
    found = set(read(work, "confidence").columns) - own
    assert {name.replace("<unit>", "block") for name in said} == found
