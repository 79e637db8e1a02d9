"""Statistics that nobody prints who has the counts: which, and what would fit."""

from __future__ import annotations

import polars as pl
import pytest

import recon_cli as recon
from recon_cli import Protection, Statement
from recon_cli.errors import ContradictionError
from recon_cli.statement import parse_law

RELEASE = recon.parse_release(
    """
release: wards
title: Wards
features:
  sex: {categories: [female, male]}
  age: {range: 0..60}
geography: {levels: [{level: ward, digits: 2}, {level: city, digits: 1}], partition: city}
microdata: [sex, age]
histogram: [sex]
families:
  - levels: [ward]
    cells: [total, {by: sex}]
    tables: {COUNT: {}}
  - levels: [ward]
    cells: [total, {by: sex}]
    tables:
      MEAN: {statistic: {mean: age}}
      OLDEST: {statistic: {maximum: age}}
""",
    source="schema.yaml",
)
COUNTS = {1: "7", 2: "3", 3: "4"}


def contradiction(*statistics: tuple[str, int, str], counts: dict[int, str] | None = None) -> str:
    given = COUNTS if counts is None else counts
    rows = [("W5", "COUNT", number, text) for number, text in given.items()]
    rows += [("W5", *each) for each in statistics]
    schema = {"geoid": pl.String, "table": pl.String, "cell": pl.Int64, "count": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    law = Statement(parse_law({"suppressed": {"below": 3}}), ("COUNT",))
    published = recon.publish(RELEASE, frame, protection=Protection((law,)))
    with pytest.raises(ContradictionError) as error:
        recon.audit_counts(RELEASE, published)
    return str(error.value)


def test_a_mean_that_no_sum_of_whole_numbers_has() -> None:
    message = contradiction(("MEAN", 1, "34.61"))
    assert "W5 table MEAN cell 1: 34.61 is no mean of 7 whole numbers; nearest 34.57, 34.71" in (
        message
    )


def test_statistics_that_contradict_each_other_are_all_named() -> None:
    message = contradiction(("MEAN", 1, "34.57"), ("OLDEST", 1, "20"), ("OLDEST", 2, "20"))
    assert "prints all of W5 table MEAN cell 1: 34.57" in message
    assert "W5 table OLDEST cell 1: 20; nearest 35" in message
    assert "OLDEST cell 2" not in message


def test_a_mean_of_nobody() -> None:
    message = contradiction(("MEAN", 2, "34.00"), counts={1: "4", 2: "0", 3: "4"})
    assert "W5 table MEAN cell 2: 34.00 is a mean of nobody" in message


def test_counts_that_contradict_each_other_are_told_of_first() -> None:
    message = contradiction(("MEAN", 1, "34.61"), counts={1: "9", 2: "3", 3: "4"})
    assert "published counts contradict each other" in message
