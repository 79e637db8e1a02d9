"""What stars hide the sums of is read as what others of its name are, or asked about."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.support.command_line import audit_drafted, recon

NESTED = """\
Group,Total,Single,Married
All persons,231,114,117
   15-24,116,55,61
      Men,60,25,35
      Women,56,30,26
   25+,115,59,56
      Men,32,16,16
      Women,83,43,40
Nationals,189,96,93
   15-24,92,45,47
      Men,53,24,29
      Women,39,21,18
   25+,97,51,46
      Men,29,14,15
      Women,68,37,31
EU,42,18,24
   15-24,24,10,14
      Men,7,1,6
      Women,17,9,8
   25+,18,8,10
      Men,*,*,*
      Women,15,6,9
"""
BESIDE_PERCENTAGES = """\
Practice,All,0-17,18+,Asthma All,%,Asthma 0-17,%,Asthma 18+,%
Abbey,100,30,70,14,14.0,5,16.7,9,12.9
Burn,120,31,89,16,13.3,*,*,12,13.5
Kirk,90,20,70,13,14.4,6,30.0,7,10.0
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_rows_of_one_name_are_of_one_category() -> None:
    """18 - 15 = 3, 8 - 6 = 2, 10 - 9 = 1: with a second feature for men all read as safe."""
    Path("a.csv").write_text(NESTED)
    said = " ".join(recon("init", "a.csv", "--to", "run.yaml").stdout.split())
    assert "'EU / 25+ / Men' + 'EU / 25+ / Women': no number shows it, and others" in said
    audit_drafted("-c", "run.yaml")
    audit = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    assert sorted(audit.select("least", "greatest").rows()) == [(1, 1), (2, 2), (3, 3)]


def test_parts_of_some_people_are_told_by_their_percentages() -> None:
    """Of the children 16.7% have asthma, and of those with asthma the children are the rest."""
    Path("b.csv").write_text(BESIDE_PERCENTAGES)
    recon("init", "b.csv")
    labels = yaml.safe_load(Path("recon.yaml").read_text())["ingest"]["mapping"]["labels"]
    assert labels["columns"]["Asthma 0-17"] == {"asthma_all": "asthma_all", "age": "0-17"}
    assert labels["columns"]["Asthma 18+"] == {"asthma_all": "asthma_all", "age": "18+"}
