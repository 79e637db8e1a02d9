"""Means and paired differences of a sweep, against plain arithmetic."""

from __future__ import annotations

import math
import statistics

import polars as pl
import pytest
from scipy import stats

from recon_cli.capabilities.compare.errors import DEVIATIONS, ERRORS, unit_errors
from recon_cli.capabilities.compare.protection_summary import ProtectionSummary
from recon_cli.capabilities.compare.sweep import (
    DIFFERENCES,
    SweptDraw,
    difference_table,
    sweep_table,
)
from tests.capabilities.compare.test_errors import RELEASE

#: Error of each draw: what chance does is the same for both protections and at both values.
ERRORS_OF = {
    ("a", "1"): [5.0, 1.0, 9.0],
    ("a", "8"): [3.0, -1.0, 7.5],
    ("b", "1"): [6.0, 2.0, 10.0],
    ("b", "8"): [3.0, 0.0, 8.0],
}
SIGN = {"1": 1, "8": -1}


def draw(of: str, value: str, number: int, error: float) -> SweptDraw:
    summary = ProtectionSummary(
        *(f"{of}-{value}-{number}", "", error, None, None, 0.0, 7, 0.0, None, None, None, None),
        links=12.0,
        posterior=60.0,
    )
    return SweptDraw(of, value, number, False, summary, ERRORS.to_frame())


DRAWS = [
    draw(of, value, number, error)
    for (of, value), errors in ERRORS_OF.items()
    for number, error in enumerate(errors)
]


def row_of(table: pl.DataFrame, *key: str) -> dict[str, float]:
    return table.filter(pl.concat_list(table.columns[: len(key)]) == list(key)).row(0, named=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [(("a", "8"), ("a", "1")), (("b", "8"), ("b", "1")), (("b", "8"), ("a", "8"))],
)
def test_differences_are_of_draws_with_the_same_number(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    # Draws of one value come in another order: it is their number that counts.
    table = difference_table(sorted(DRAWS, key=lambda d: (d.of, d.value, d.draw * SIGN[d.value])))
    assert table.schema == DIFFERENCES
    pairs = zip(ERRORS_OF[one], ERRORS_OF[other], strict=True)
    plain = [a - b for a, b in pairs]
    reach = stats.t.ppf(0.975, 2) * statistics.stdev(plain) / math.sqrt(3)
    row = row_of(table, *one, *other)
    assert row["mean"] == pytest.approx(statistics.mean(plain))
    assert row["low"] == pytest.approx(statistics.mean(plain) - reach)
    assert row["high"] == pytest.approx(statistics.mean(plain) + reach)
    alone = row_of(sweep_table(DRAWS), *one)
    assert row["high"] - row["low"] < (alone["high"] - alone["low"]) / 4


def test_which_are_compared_and_what_no_draw_changes() -> None:
    table = difference_table(DRAWS)
    assert set(table["measure"]) == {"error"}  # not what is proven of nobody, nor links
    pairs = table.filter(measure="error").select(DIFFERENCES.names()[:4]).rows()
    assert pairs == [
        ("a", "8", "a", "1"),
        ("b", "8", "b", "1"),
        ("b", "1", "a", "1"),
        ("b", "8", "a", "8"),
    ]


def test_one_draw_has_differences_without_an_interval() -> None:
    table = difference_table([each for each in DRAWS if each.draw == 0])
    assert table.filter(measure="error")["mean"].to_list() == [-2.0, -3.0, 1.0, 0.0]
    assert table["low"].null_count() == len(table)


def test_every_geounit_is_among_the_errors_by_unit() -> None:
    rows = [("tract", 3, 50, -2, 1), ("block", 0, 2, 1, 3), ("block", 1, 2, 1, 1)]
    found = unit_errors(RELEASE, "a", "1/8", pl.DataFrame(rows, schema=DEVIATIONS, orient="row"))
    assert found.rows() == [("a", "1/8", "block", 2, 1, 4), ("a", "1/8", "tract", 50, -2, 1)]
