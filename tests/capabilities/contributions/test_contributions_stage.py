"""`recon contributions`: a ranked list of what tables, levels and features add."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

import recon_cli as recon_api
from tests.support import layouts
from tests.support.command_line import recon

COUNTS = layouts.counts_of(
    {
        "340210001001000": [3, 0, 1, 2, 0, 0],
        "340210001001001": [1, 0, 0, 0, 1, 0],
        "340210002002000": [1, 2, 0, 0, 0, 1],
    }
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    schema = layouts.SCHEMA.replace(
        "    tables: {P99",
        "    tables: {AGES: {}, P99",  # the same cells twice
    )
    (tmp_path / "sexage.yaml").write_text(schema)
    release = recon_api.parse_release(schema, source="sexage.yaml")
    rows = [
        {"geoid": geoid, "table": table, "cell": cell, "count": count}
        for geoid, row in COUNTS.items()
        for table in release.table_by_name
        for cell, count in enumerate(row, start=1)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "counts.csv")
    content = {
        "release": "sexage.yaml",
        "work": "work",
        "ingest": {"source": "tidy", "paths": ["counts.csv"]},
        "reconstruct": {},
        "contributions": {"without": {"both": ["AGES", "P99"]}, "orders": 5},
        "report": {},
    }
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def test_tables_that_say_the_same_share_what_both_add(config: Path) -> None:
    recon("run", "-c", config, "--workers", "1")
    work = config.parent / "work"
    ranked = pl.read_parquet(work / "contributions" / "contributions.parquet")
    rows = {row["left_out"]: row for row in ranked.iter_rows(named=True)}
    assert list(rows) == ["all", *list(rows)[1:3], "both", "numbers of people"]
    people = sum(row[0] for geoid, row in COUNTS.items() if len(geoid) == 15)
    assert rows["all"]["certain"] == people  # one table of all there is
    assert rows["AGES"]["certain_added"] == rows["P99"]["certain_added"] == 0
    assert rows["both"]["certain_added"] == people
    assert rows["AGES"]["certain_shapley"] + rows["P99"]["certain_shapley"] == people
    page = (work / "report" / "report.html").read_text()
    assert "Which parts do the damage" in page
    assert "contributions: up to date" in recon("contributions", "-c", config).stdout


def test_levels_and_features_are_parts_too(config: Path) -> None:
    recon("ingest", "-c", config)
    for parts, names in (("levels", {"block", "tract"}), ("features", {"sex", "age"})):
        arguments = ("-c", config, "--parts", parts, "--workers", "1")
        recon("contributions", *arguments, "--set", "contributions.orders=0")
        ranked = pl.read_parquet(config.parent / "work/contributions/contributions.parquet")
        assert set(ranked.filter(kind=parts)["left_out"]) == names
        assert ranked["certain_shapley"].null_count() == ranked.height


def test_unknown_tables_are_refused(config: Path) -> None:
    setting = "contributions.without={both: [P98]}"
    error = recon("contributions", "-c", config, "--set", setting, code=2).stderr
    assert "contributions.without.both: no table 'P98' in release 'sexage'" in error
