"""What parts of a publication add, against enumeration of all that is left without them."""

from __future__ import annotations

import itertools
import random

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import recon_cli as recon
from recon_cli.capabilities.claims.groups import claim_columns
from recon_cli.capabilities.contributions.leaving_out import prove, published_tables
from recon_cli.capabilities.contributions.parts import Part, PartKind, parts_of, restrict, without
from recon_cli.capabilities.contributions.ranking import (
    Proven,
    attacks_needed,
    draw_orders,
    rank_contributions,
    shapley_values,
)
from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.seeding import generator
from tests.capabilities.claims.test_claims import (
    OPTIONS,
    expected_claims,
    expected_disclosures,
    groups_of,
    released,
)
from tests.support import layouts
from tests.support.enumeration import TooManyError, relaxed_solutions
from tests.support.properties import SEEDS, examples

RELEASE = recon.parse_release(layouts.SCHEMA, source="sexage.yaml")
KINDS: tuple[PartKind, ...] = ("tables", "levels", "features")


def by_enumeration(release: Release, published: Publication, whole: tuple[str, ...]) -> Proven:
    """What all solutions of each unit share, by plain search."""
    columns = claim_columns(
        release, published_tables(release, published.coverage), published.coverage
    )
    total = Proven()
    if not columns:
        return total
    for unit, space in relaxed_solutions(release, published, limit=400).items():
        every = [groups_of(release, each, columns, unit) for each in space]
        claims = expected_claims(every, len(columns))
        records = sum(n for key, (n, _) in claims.items() if None not in key)
        total += Proven(
            certain=records if columns == whole else 0,
            disclosed=expected_disclosures(every, len(columns))[1],
            claims=len(claims),
        )
    return total


@examples(10)
@given(seed=SEEDS, people=st.integers(1, 4), kind=st.sampled_from(KINDS))
def test_what_is_proven_without_a_part_equals_enumeration(
    seed: int, people: int, kind: PartKind
) -> None:
    release, published = released(2 * seed, people, exact=True)
    coverage, tables = published.coverage, release.tables
    assume(all(pattern.total_cell(release) for pattern in coverage))
    columns = claim_columns(release, tables, coverage)
    for part in parts_of(release, tables, coverage, kind):
        rest = without(release, tables, coverage, [part])
        left = restrict(published, rest)
        try:
            expected = by_enumeration(release, left, columns)
        except TooManyError:
            assume(False)
            raise
        found = prove(release, rest, [left], columns, OPTIONS, is_exact=True)
        assert found == expected, part


def test_numbers_of_people_stay_and_the_rest_of_a_part_goes() -> None:
    counts = layouts.counts_of({"340210001001000": [3, 0, 1, 12, 5, 0]})
    frame = pl.DataFrame(
        [
            {"geoid": geoid, "table": "P99", "cell": cell, "count": count}
            for geoid, row in counts.items()
            for cell, count in enumerate(row, start=1)
        ]
    )
    published = recon.publish(RELEASE, frame)

    def left(*parts: Part) -> dict[str, list[int]]:
        rest = restrict(
            published, without(RELEASE, RELEASE.tables, published.coverage, list(parts))
        )
        assert rest.geounits["population"].to_list() == published.geounits["population"].to_list()
        rows = rest.counts.group_by("geoid").agg(pl.col("cell").sort())
        levels = {11: "tract", 15: "block"}
        return {levels[len(geoid)]: cells for geoid, cells in rows.iter_rows()}

    published_cells = left()
    assert published_cells["block"] == published_cells["tract"]
    assert left(Part("tables", "P99")) == {"block": [1], "tract": [1]}
    assert left(Part("levels", "tract")) == {"block": published_cells["block"], "tract": [1]}
    by_sex = left(Part("features", "age"))["block"]
    assert set(by_sex) <= {1, 5, 9}  # everybody, and by sex alone
    names = {
        part.name for part in parts_of(RELEASE, RELEASE.tables, published.coverage, "features")
    }
    assert names == {"sex", "age"}


def test_shapley_values_of_all_orders_equal_their_definition() -> None:
    draw = random.Random(3)  # noqa: S311 - cases of a test
    players = "abcd"
    worth = {
        frozenset(chosen): draw.randint(0, 9)
        for size in range(5)
        for chosen in itertools.combinations(players, size)
    }
    orders = list(itertools.permutations(players))
    found = shapley_values(orders, lambda there: worth[there])
    for player in players:
        others = [p for p in players if p != player]
        value = 0.0
        for size in range(4):
            for chosen in itertools.combinations(others, size):
                there = frozenset(chosen)
                share = 1 / (4 * len(list(itertools.combinations(others, size))))
                value += share * (worth[there | {player}] - worth[there])
        assert found[player].value == pytest.approx(value)
    whole = worth[frozenset(players)] - worth[frozenset()]
    assert sum(each.value for each in found.values()) == pytest.approx(whole)


def test_the_list_begins_with_what_adds_most_and_sums_of_each_order_are_the_whole() -> None:
    parts = [Part("tables", name) for name in "ABC"]
    sets = {"A and B": frozenset(parts[:2])}
    orders = draw_orders(parts, 4, generator(1, "test"))
    needed = attacks_needed(parts, sets, orders)
    assert len(needed) == len(set(needed))
    # A and B say the same; C adds to either
    proven = {
        out: Proven(disclosed=0 if frozenset(parts[:2]) <= out else 5 if parts[2] in out else 7)
        for out in needed
    }
    ranked = rank_contributions(parts, sets, orders, proven)
    assert ranked["left_out"].to_list()[0] == "all"
    assert ranked["left_out"].to_list()[-2:] == ["A and B", "numbers of people"]
    rows = {row["left_out"]: row for row in ranked.iter_rows(named=True)}
    assert [rows[name]["disclosed_added"] for name in "ABC"] == [0, 0, 2]
    assert rows["A and B"]["disclosed_added"] == 7
    assert sum(rows[name]["disclosed_shapley"] for name in "ABC") == pytest.approx(7)
    assert rows["C"]["disclosed_error"] is not None
