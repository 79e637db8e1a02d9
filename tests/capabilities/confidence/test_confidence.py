"""Confidence of records against enumeration; calibration against a truth by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from recon_cli.capabilities.confidence.options import Confidence
from recon_cli.capabilities.confidence.question import measure_confidence
from recon_cli.capabilities.confidence.sampling import between_vertices, vertices
from recon_cli.capabilities.reconstruct.question import reconstruct
from recon_cli.capabilities.score.confidence import calibration, sum_confidence
from recon_cli.capabilities.score.control import Control
from recon_cli.capabilities.score.rates import Rules
from recon_cli.capabilities.solvar.histogram import histogram_columns
from recon_cli.model.bounds import propagate
from recon_cli.model.components import split_components
from recon_cli.model.counts import arrange_counts
from recon_cli.model.planning import make_plan
from recon_cli.model.system import build_systems
from recon_cli.page.sizes import Sizes
from tests.support.enumeration import TooManyError, solutions
from tests.support.populations import publish, random_records, random_release, random_units
from tests.support.properties import SEEDS, examples


@examples(25)
@given(seed=SEEDS, people=st.integers(1, 6))
# Of sizes that no table tells apart one candidate is left in a reconstruction, and four here: what
# is certain of the other people follows from one bound, and not from the sum of four.
@example(seed=750, people=2)
def test_confidence_lies_between_what_solutions_show(seed: int, people: int) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 3)
    published = publish(release, random_records(release, seed, people, units), units)
    assume(release.geography.unit.name in published.geounits["level"])
    try:
        every = solutions(release, published, release.tables, limit=600)
    except TooManyError:
        assume(False)
        raise
    columns = histogram_columns(release, release.tables, published.coverage)
    microdata = reconstruct(release, published, release.tables, seed=1).microdata
    found = measure_confidence(
        release, published, release.tables, microdata, Confidence(seed=2, solutions=4)
    )
    key = [release.geoid_column, *columns]
    assert found.select(key).equals(microdata.select(key))
    assert (found["confidence"].is_null() == found["certain"]).all()

    def labels(unit: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
        shown: list[Any] = [unit]
        for name in columns:
            group = release.column_groups(name)
            f = release.feature_index[group.feature]
            at = release.features[f].position[values[f]]
            both = zip(group.labels, group.masks, strict=True)
            shown.append(next(label for label, mask in both if mask >> at & 1))
        return tuple(shown)

    histograms = []
    for solution in every:
        counted: Counter[tuple[Any, ...]] = Counter()
        for (unit, values), n in solution:
            counted[labels(unit, values)] += n
        histograms.append(counted)
    for (*cell,), rows in found.group_by(key, maintain_order=True):
        lower, held = int(rows["certain"].sum()), rows.height
        least = min(h[tuple(cell)] for h in histograms)
        assert lower <= least
        same = [pl.col(name) == value for name, value in zip(key, cell, strict=True)]
        assert microdata.filter(*same)["certain"].sum() <= least
        if lower == held:
            continue
        shares = [(min(h[tuple(cell)], held) - lower) / (held - lower) for h in histograms]
        value = rows["confidence"].drop_nulls().unique()
        assert len(value) == 1
        assert min(shares) - 1e-9 <= value[0] <= max(shares) + 1e-9


def test_sampled_solutions_are_solutions_and_repeatable() -> None:
    sampled = 0
    for seed in range(30):
        release = random_release(seed)
        units = random_units(release, seed, 3)
        published = publish(release, random_records(release, seed, 40, units), units)
        if release.geography.unit.name not in published.geounits["level"]:
            continue
        plan = make_plan(release, release.tables, published.coverage)
        for system in build_systems(plan, arrange_counts(plan, published)):
            regions = system.regions[system.candidates.unit]
            for component in split_components(system.rows, propagate(system.rows), regions):
                for draw in (vertices, between_vertices):
                    drawn = draw(component.program, [1, 2, 3])
                    assert all(component.program.is_feasible(values) for values in drawn)
                    assert np.array_equal(drawn, draw(component.program, [1, 2, 3]))
                sampled += 1
    assert sampled > 10


def test_calibration_by_hand() -> None:
    rows = pl.DataFrame(
        {
            "geoid_block": ["a", "a", "a", "b", "b", "b"],
            "race": [1, 1, 2, 1, 1, 3],
            "certain": [True, False, False, False, False, False],
            "confidence": [None, 0.55, 0.5, 1.0, 1.0, None],
        }
    )
    # a: one further race 1 beside the certain one is true, race 2 is not; b: one of two is
    truth = pl.DataFrame({"geoid_block": ["a", "a", "b", "b"], "race": [1, 1, 1, 2]})
    sums = sum_confidence(rows, truth, partition="x", resamples=50, seed=1)
    table = calibration(sums, "CEF", Rules(Sizes((1,)), Control(0), 95.0))
    shown = table.select("tenth", "records", "confidence_pct", "right_pct").rows()
    assert shown == [(5, 2.0, pytest.approx(52.5), 50.0), (9, 2.0, 100.0, 50.0)]
    assert table.select((pl.col("low") <= pl.col("right_pct")).all()).item()
    small = calibration(sums, "CEF", Rules(Sizes((1,)), Control(3), 95.0))
    assert small["withheld"].all()
    assert small["right_pct"].null_count() == 2
