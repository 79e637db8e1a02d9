"""`recon attribute`: what is proven of people by name, in private alone."""

from __future__ import annotations

import stat
from pathlib import Path

import polars as pl
import pytest

from recon_cli.errors import ConfigError, SourceError, StageError
from tests.support.command_line import recon

SCHEMA = """\
release: pupils
title: Pupils by sex and stage
features:
  sex: {categories: [girl, boy]}
  stage: {categories: [lower, upper]}
geography: {levels: [{level: school, digits: 4}], partition: school}
microdata: [sex, stage]
histogram: [sex, stage]
families:
  - levels: [school]
    cells: [total, {by: sex, cells: [total, {by: stage}]}]
    tables: {PUPILS: {}}
"""
#: Girls of the first school are in the lower stage, which no single count says; its boys are not.
COUNTS = """\
geoid,table,cell,count
A101,PUPILS,1,8
A101,PUPILS,2,5
A101,PUPILS,3,5
A101,PUPILS,4,*
A101,PUPILS,5,3
A101,PUPILS,6,*
A101,PUPILS,7,*
A102,PUPILS,1,4
A102,PUPILS,2,0
A102,PUPILS,5,4
A102,PUPILS,6,0
A102,PUPILS,7,4
"""
LIST = """\
School,Name,Gender
A101,Ida Berg,F
A101,Max Ort,M
A102,Eva Tal,F
A102,Jan Feld,M
A102,Kim Au,
"""
CONFIG = """\
release: pupils.schema.yaml
work: work
workers: 1
ingest: {source: tidy, paths: [pupils.csv]}
reconstruct:
solvar: {mode: exact}
attribute:
  attackers:
    LIST:
      path: list.csv
      columns: {School: geoid_school, Gender: sex}
      values: {sex: {F: girl, M: boy}}
      id: Name
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """An office's tables, and a list of some of its pupils."""
    (tmp_path / "pupils.schema.yaml").write_text(SCHEMA)
    (tmp_path / "pupils.csv").write_text(COUNTS)
    law = "{suppressed: {below: 3, flagged: may-be-zero}}"
    text = f"statements:\n  - {{markers: ['*'], law: {law}}}\n"
    (tmp_path / "protection.yaml").write_text(text)
    (tmp_path / "list.csv").write_text(LIST)
    (tmp_path / "run.yaml").write_text(CONFIG)
    return tmp_path / "run.yaml"


def test_what_is_proven_of_whom_is_private(config: Path) -> None:
    shown = recon("run", "-c", config, "--log-json", "-").output
    folder = config.parent / "work" / "private" / "attribute" / "attributed"
    rows = pl.read_csv(folder / "attributed.csv").rows()
    assert rows == [
        ("LIST", "Ida Berg", "A101", "stage", "lower", 5, 5, 1, "PUPILS_2 = 5; PUPILS_3 = 5"),
        ("LIST", "Jan Feld", "A102", "stage", "upper", 4, 4, 1, "PUPILS_6 = 0"),
        ("LIST", "Kim Au", "A102", "sex", "boy", 4, 4, 1, "PUPILS_2 = 0"),
        ("LIST", "Kim Au", "A102", "stage", "upper", 4, 4, 1, "PUPILS_1 = 4; PUPILS_7 = 4"),
    ]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in (config.parent / "work").rglob("*"):
        if path.is_file() and folder not in path.parents:
            assert b"Ida Berg" not in path.read_bytes(), path
    assert "Ida" not in shown
    assert "of whom something is proven  3 (60.0%)" in recon("attribute", "-c", config).stdout
    recon("report", "-q", "-c", config)
    page = (config.parent / "work" / "report" / "report.html").read_text()
    assert "Ida" not in page


def test_codes_that_nobody_knows_are_refused_and_not_repeated(config: Path) -> None:
    config.write_text(CONFIG.replace("M: boy", "X: boy"))
    told = recon("run", "-q", "-c", config, code=SourceError.exit_code).stderr
    assert "attribute.attackers.LIST: " in told
    assert "column 'sex': 1 value is not the release's" in told


def test_people_of_other_places_are_refused(config: Path) -> None:
    (config.parent / "list.csv").write_text(LIST.replace("A10", "B10"))
    told = recon("run", "-q", "-c", config, code=SourceError.exit_code).stderr
    assert "5 of 5 records are in places that the tables do not have" in told


def test_who_it_is_must_be_said(config: Path) -> None:
    config.write_text(CONFIG.replace("      id: Name\n", ""))
    told = recon("run", "-q", "-c", config, code=ConfigError.exit_code).stderr
    assert "attribute.attackers.LIST: no column 'name', which says who somebody is" in told


def test_intervals_come_first(config: Path) -> None:
    recon("run", "-q", "-c", config, "--until", "reconstruct")
    told = recon("attribute", "-c", config, code=StageError.exit_code).stderr
    assert "there is no solvar/ in the work folder; run `recon solvar`" in told


def test_more_names_than_records_are_not_all_proven_and_a_repeated_name_is_one(
    config: Path,
) -> None:
    """Four boys at most are in A102; six are listed, one of them twice."""
    boys = [f"A102,Boy {number},M" for number in (1, 2, 3, 4, 5, 6, 6)]
    (config.parent / "list.csv").write_text("\n".join(["School,Name,Gender", *boys, ""]))
    shown = " ".join(recon("run", "-c", config).stdout.split())
    assert "known people 6" in shown
    assert "something is proven 4 (66.7%)" in shown
    assert "2 more names than the tables have records" in shown
    assert "1 row of the lists repeat" in shown
    folder = config.parent / "work" / "private" / "attribute" / "attributed"
    rows = pl.read_csv(folder / "attributed.csv").filter(pl.col("column") == "stage")
    assert rows.select("most", "names").unique().rows() == [(4, 6)]
    assert rows["id"].to_list() == [f"Boy {number}" for number in range(1, 7)]
