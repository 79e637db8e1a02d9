"""Protected counts that are not what they are declared to be: a clear error, nothing published."""

from __future__ import annotations

from pathlib import Path

import pytest

from recon_cli.errors import ConfigError, ReconError, SourceError
from tests.support.command_line import recon

SCHEMA = """\
release: pupils
title: Pupils
features: {sex: {categories: [girl, boy]}}
geography: {levels: [{level: school, digits: 4}, {level: town, digits: 2}], partition: town}
microdata: [sex]
histogram: [sex]
families:
  - {levels: [school, town], cells: [total, {by: sex}], tables: {PUPILS: {}}}
"""
COUNTS = "geoid,table,cell,count\nA101,PUPILS,1,9\nA101,PUPILS,2,{}\nA101,PUPILS,3,3\n"
ENDS = "geoid,table,cell,count,low,high\nA101,PUPILS,1,,5,9\nA101,PUPILS,2,,7,4\n"
STATEMENT = "statements:\n  - law: {}\n"
PTABLE = "i;j;p\n0;0;1\n1;0;0.5\n1;2;0.4\n"


@pytest.mark.parametrize(
    ("counts", "law", "error", "message"),
    [
        (
            COUNTS.format(4),
            "{rounded: {base: 3}}",
            SourceError,
            "no true count is published as 4 by rounded",
        ),
        (
            COUNTS.format(2),
            "{suppressed: {below: 3}}",
            SourceError,
            "no true count is published as 2",
        ),
        (ENDS, "exact", SourceError, "low"),
        (COUNTS.format("?"), "{suppressed: {below: 3}}", SourceError, "'?'"),
        (
            COUNTS.format("*"),
            "{rounded: {base: 3}}",
            SourceError,
            "publishes numbers only, found '*'",
        ),
        (
            COUNTS.format("<5"),
            "{suppressed: {below: 3}}",
            SourceError,
            "counts below 3 are suppressed",
        ),
        (
            COUNTS.format(6),
            "{cellkey: {table: ptable.csv.txt}}",
            ConfigError,
            "the probabilities of count 1",
        ),
        (
            COUNTS.format(6),
            "{rounded: {base: 1}}",
            ConfigError,
            "greater than or equal to 2 (found 1)",
        ),
    ],
)
def test_a_statement_that_cannot_be_is_refused(
    tmp_path: Path, counts: str, law: str, error: type[ReconError], message: str
) -> None:
    (tmp_path / "pupils.schema.yaml").write_text(SCHEMA)
    (tmp_path / "pupils.csv").write_text(counts)
    (tmp_path / "protection.yaml").write_text(STATEMENT.format(law))
    (tmp_path / "ptable.csv.txt").write_text(PTABLE)
    (tmp_path / "pupils.yaml").write_text(
        "release: pupils.schema.yaml\nwork: work\ningest: {source: tidy, paths: [pupils.csv]}\n"
    )
    done = recon("ingest", "-c", tmp_path / "pupils.yaml", code=error.exit_code)
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "work" / "tables").exists(), "nothing is published"
