"""Slivers against every union of areas."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import recon_cli as recon
from recon_cli.capabilities.slivers.question import (
    Sliver,
    areas_in_words,
    find_slivers,
    sliver_counts,
)
from recon_cli.schema import Membership, Release, parse_release
from tests.support.properties import SEEDS, examples

SCHEMA = """
release: people
title: People
features: {sex: {categories: [female, male]}}
geography:
  unit: atom
  areas: [{area: ward, within: district}, {area: district}, {area: square}]
microdata: [sex]
histogram: [sex]
families:
  - {levels: [ward, district, square], cells: [total, {by: sex}], tables: {T1: {}}}
"""
SYSTEMS = ("ward", "district", "square")


def world(seed: int) -> tuple[Release, pl.DataFrame]:
    """A release of eight atoms in four wards, two districts and four squares, and its people."""
    rng = np.random.default_rng(seed)
    wards = rng.integers(4, size=8)
    squares = [None if rng.random() < 0.1 else f"S{rng.integers(4)}" for _ in range(8)]
    codes = pl.DataFrame(
        {
            "atom": [f"x{i}" for i in range(8)],
            "ward": [None if rng.random() < 0.1 else f"W{w}" for w in wards],
            "district": [f"D{w // 2}" for w in wards],
            "square": squares,
        }
    )
    release = parse_release(SCHEMA, source="s").with_membership(Membership("l", codes, str(seed)))
    people = pl.DataFrame(
        {
            "geoid_atom": [f"x{i}" for i in rng.integers(8, size=20)],
            "sex": [("female", "male")[i] for i in rng.integers(2, size=20)],
        }
    )
    return release, people


def unions(release: Release) -> list[tuple[np.ndarray, int]]:
    """Every union of units that is a sum of areas, each taken at most once or taken off once."""
    units = pl.Series([f"x{i}" for i in range(8)])
    areas = [
        (release.geography.by_name[name].enclosing(units) == area).fill_null(value=False).to_numpy()
        for name in SYSTEMS
        for area in sorted(set(release.geography.by_name[name].enclosing(units).drop_nulls()))
    ]
    signs = np.array(list(itertools.product((-1, 0, 1), repeat=len(areas))))
    total = signs @ np.array(areas, dtype=int)
    kept = (total.min(axis=1) >= 0) & (total.max(axis=1) <= 1) & total.any(axis=1)
    taken = np.abs(signs).sum(axis=1)
    return [(total[at].astype(bool), int(taken[at])) for at in np.flatnonzero(kept)]


@examples(25)
@given(seed=SEEDS)
def test_slivers_are_the_least_populated_unions(seed: int) -> None:
    release, people = world(seed)
    published = recon.publish(release, recon.tabulate(release, people))
    inhabitants = [people.filter(geoid_atom=f"x{i}").height for i in range(8)]
    slivers = find_slivers(release, published, 1000)
    least = dict.fromkeys(range(8), 1001)
    for sliver in slivers:
        members = [int(unit[1:]) for unit in sliver.units]
        assert sum(inhabitants[at] for at in members) == sliver.people > 0
        inside = np.zeros(8, dtype=int)
        for area, times in sliver.areas:
            inside += times * np.array(
                [release.geography.inside(f"x{i}", area) for i in range(8)], dtype=int
            )
        assert np.flatnonzero(inside).tolist() == members
        assert inside.max() == 1
        assert len(sliver.areas) > 1
        for at in members:
            least[at] = min(least[at], sliver.people)
    possible = unions(release)
    for at in range(8):
        around = [
            (int(np.array(inhabitants)[union].sum()), areas)
            for union, areas in possible
            if union[at]
        ]
        smallest = min((n for n, _ in around), default=None)
        if smallest and not any(areas == 1 and n == smallest for n, areas in around):
            assert least[at] == smallest


def test_the_counts_of_a_sliver_follow() -> None:
    codes = pl.DataFrame(
        {
            "atom": ["x1", "x2", "x3"],
            "ward": ["E05", "E05", "E06"],
            "district": ["D1"] * 3,
            "square": ["S17", "S18", "S18"],
        }
    )
    release = parse_release(SCHEMA, source="s").with_membership(Membership("l", codes, "d"))
    people = pl.DataFrame(
        {"geoid_atom": ["x1"] * 12 + ["x2"] * 2 + ["x3"] * 10, "sex": ["female"] * 23 + ["male"]}
    )
    published = recon.publish(release, recon.tabulate(release, people))
    (sliver,) = find_slivers(release, published, 10)
    assert sliver == Sliver(("x2",), (("E05", 1), ("S17", -1)), 2)
    assert areas_in_words(release, sliver) == "ward E05 − square S17"
    assert sliver_counts(published, [sliver]).rows() == [
        ("x2", "T1", 1, 2, 2),
        ("x2", "T1", 2, 2, 2),
    ]
    assert find_slivers(release, published, 2) == []


def test_totals_that_are_not_exact_give_no_sliver() -> None:
    release, people = world(1)
    law = recon.parse_law({"rounded": {"base": 3}})
    protection = recon.Protection((recon.Statement(law),))
    counts = recon.tabulate(release, people).with_columns(
        count=(pl.col("count") / 3).round().cast(pl.Int32) * 3
    )
    published = recon.publish(release, counts, protection=protection)
    assert find_slivers(release, published, 1000) == []


def test_an_area_with_fewer_people_than_a_part_of_it_is_refused() -> None:
    release, people = world(2)
    counts = recon.tabulate(release, people).with_columns(
        count=pl.when(pl.col("geoid").str.starts_with("D"))
        .then(1)
        .otherwise("count")
        .cast(pl.Int32)
    )
    published = recon.publish(release, counts)
    with pytest.raises(recon.ReconError, match="contradict each other"):
        find_slivers(release, published, 10)


def test_a_zone_below_the_threshold_is_what_the_others_leave() -> None:
    """Zone M2 is withheld; the squares that M1 and M3 lie in, less these two, give it away.

    As of diffman's ``toy_example_6``, which has other numbers.
    """
    people = {
        ("M1", "c1"): 16,
        ("M1", "c2"): 14,
        ("M2", "c2"): 7,
        ("M2", "c3"): 3,
        ("M3", "c1"): 21,
        ("M3", "c3"): 18,
        ("M4", "c4"): 13,
        ("M5", "c4"): 12,
    }
    schema = SCHEMA.replace("{area: ward, within: district}, {area: district}", "{area: ward}")
    schema = schema.replace("ward, district, square", "ward, square")
    codes = pl.DataFrame(
        {
            "atom": [f"{zone}{other}" for zone, other in people],
            "ward": [zone for zone, _ in people],
            "square": [other for _, other in people],
        }
    )
    release = parse_release(schema, source="s").with_membership(Membership("l", codes, "d"))
    totals: dict[str, int] = {}
    for areas, number in people.items():
        for area in areas:
            totals[area] = totals.get(area, 0) + number
    assert {area for area, number in totals.items() if number < 11} == {"M2"}
    rows = [(area, "T1", 1, number) for area, number in totals.items() if area != "M2"]
    counts = pl.DataFrame(rows, schema=["geoid", "table", "cell", "count"], orient="row")
    published = recon.publish(release, counts, absent="unpublished")
    (sliver,) = find_slivers(release, published, 11)
    assert sliver == Sliver(
        ("M2c2", "M2c3"), (("c1", 1), ("c2", 1), ("c3", 1), ("M1", -1), ("M3", -1)), 10
    )
