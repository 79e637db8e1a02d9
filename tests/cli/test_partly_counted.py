"""Places of which no exact count says how many people they have, in what commands print."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import recon

SCHEMA = """\
release: t
title: t
features: {sex: {categories: [f, m]}}
geography: {levels: [{level: block, digits: 4}, {level: tract, digits: 2}], partition: tract}
microdata: [sex]
histogram: [sex]
families:
  - levels: [block, tract]
    cells: [total, {by: sex}]
    tables: {T: {}}
"""
CONFIG = """\
release: schema.yaml
work: work
ingest: {source: tidy, paths: [counts.csv], absent: unpublished, geounits: blocks.csv}
reconstruct:
solvar:
claims:
"""
#: Counts, what `ingest` and `status` say of people, and how many blocks have some.
CASES = {
    "one of two blocks": (
        "A1,T,1,*\nA1,T,2,*\nA1,T,3,3\nA101,T,1,*\nA101,T,2,*\nA101,T,3,3\n"
        "A102,T,1,4\nA102,T,2,4\nA102,T,3,0\n",
        "people at least 4 ",
        "at least 4 people",
        2,
    ),
    "none": ("A101,T,2,0\nA101,T,3,0\nA102,T,3,0\n", "people not published exactly ", "", 0),
    "all": ("A101,T,1,2\nA101,T,2,2\nA101,T,3,0\nA102,T,1,0\n", "people 2 ", "2 people", 1),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_counted_is_not_said(tmp_path: Path, case: str) -> None:
    rows, ingested, status, inhabited = CASES[case]
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    (tmp_path / "recon.yaml").write_text(CONFIG)
    (tmp_path / "blocks.csv").write_text("geoid\nA101\nA102\n")
    (tmp_path / "counts.csv").write_text("geoid,table,cell,count\n" + rows)
    if "*" in rows:
        law = "statements:\n  - {law: {suppressed: {below: 3, complementary: true}}}\n"
        (tmp_path / "protection.yaml").write_text(law)
    said = " ".join(recon("run", "-c", tmp_path / "recon.yaml").stdout.split())
    assert ingested in said
    assert said.count(f"blocks 2, {inhabited} with people") == 2  # reconstruct, solvar
    unknown = "reconstructed; the tables do not say how many"
    assert said.count(unknown) == (0 if case == "all" else 3)
    assert status in " ".join(recon("status", "-c", tmp_path / "recon.yaml").stdout.split())
