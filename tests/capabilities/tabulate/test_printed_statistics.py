"""Statistics that `recon data tabulate` prints: read again, they are those of the same records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import recon_cli as api
from recon_cli.capabilities.tabulate.statistics import print_statistics
from tests.support.command_line import recon
from tests.support.properties import draws

SCHEMA = """
release: wards
title: Tiny wards
features:
  sex: {categories: [female, male]}
  age: {range: -1..4}
  ill: {categories: [false, true]}
geography: {levels: [{level: ward, digits: 3}, {level: city, digits: 1}], partition: city}
microdata: [sex, age, ill]
histogram: [sex, age, ill]
families:
  - levels: [ward, city]
    cells: [total, {by: sex}]
    tables:
      COUNT: {}
      MEAN: {statistic: {mean: age}}
      LEAST: {statistic: {minimum: age}}
      MOST: {statistic: {maximum: age}}
      MODE: {statistic: {mode: age}}
      MIDDLE: {statistic: {median: age, definition: middle}}
      LOW: {statistic: {median: age, definition: low}}
      HIGH: {statistic: {median: age, definition: high}}
      ANY: {statistic: {median: age}}
      FIRST: {statistic: {quantile: age, order: 1/4}}
      PERCENT: {statistic: {share: {ill: true}}}
      RATE: {statistic: {share: {ill: true}, times: 1000}}
  - levels: [ward]
    cells: [total]
    tables: {RATIO: {statistic: {ratio: {sex: female}, to: {sex: male}}}}
"""
RELEASE = api.parse_release(SCHEMA, source="schema.yaml")


def people(seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    number = int(random.integers(1, 12))
    return pl.DataFrame(
        {
            RELEASE.geoid_column: random.choice(["C01", "C02"], number).tolist(),
            "sex": random.choice(["female", "male"], number).tolist(),
            "age": random.integers(-1, 5, number).tolist(),
            "ill": random.choice([False, True], number).tolist(),
        }
    )


@pytest.mark.parametrize("seed", draws(5, 12))
def test_texts_are_those_of_the_records_by_another_program(seed: int) -> None:
    """`recon verify` computes every statistic by code of its own."""
    records = people(seed)
    counts = api.tabulate(RELEASE, records).with_columns(pl.col("count").cast(pl.String))
    for decimals in (0, 1, 3):
        texts = print_statistics(RELEASE, records, None, decimals).rename({"text": "count"})
        rows = pl.concat([counts.cast(texts.schema), texts])
        given = api.publish(RELEASE, rows)
        found = api.verify(RELEASE, given, records)
        assert found.ok, found.other_statistics
        assert found.statistics_compared == texts.height > 0


def test_statistics_are_written_and_read_again(tmp_path: Path) -> None:
    people(3).write_csv(tmp_path / "people.csv")
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    for ending in ("csv", "parquet"):
        to = tmp_path / f"counts.{ending}"
        recon(
            *("data", "tabulate", tmp_path / "people.csv", "--release", tmp_path / "schema.yaml"),
            *("--to", to, "--decimals", "2", "-q"),
        )
        rows = pl.read_csv(to, infer_schema=False) if ending == "csv" else pl.read_parquet(to)
        mean = rows.filter(pl.col("table") == "MEAN")["count"].to_list()
        assert mean
        assert all(len(text.partition(".")[2]) == 2 for text in mean)
        source = f"{{source: tidy, paths: [{to.name}]}}"
        config = f"release: schema.yaml\nwork: {ending}\ningest: {source}\nreconstruct:\n"
        (tmp_path / f"{ending}.yaml").write_text(config)
        recon("ingest", "-c", tmp_path / f"{ending}.yaml", "-q")
    only = tmp_path / "only.csv"
    recon(
        *("data", "tabulate", tmp_path / "people.csv", "--release", tmp_path / "schema.yaml"),
        *("--to", only, "--tables", "COUNT", "-q"),
    )
    assert set(pl.read_csv(only)["table"]) == {"COUNT"}
    said = recon(
        *("data", "tabulate", tmp_path / "people.csv", "--release", tmp_path / "schema.yaml"),
        *("--to", tmp_path / "x.zip"),
        code=2,
    )
    assert "a legacy file has no statistics (MEAN)" in said.output
