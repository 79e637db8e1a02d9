"""Users `<5`, records `<5`, median 1, mean 1.33, from files to the verdict: 1, 1 and 2 records."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.support.command_line import recon

PICKED = ", ".join(f"{value}: {value.bit_count()}" for value in range(1, 16))
SCHEMA = f"""
release: drugs
title: Users by number of records
record: user
features: {{records: {{multiselect: [first, second, third, fourth]}}}}
recodes: {{number: {{of: records, picked: 1..4}}}}
geography: {{levels: [{{level: drug, digits: 2}}, {{level: all, digits: 1}}], partition: all}}
microdata: [records, number]
histogram: [number]
families:
  - levels: [drug]
    cells: [total]
    tables:
      USERS: {{}}
      MEAN: {{statistic: {{mean: records, values: &picked {{{PICKED}}}}}}}
      MEDIAN: {{statistic: {{median: records, definition: middle, values: *picked}}}}
  - levels: [drug]
    cells: [{{tally: records}}]
    tables: {{RECORDS: {{}}}}
"""
COUNTS = "geoid,table,cell,value\nD1,USERS,1,<5\nD1,RECORDS,1,<5\n"
LAW = """release: drugs
statements:
  - {tables: [USERS, RECORDS], markers: ["<5"], law: {suppressed: {below: 5}}}
"""
CONFIG = """release: schema.yaml
work: work
ingest: {source: tidy, paths: [counts.csv], protection: law.yaml}
audit:
reconstruct:
solvar:
claims:
prove:
check:
  rules:
    - {recovered: {from: 1, below: 5, published: false}, most: 0}
    - {certain_records: {}, most: 0}
"""


@pytest.mark.parametrize(
    ("texts", "ends"),
    [
        ("", {"USERS": (1, 4), "RECORDS": (1, 4)}),
        ("D1,MEDIAN,1,1\n", {"USERS": (1, 4), "RECORDS": (1, 4)}),
        ("D1,MEDIAN,1,1\nD1,MEAN,1,1.33\n", {"USERS": (3, 3), "RECORDS": (4, 4)}),
    ],
)
def test_from_files_to_the_verdict(
    tmp_path: Path, texts: str, ends: dict[str, tuple[int, int]]
) -> None:
    """ConcePTION-Level3, issue 17; with counts alone, and with the median, much is left."""
    for name, text in (("schema.yaml", SCHEMA), ("counts.csv", COUNTS + texts), ("law.yaml", LAW)):
        (tmp_path / name).write_text(text)
    (tmp_path / "run.yaml").write_text(CONFIG)
    recon("run", "-c", tmp_path / "run.yaml", "-q")
    read = {
        name: pl.read_parquet(tmp_path / f"work/{name}/**/*.parquet", hive_partitioning=False)
        for name in ("audit", "claims", "solvar", "proofs")
    }
    told = {row["table"]: row for row in read["audit"].iter_rows(named=True)}
    assert {table: (row["least"], row["greatest"]) for table, row in told.items()} == ends
    is_settled = ends["USERS"][0] == ends["USERS"][1]
    said = recon("check", "-c", tmp_path / "run.yaml", code=20 if texts else 0).output
    assert ("3 of 3 users" in said) == is_settled
    if is_settled:
        claims = read["claims"].filter("exact").select("number", "count").rows()
        assert sorted(claims) == [(1, 2), (2, 1)]
        assert read["solvar"]["solvar_upper_pct"].to_list() == [0.0]
        assert (read["proofs"]["status"] == "certified").sum() >= read["proofs"].height - 1
