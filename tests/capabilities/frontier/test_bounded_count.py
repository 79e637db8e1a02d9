"""Counts with a public bound: explicit mechanisms are those of the linear program."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recon_cli.capabilities.frontier.bounded_count import (
    bounded_count,
    count_intervals,
    fair,
    fair_rows,
    honest_rows,
    rightest,
    truncated_geometric,
)
from tests.support.command_line import recon
from tests.support.paths import ROOT

SETTINGS = [(most, epsilon) for most in (1, 2, 3, 4, 7, 8) for epsilon in (0.2, math.log(2), 2.0)]


@pytest.mark.parametrize(("most", "epsilon"), SETTINGS)
def test_explicit_mechanisms_are_private_and_the_best(most: int, epsilon: float) -> None:
    for P in (truncated_geometric(most, epsilon), fair(most, epsilon)):
        assert P.sum(axis=0) == pytest.approx(1)
        ratio = np.log(P[:, 1:] / P[:, :-1])
        assert np.abs(ratio).max() <= epsilon + 1e-12
    right = np.diag(fair(most, epsilon))
    assert right == pytest.approx(right[0])
    assert rightest(most, epsilon, [fair_rows(most)]) == pytest.approx(right[0])
    geometric = np.diag(truncated_geometric(most, epsilon)).mean()
    assert rightest(most, epsilon) == pytest.approx(geometric)


@pytest.mark.parametrize("most", [2, 3, 8, 9])
def test_the_scale_of_fair_mechanisms_differs_by_parity(most: int) -> None:
    alpha = math.exp(-0.5)
    even = (1 - alpha) / (1 + alpha - 2 * alpha ** (most / 2 + 1))
    odd = (1 - alpha) / ((1 + alpha) * (1 - alpha ** ((most + 1) / 2)))
    assert fair(most, 0.5)[0, 0] == pytest.approx(odd if most % 2 else even)


def test_honest_is_between_fair_and_geometric() -> None:
    rows = bounded_count(6, [0.3, 0.69, 0.7, 3.0])
    for uniform, one, other, best in rows.select(
        "uniform", "fair", "honest", "geometric"
    ).iter_rows():
        assert uniform < one <= other + 1e-7
        assert other <= best + 1e-7
    assert rows["is_honest"].to_list() == [False, False, True, True]  # ln 2 = 0.693
    equal = rows.filter("is_honest")
    assert equal["honest"].to_list() == pytest.approx(equal["geometric"].to_list())
    assert honest_rows(6).shape == (42, 49)


def test_intervals_of_ten() -> None:
    found = count_intervals(10, [0.5]).filter(pl.col("published").is_in([0, 3, 10]))
    assert found.select("low", "high").rows() == [(0, 6), (0, 9), (4, 10)]


def test_the_page_has_the_section(tmp_path: Path) -> None:
    asked = ["--set", "frontier.tables=[PATIENTS]", "--set", "frontier.at_most=10"]
    recon("plan", "frontier", "-c", ROOT / "configs" / "clinic.yaml", "--work", tmp_path, *asked)
    page = (tmp_path / "frontier" / "frontier.md").read_text()
    assert "A small count" in page
    assert pl.read_csv(tmp_path / "frontier" / "count_intervals.csv").height == 7 * 11
