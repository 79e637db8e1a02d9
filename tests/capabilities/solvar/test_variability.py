"""Solvar, diameter, intervals and certain records against enumeration of every solution."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from recon_cli.capabilities.reconstruct.question import reconstruct
from recon_cli.capabilities.solvar.options import Solvar
from recon_cli.capabilities.solvar.question import Variability, measure_variability
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from tests.support.enumeration import (
    Solution,
    TooManyError,
    relaxed_solutions,
    solutions,
    unbounded_records,
)
from tests.support.populations import (
    publish,
    random_records,
    random_release,
    random_units,
    suppressed,
)
from tests.support.properties import SEEDS, examples

Cell = tuple[str, tuple[Any, ...]]
Histogram = Counter[Cell]


def setup(seed: int, people: int, *, hide: bool) -> tuple[Release, Publication, list[Solution]]:
    release = random_release(seed)
    units = random_units(release, seed, 3)
    published = publish(release, random_records(release, seed, people, units), units)
    assume(release.geography.unit.name in published.geounits["level"])
    if hide:
        published = suppressed(release, published, seed)
    try:
        every = solutions(release, published, release.tables, limit=600)
    except TooManyError:
        assume(False)
        raise
    return release, published, sorted(every, key=sorted)


def histogram(release: Release, solution: Solution, columns: tuple[str, ...]) -> Histogram:
    groups = [release.column_groups(name) for name in columns]
    counts: Histogram = Counter()
    for (unit, values), n in solution:
        labels = []
        for group in groups:
            f = release.feature_index[group.feature]
            at = release.features[f].position[values[f]]
            places = zip(group.labels, group.masks, strict=True)
            labels.append(next(label for label, mask in places if mask >> at & 1))
        counts[unit, tuple(labels)] += n
    return counts


def distance(left: Histogram, right: Histogram, unit: str | None = None) -> int:
    keys = {key for key in (*left, *right) if unit is None or key[0] == unit}
    return sum(abs(left[key] - right[key]) for key in keys)


def found_histogram(
    microdata: pl.DataFrame, release: Release, columns: tuple[str, ...]
) -> Histogram:
    rows = microdata.select(release.geoid_column, *columns).iter_rows()
    return Counter((unit, tuple(labels)) for unit, *labels in rows)


def intervals_of(
    result: Variability, release: Release, columns: tuple[str, ...]
) -> dict[Cell, Any]:
    rows = result.intervals.select(release.geoid_column, *columns, "lower", "upper").iter_rows()
    return {(unit, tuple(labels)): (low, high) for unit, *labels, low, high in rows}


def percentage(distance: int, people: int) -> float:
    """Of twice the people; of nobody, all if another solution has people there."""
    if not people:
        return 100.0 if distance else 0.0
    return 100 * distance / (2 * people)


def check(
    release: Release,
    published: Publication,
    result: Variability,
    start: Histogram,
    every: list[Histogram],
) -> None:
    """Compare one measurement with all histograms of the same space, unit by unit."""
    columns = result.columns
    endless = frozenset(
        (record, 1) for record in unbounded_records(release, published, release.tables)
    )
    beyond = set(histogram(release, endless, columns))
    intervals = intervals_of(result, release, columns)
    for row in result.units.iter_rows(named=True):
        unit, people = row[release.geoid_column], row["population"]
        mine = [Counter({k: n for k, n in h.items() if k[0] == unit}) for h in every]
        cells = {key for h in mine for key in h}
        lower = {key: min(h[key] for h in mine) for key in cells}
        upper = {key: max(h[key] for h in mine) for key in cells}
        expected: dict[Cell, Any] = {
            key: (lower[key], upper[key]) for key in cells if lower[key] < upper[key] or lower[key]
        }
        expected |= {key: (lower.get(key, 0), None) for key in beyond if key[0] == unit}
        assert {key: v for key, v in intervals.items() if key[0] == unit} == expected
        assert row["certain_records"] == row["certain_upper"] == sum(lower.values())
        if row["status"] == "open":
            assert row["solvar_upper_pct"] is None
            continue
        far = max(distance(h, start, unit) for h in mine)
        percent = percentage(far, people)
        assert row["solvar_pct"] == row["solvar_upper_pct"] == pytest.approx(percent)
        assert row["status"] == "proven"
        span = max((distance(a, b, unit) for a, b in itertools.combinations(mine, 2)), default=0)
        percent = percentage(span, people)
        assert row["diameter_pct"] == row["diameter_upper_pct"] == pytest.approx(percent)
        assert far <= span <= 2 * far


@examples(25)
@given(seed=SEEDS, people=st.integers(0, 5), hide=st.booleans())
def test_exact_equals_enumeration(seed: int, people: int, hide: bool) -> None:
    release, published, every = setup(seed, people, hide=hide)
    microdata = reconstruct(release, published, release.tables, seed=seed).microdata
    question = Solvar(mode="exact", seed=1, unit_seconds=10.0, diameter=True)
    result = measure_variability(release, published, release.tables, microdata, question)
    start = found_histogram(microdata, release, result.columns)
    histograms = [histogram(release, solution, result.columns) for solution in every]
    check(release, published, result, start, histograms)
    within = release.region.enclosing
    for row in result.regions.iter_rows(named=True):
        region = row["geoid"]
        inside = [
            Counter({k: n for k, n in h.items() if within(k[0]) == region}) for h in histograms
        ]
        here = Counter({k: n for k, n in start.items() if within(k[0]) == region})
        far = max(distance(h, here) for h in inside)
        people = row["population"]
        if row["status"] == "open":
            continue
        assert row["solvar_pct"] == row["solvar_upper_pct"]
        assert row["solvar_pct"] == pytest.approx(percentage(far, people))


def relaxed_histograms(
    release: Release, published: Publication, columns: tuple[str, ...]
) -> dict[str, list[Histogram]]:
    """For each unit the histograms that its own tables allow and coarser cells have room for."""
    spaces = relaxed_solutions(release, published, limit=600)
    return {
        geoid: [histogram(release, solution, columns) for solution in space]
        for geoid, space in spaces.items()
    }


@examples(25)
@given(seed=SEEDS, people=st.integers(0, 5))
def test_relaxed_equals_enumeration(seed: int, people: int) -> None:
    release, published, _ = setup(seed, people, hide=False)
    microdata = reconstruct(release, published, release.tables, seed=seed).microdata
    question = Solvar(mode="relaxed", seed=1, unit_seconds=10.0, diameter=True)
    result = measure_variability(release, published, release.tables, microdata, question)
    start = found_histogram(microdata, release, result.columns)
    try:
        spaces = relaxed_histograms(release, published, result.columns)
    except TooManyError:
        assume(False)
        raise
    for geoid, space in spaces.items():
        part = result.only(geoid)
        check(release, published, part, start, space)


def compare(
    release: Release, published: Publication, tables: tuple[Table, ...], microdata: pl.DataFrame
) -> tuple[Variability, Variability]:
    exact, relaxed = (
        measure_variability(
            release,
            published,
            tables,
            microdata,
            Solvar(mode=mode, seed=1, unit_seconds=10.0, diameter=True),
        )
        for mode in ("exact", "relaxed")
    )
    return exact, relaxed


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=SEEDS, people=st.integers(1, 12))
def test_more_tables_and_more_equalities_only_narrow(seed: int, people: int) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 4)
    published = publish(release, random_records(release, seed, people, units), units)
    unit = release.geography.unit.name
    own = tuple(table for table in release.tables if unit in table.levels)
    assume(own)
    # The same start for all: a solution of the strongest system is one of every weaker system.
    microdata = reconstruct(release, published, release.tables, seed=seed).microdata
    exact, relaxed = compare(release, published, release.tables, microdata)
    weak_exact, weak_relaxed = compare(release, published, own, microdata)
    assume(exact.columns == weak_exact.columns)
    for strong, weak in ((exact, relaxed), (exact, weak_exact), (relaxed, weak_relaxed)):
        narrower(release, strong, weak)
    for one in (exact, relaxed, weak_exact, weak_relaxed):
        for row in one.units.iter_rows(named=True):
            cap = min(2 * row["solvar_pct"], 100.0)
            assert row["solvar_pct"] - 1e-9 <= row["diameter_pct"] <= cap + 1e-9


def narrower(release: Release, strong: Variability, weak: Variability) -> None:
    for left, right in zip(
        strong.units.iter_rows(named=True), weak.units.iter_rows(named=True), strict=True
    ):
        assert left["solvar_pct"] <= right["solvar_pct"] + 1e-9
        assert left["diameter_pct"] <= right["diameter_pct"] + 1e-9
        assert left["certain_records"] >= right["certain_records"]
    wide = intervals_of(weak, release, weak.columns)
    for cell, (low, high) in intervals_of(strong, release, strong.columns).items():
        least, most = wide[cell]
        assert least <= low
        assert high <= most


@examples(25)
@given(seed=SEEDS, people=st.integers(0, 5))
def test_solvar_is_the_same_without_exact_intervals(seed: int, people: int) -> None:
    release, published, _ = setup(seed, people, hide=False)
    microdata = reconstruct(release, published, release.tables, seed=seed).microdata
    for mode in ("relaxed", "exact"):
        exact, fast = (
            measure_variability(
                release,
                published,
                release.tables,
                microdata,
                Solvar(mode=mode, seed=1, unit_seconds=10.0, intervals=intervals),
            )
            for intervals in ("exact", "propagation")
        )
        same = ["solvar_pct", "solvar_upper_pct", "status"]
        assert exact.units.select(same).equals(fast.units.select(same))
        assert (fast.units["certain_records"] <= exact.units["certain_records"]).all()
        assert (fast.units["certain_upper"] >= exact.units["certain_upper"]).all()
        narrow = intervals_of(exact, release, exact.columns)
        wide = intervals_of(fast, release, fast.columns)
        assert all(
            wide[cell][0] <= low and high <= wide[cell][1] for cell, (low, high) in narrow.items()
        )
