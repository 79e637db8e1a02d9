"""Printed statistics in tidy files: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recon_cli import Protection, Statement, publish, read_published
from recon_cli.errors import ConfigError, SourceError
from recon_cli.publication import Publication
from recon_cli.schema import parse_release
from recon_cli.statement import load_protection, parse_law

RELEASE = parse_release(
    """
release: wards
title: Wards
features:
  sex: {categories: [female, male]}
  age_years: {range: 0..110}
geography: {levels: [{level: ward, digits: 2}, {level: city, digits: 1}], partition: city}
microdata: [sex, age_years]
histogram: [sex]
families:
  - levels: [ward]
    cells: [total, {by: sex}]
    tables: {COUNT: {}}
  - levels: [ward]
    cells: [total, {by: sex}]
    tables:
      MEAN_AGE: {statistic: {mean: age_years}}
      OLDEST: {statistic: {maximum: age_years}}
  - levels: [ward]
    cells: [total]
    tables: {PCT: {statistic: {share: {sex: female}}}}
""",
    source="schema.yaml",
)
COUNTS = [("W5", "COUNT", 1, "7"), ("W5", "COUNT", 2, "3"), ("W5", "COUNT", 3, "4")]
PRINTED = Statement(parse_law("printed"), ("MEAN_AGE", "OLDEST", "PCT"))


def published(
    *rows: tuple[str, str, int, str], statements: tuple[Statement, ...] = ()
) -> Publication:
    schema = {"geoid": pl.String, "table": pl.String, "cell": pl.Int64, "value": pl.String}
    frame = pl.DataFrame([*COUNTS, *rows], schema=schema, orient="row")
    return publish(RELEASE, frame, protection=Protection((*statements, PRINTED)))


def test_statistics_stand_beside_counts_as_they_were_printed() -> None:
    found = published(("W5", "MEAN_AGE", 1, " 34.60"), ("W5", "OLDEST", 2, "61"))
    assert found.statistics.rows() == [("W5", "MEAN_AGE", 1, "34.60"), ("W5", "OLDEST", 2, "61")]
    assert set(found.counts["table"]) == {"COUNT"}


def test_withheld_statistics_prove_nothing_and_are_dropped() -> None:
    withheld = Statement(parse_law("withheld"), ("PCT",), markers=("*",))
    found = published(("W5", "PCT", 1, "*"), statements=(withheld,))
    assert found.statistics.is_empty()


def test_a_text_for_nobody_is_kept() -> None:
    nobody = Statement(parse_law({"printed": {"no_base": "-"}}), ("MEAN_AGE",))
    found = published(("W5", "MEAN_AGE", 2, "-"), statements=(nobody,))
    assert found.statistics["text"].to_list() == ["-"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("W5", "MEAN_AGE", 2, "134.0"), "cell 2: 134.0 is above the greatest age_years, 110"),
        (("W5", "OLDEST", 1, "61.5"), "W5 table OLDEST cell 1: 61.5 is no value of age_years"),
        (("W5", "PCT", 1, "104.2"), "PCT cell 1: 104.2 of at most 100"),
        (("W5", "MEAN_AGE", 1, "34,6"), "a decimal point, found '34,6'; say decimal: \",\""),
        (("W5", "PCT", 1, "34.6%"), "drop '%'"),
        (("W5", "PCT", 1, "*"), "declare its marker as `law: {withheld: {}}`"),
        (("W5", "PCT", 2, "3"), "table PCT: expected a cell from 1 to 1, found 2"),
        (("W", "PCT", 1, "3"), "is not published at level city"),
        (("W6", "PCT", 1, "3"), "a statistic of a place without counts"),
    ],
)  # fmt: skip
def test_what_is_no_such_statistic_is_refused(row: tuple[str, str, int, str], message: str) -> None:
    with pytest.raises(SourceError) as error:
        published(row)
    assert message in str(error.value)


def test_a_mean_whose_ends_reach_the_range_is_read() -> None:
    assert published(("W5", "MEAN_AGE", 1, "110.0")).statistics.height == 1


def test_a_statistic_that_occurs_twice_is_refused() -> None:
    with pytest.raises(SourceError, match="table PCT, cell 1 occurs twice"):
        published(("W5", "PCT", 1, "43"), ("W5", "PCT", 1, "43"))


def test_a_decimal_comma_is_declared() -> None:
    comma = Statement(parse_law({"printed": {"decimal": ","}}), ("MEAN_AGE",))
    assert published(("W5", "MEAN_AGE", 1, "34,6"), statements=(comma,)).statistics.height == 1
    with pytest.raises(SourceError, match=r"expected a decimal comma, found '34\.6'"):
        published(("W5", "MEAN_AGE", 1, "34.6"), statements=(comma,))


def test_numbers_of_parquet_need_their_decimals(tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    rows = [("W5", "COUNT", 1, 7.0), ("W5", "PCT", 1, 43.0)]
    pl.DataFrame(rows, schema=["geoid", "table", "cell", "value"], orient="row").write_parquet(path)
    with pytest.raises(SourceError, match="has lost its trailing zeros; declare"):
        read_published(RELEASE, [path], protection=Protection((PRINTED,)))
    law = Statement(parse_law({"printed": {"decimals": 1}}), ("PCT",))
    assert read_published(RELEASE, [path], protection=Protection((law,))).statistics.height == 1


def test_files_of_csv_may_hold_statistics_alone(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text("geoid,table,cell,count\nW5,COUNT,1,7\n")
    (tmp_path / "means.csv").write_text("geoid,table,cell,value\nW5,MEAN_AGE,1,34.57\n")
    found = read_published(RELEASE, [tmp_path])
    assert found.statistics["text"].to_list() == ["34.57"]
    assert found.counts.height == 1


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("{tables: [COUNT], law: printed}", "printed is a law of statistics; COUNT has counts"),
        ("{law: printed}", "printed is a law of statistics; name the tables"),
        ("{tables: [PCT], law: exact}", "exact is a law of counts, PCT has statistics"),
        ("{tables: [PCT], markers: ['*'], law: printed}", "publishes numbers only"),
        ("{tables: [PCT], law: {printed: {ties: nearest}}}", "ties"),
    ],
)
def test_laws_of_the_wrong_kind_are_refused(tmp_path: Path, statement: str, message: str) -> None:
    path = tmp_path / "protection.yaml"
    path.write_text(f"statements:\n  - {statement}\n")
    with pytest.raises(ConfigError, match=message):
        load_protection(path, RELEASE)
