"""Claims, solvar and contributions where statistics are printed, against every population."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl

from benchmarks.printed import make_release, people_told
from recon_cli.capabilities.contributions.parts import Part, parts_of, statistics_without
from tests.capabilities.audit.test_statistics import RELEASE, STARS, published, ward
from tests.capabilities.prove.test_statistic_proofs import write_release
from tests.support.command_line import recon
from tests.support.properties import draws


def test_nothing_is_told_that_some_population_refutes() -> None:
    found = Counter[str]()
    for seed in draws(6, 12):
        found.update(people_told(make_release(seed)))
    assert not found["false"]
    assert found["exact intervals"] >= 0.8 * found["intervals"] > 0


def test_a_statistic_is_a_part_that_can_be_left_out() -> None:
    given = published(RELEASE, ward(("PCT", 1, "15"), ("MEAN_AGE", 1, "34.67")), STARS)
    parts = parts_of(RELEASE, RELEASE.tables, given.coverage, "tables")
    assert [each.name for each in parts] == ["ALL", "COUNT", "MEAN_AGE", "PCT"]
    left = statistics_without(RELEASE, [Part("tables", "PCT")])
    assert [table.name for table in left] == ["MEAN_AGE"]
    assert not statistics_without(RELEASE, [Part("features", "hiv")])
    assert not statistics_without(RELEASE, [Part("levels", "ward")])


def test_claims_and_contributions_rest_on_statistics_from_files(tmp_path: Path) -> None:
    few = "contributions: {unit_seconds: 0.02}\n"  # SCIP uses up any number
    write_release(tmp_path, "reconstruct:\nclaims: {absent: true}\nsolvar:\n" + few)
    recon("run", "-c", tmp_path / "run.yaml", "-q", "--workers", "1")
    claims = pl.read_parquet(tmp_path / "work/claims/**/*.parquet", hive_partitioning=False)
    told = claims.filter(pl.col("k") == 2, exact=True, hiv=True)
    assert dict(told.select("sex", "count").iter_rows()) == {"female": 3, "male": 1}
    solvar = pl.read_parquet(tmp_path / "work/solvar/**/*.parquet", hive_partitioning=False)
    assert solvar["solvar_upper_pct"].to_list() == [0.0]
    parts = pl.read_parquet(tmp_path / "work/contributions/contributions.parquet")
    added = dict(parts.select("left_out", "certain_added").iter_rows())
    assert added["MEAN_AGE"] > 0
    assert added["PERCENT"] > 0
