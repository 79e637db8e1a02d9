"""Proofs of what printed statistics give away: from files, and of random releases."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from benchmarks.office.publication import SCHOOLS, SHARES, write
from benchmarks.printed import make_release, proven
from recon_cli import reconcheck
from tests.capabilities.prove.certificates import check
from tests.support.command_line import recon
from tests.support.properties import draws

SCHEMA = """
release: wards
title: HIV by ward
features:
  sex: {categories: [female, male]}
  age_years: {range: 18..99}
  hiv: {categories: [false, true]}
geography:
  levels: [{level: ward, digits: 2}, {level: city, digits: 1}]
  partition: city
microdata: [sex, age_years, hiv]
histogram: [sex, hiv]
families:
  - levels: [ward]
    cells: [total, {by: sex}]
    tables: {ALL: {}}
  - levels: [ward]
    cells: [{by: sex, cells: [{by: hiv}]}]
    tables: {HIV: {}}
  - levels: [ward]
    cells: [{by: sex, cells: [{where: {hiv: true}}]}]
    tables: {MEAN_AGE: {statistic: {mean: age_years}}}
  - levels: [ward]
    cells: [{by: sex}]
    tables: {PERCENT: {statistic: {share: {hiv: true}}}}
"""
COUNTS = """geoid,table,cell,value
W5,ALL,1,40
W5,ALL,2,20
W5,ALL,3,20
W5,HIV,1,x
W5,HIV,2,*
W5,HIV,3,x
W5,HIV,4,*
W5,MEAN_AGE,1,34.67
W5,PERCENT,2,5
"""
LAW = """release: wards
statements:
  - {tables: [HIV], markers: ["*"], law: {suppressed: {below: 5}}}
  - {tables: [HIV], law: {suppressed: {below: 5, complementary: true}}}
  - {tables: [PERCENT, MEAN_AGE], law: {printed: {ties: unknown}}}
"""
CONFIG = """release: schema.yaml
work: work
seed: 1
ingest: {source: tidy, paths: [counts.csv], protection: law.yaml}
"""


def write_release(folder: Path, stages: str) -> None:
    """Write a ward whose stars a mean and a percentage give away."""
    for name, text in (("schema.yaml", SCHEMA), ("counts.csv", COUNTS), ("law.yaml", LAW)):
        (folder / name).write_text(text)
    (folder / "run.yaml").write_text(CONFIG + stages)


def test_stars_that_statistics_give_away_are_certified_from_files(tmp_path: Path) -> None:
    write_release(tmp_path, "audit:\nreconstruct:\nprove:\n")
    recon("run", "-c", tmp_path / "run.yaml", "-q")
    rows = pl.read_parquet(tmp_path / "work/proofs/**/*.parquet", hive_partitioning=False)
    audited = rows.filter(source="audit")
    assert sorted(audited["statement"]) == [
        "HIV 1 is 17",
        "HIV 2 is 3",
        "HIV 3 is 19",
        "HIV 4 is 1",
    ]
    assert set(audited["status"]) == {"certified"}
    tables = (tmp_path / "work/proofs/W5.tables").read_text()
    lines = (tmp_path / "work/proofs/W5.proof").read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("set "))
    without = "\n".join([*lines[:at], *lines[lines.index("end", at) + 1 :]])
    assert check(tables, without) == [True] * 8
    # Of other texts, ties and bases some of it does not follow.
    for old, new in (
        ("unknown 34.67", "unknown 34.7"),
        ("share 100 * * 2 * * *", "share 50 * * 2 * * *"),
        ("unknown 5", "up 9"),
    ):
        assert tables.count(old) == 1
        assert not all(check(tables.replace(old, new), without))


def test_what_percentages_give_away_is_certified_over_cliques(tmp_path: Path) -> None:
    write(replace(SCHOOLS, units=3, in_district=3, shares=SHARES), tmp_path)
    config = tmp_path / "recon.yaml"
    config.write_text(config.read_text() + "reconstruct:\nprove: {what: [audit]}\n")
    recon("run", "-c", config, "-q")
    rows = pl.read_parquet(tmp_path / "work/proofs/**/*.parquet", hive_partitioning=False)
    audited = pl.read_parquet(tmp_path / "work/audit/**/*.parquet", hive_partitioning=False)
    by_counts = pl.col("least_without") == pl.col("greatest_without")
    assert audited.filter(pl.col("status") == "recovered", ~by_counts).height
    assert set(rows["status"]) == {"certified"}
    tables = (tmp_path / "work/proofs/W.tables").read_text()
    proof = (tmp_path / "work/proofs/W.proof").read_text()
    assert "\nclique " in proof
    assert all(check(tables, proof))
    lines = tables.splitlines()
    without = "\n".join(line for line in lines if not line.startswith("printed "))
    with pytest.raises(reconcheck.Refused):
        check(without, proof)


def test_proofs_of_random_releases_are_accepted_and_true() -> None:
    found = Counter[str]()
    for seed in draws(6, 12):
        found.update(proven(make_release(seed)))
    assert not found["false"] + found["not proven"]
    assert found["certified"] + found["shown"] >= 0.97 * found["statements"]
