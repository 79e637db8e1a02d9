"""Costs of published counts by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import recon_cli as recon
from recon_cli.model.counts import arrange_counts
from recon_cli.model.planning import make_interval_plan
from recon_cli.schema import parse_release
from recon_cli.statement import Protection, Statement, parse_law
from recon_cli.statement.costs import SCALE, CountCosts

RELEASE = parse_release(
    "release: people\ntitle: People\nfeatures: {sex: {categories: [women, men]}}\n"
    "geography: {levels: [{level: plot, digits: 2}], partition: plot}\n"
    "microdata: [sex]\nhistogram: [sex]\n"
    "families: [{levels: [plot], cells: [total, {by: sex}], tables: {T: {}}}]\n",
    source="people",
)


def costs_under(law: object, *shown: int) -> CountCosts | None:
    """Costs of a plot's total, its women and its men; a zero has no row."""
    rows = [("A1", "T", cell, str(n)) for cell, n in enumerate(shown, 1) if n]
    counts = pl.DataFrame(rows, schema=["geoid", "table", "cell", "count"], orient="row")
    protection = Protection((Statement(parse_law(law)),))
    published = recon.publish(RELEASE, counts, protection=protection)
    plan = make_interval_plan(RELEASE, RELEASE.tables, published.coverage)
    return arrange_counts(plan, published).costs


def test_a_zero_without_a_row_costs_what_its_law_says() -> None:
    """Random rounding to 3 makes 1 a zero with 2/3, and 2 with 1/3."""
    costs = costs_under({"rounded": {"base": 3}}, 3, 3, 0)
    assert costs is not None
    (total, women, men), *others = costs.of(np.array([0])).tolist()
    assert not others
    assert total == women != men >= 0
    assert costs.likeliest[[women, men]].tolist() == [3, 0]
    steps = costs.slopes_at(np.array([men, men, women, women]), np.array([0, 1, 3, 2]))
    expected = [-math.log(2 / 3), math.log(2), -math.log(2 / 3), math.log(2 / 3)]
    assert (steps / SCALE).tolist() == pytest.approx(expected, abs=1 / SCALE)


def test_a_law_whose_counts_are_all_equally_likely_has_no_costs() -> None:
    assert costs_under({"suppressed": {"below": 3}}, 3, 3, 0) is None
    assert costs_under({"rounded": {"base": 3, "how": "controlled"}}, 3, 3, 0) is None
