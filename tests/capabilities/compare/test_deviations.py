"""Deviations of what is published from the truth, against plain counting."""

from __future__ import annotations

import math
import random

import polars as pl
import pytest

from recon_cli.capabilities.compare.errors import (
    DEVIATIONS,
    count_deviations,
    distribution,
    units_all_below,
)
from tests.capabilities.compare.test_errors import RELEASE, TRUTH, published


def test_geounits_are_counted_by_how_far_off_they_are() -> None:
    found = count_deviations(RELEASE, published(TRUTH), published(TRUTH))
    assert found["deviation"].to_list() == [0] * len(found)
    units = published(TRUTH).geounits
    by_level = dict(found.group_by("level").agg(pl.col("geounits").sum()).rows())
    assert by_level == dict(units.group_by("level").len().rows())


@pytest.mark.parametrize("seed", range(5))
def test_quantiles_are_the_least_that_so_many_do_not_exceed(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - cases of a test
    draws = [[draw.randint(-9, 9) for _ in range(draw.randint(1, 30))] for _ in range(2)]
    frames = [
        pl.DataFrame([("block", 0, 1, each, 1) for each in some], schema=DEVIATIONS, orient="row")
        for some in draws
    ]
    row = distribution(RELEASE, "a", "1/8", frames).filter(size="All").row(0, named=True)
    every = sorted([*draws[0], *draws[1]])
    assert row["geounits"] == len(every)
    assert row["mean"] == pytest.approx(sum(every) / len(every))
    for share in (5, 25, 50, 75, 95):
        assert row[f"q{share:02}"] == every[math.ceil(share * len(every) / 100) - 1]


def test_units_that_only_seem_to_be_all_below() -> None:
    truth = pl.DataFrame({"at": ["a", "a", "b", "c"], "age": [3, 30, 4, 40]})
    made = pl.DataFrame({"at": ["a", "b", "b", "c", "c", "d"], "age": [5, 6, 7, 8, None, 9]})
    assert units_all_below(truth, made, "at", "age", 18) == 1  # a; of d the truth has nobody
