"""Passes of the user's: tolerance, larger places, ties, guesses, against maximum matching and
enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recon_cli as recon
from recon_cli.capabilities.link.links import TrueColumns, confirmed_chances
from recon_cli.capabilities.link.matching import Keys, match
from recon_cli.capabilities.link.partition import LinkageCounts
from recon_cli.capabilities.link.passes import Agreement, Pass, default_passes, passes_by_weight
from recon_cli.capabilities.link.specification import Guesser
from recon_cli.errors import ConfigError
from tests.support.attacks import KEYS, SF1, aged, attack, people, swapped
from tests.support.properties import draws

LEVELS = SF1.geography.by_name
BLOCK, GROUP, COUNTY = LEVELS["block"], LEVELS["block_group"], LEVELS["county"]
EXACT, BINNED = Pass("exact", BLOCK, ("sex", "age")), Pass("binned", BLOCK, ("sex", "agebin"))
NEAR = Pass("near_age", BLOCK, ("sex",), "age", 1)
NEARBY = Pass("nearby", GROUP, ("sex", "age"))
Values = list[tuple[int, int | None]]


def maximum_matching(left: Values, right: Values, within: int) -> int:
    """Most pairs, by augmenting paths."""
    partner: dict[int, int] = {}

    def place(i: int, seen: set[int]) -> bool:
        for j, (key, value) in enumerate(right):
            ours = left[i]
            if j in seen or key != ours[0] or value is None or ours[1] is None:
                continue
            if abs(value - ours[1]) > within:
                continue
            seen.add(j)
            if j not in partner or place(partner[j], seen):
                partner[j] = i
                return True
        return False

    return sum(place(i, set()) for i in range(len(left)))


def frame(values: Values, rng: np.random.Generator) -> pl.DataFrame:
    order = rng.permutation(len(values)).astype(np.uint64)
    columns = {"key": pl.Int64, "age": pl.Int64}
    return pl.DataFrame(values, schema=columns, orient="row").with_columns(
        pl.Series("order", order, pl.UInt64)
    )


def random_values(rng: np.random.Generator, most: int) -> Values:
    ages = rng.integers(0, int(rng.integers(2, 14)), int(rng.integers(most + 1)))
    return [(int(rng.integers(2)), None if rng.random() < 0.05 else int(a)) for a in ages]


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), within=st.integers(0, 3))
def test_a_pass_with_tolerance_makes_most_pairs(seed: int, within: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = random_values(rng, 20), random_values(rng, 20)
    found = match(frame(left, rng), frame(right, rng), {"near": Keys(["key"], "age", within)})
    assert found.height == maximum_matching(left, right, within)
    assert found["left"].is_unique().all()
    assert found["right"].is_unique().all()
    for i, j, _ in found.iter_rows():
        (key, age), (other, other_age) = left[i], right[j]
        assert key == other
        assert age is not None
        assert other_age is not None
        assert abs(age - other_age) <= within


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_tolerance_is_equality(seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = frame(random_values(rng, 40), rng), frame(random_values(rng, 40), rng)
    near = match(left, right, {"a": Keys(["key"], "age")})
    equal = match(left, right, {"a": Keys(["key", "age"])})
    assert near.sort("left").equals(equal.sort("left"))


def test_expected_links_are_the_mean_over_all_orders() -> None:
    """Every order of both files; two passes, the second of those that the first leaves."""
    gain = TrueColumns(BLOCK).gain
    passes = (EXACT, NEAR)
    keys = {each.name: Keys((each.key,), each.number, each.within) for each in passes}
    rng = np.random.default_rng(8)
    several = 0
    for _ in draws(5, 14):
        sides = []
        for column, size in (("gain", 3), (gain, 3)):
            age = rng.integers(0, 3, size)
            gains = [
                None if column == gain and rng.random() < 0.2 else int(rng.integers(2)) for _ in age
            ]
            sides.append(
                pl.DataFrame(
                    {
                        EXACT.key: age,
                        NEAR.key: np.zeros(size, np.int64),
                        NEAR.number: age,
                        column: gains,
                    },
                    schema_overrides={column: pl.Int64},
                )
            )
        source, attackers = sides
        confirmed, expected = np.zeros(2), np.zeros(2)
        outcomes = set()
        for ours in itertools.permutations(range(3)):
            for theirs in itertools.permutations(range(3)):
                orders = (pl.Series("order", order, pl.UInt64) for order in (ours, theirs))
                left, right = (s.with_columns(o) for s, o in zip(sides, orders, strict=True))
                pairs = match(left, right, keys).rename({"left": "source", "right": "attacker"})
                chances = confirmed_chances(pairs, source, attackers, passes)
                right_ones = source["gain"].gather(pairs["source"]) == attackers[gain].gather(
                    pairs["attacker"]
                )
                for number, each in enumerate(passes):
                    made = pairs["pass"].to_physical() == number
                    confirmed[number] += (right_ones.fill_null(value=False) & made).sum()
                    expected[number] += chances.filter(pl.col("pass") == each.name)["chance"].sum()
                outcomes.add(int(right_ones.sum()))
        several += len(outcomes) > 1
        assert expected == pytest.approx(confirmed)
    assert several > 3


def county(count: int = 300) -> dict[str, pl.DataFrame]:
    truth = people(count, 5)
    hdf = swapped(truth, 5)
    away = truth.select("pik", "geoid_block", "sex", "age").sample(fraction=0.7, seed=2)
    moved = pl.col("geoid_block").sort().gather(pl.int_range(pl.len()))
    elsewhere = away.with_columns(
        pl.when(pl.int_range(pl.len()) % 4 == 0)
        .then(moved)
        .otherwise("geoid_block")
        .alias("geoid_block"),
        (pl.col("age") + pl.int_range(pl.len()) % 3 - 1).clip(0, 99).cast(pl.Int16).alias("age"),
    )
    return {"truth": truth, "hdf": hdf, "reconstruction": aged(hdf, 5), "commercial": elsewhere}


def run(passes: tuple[Pass, ...], **changes: Any) -> tuple[LinkageCounts, pl.DataFrame]:
    files = county()
    return attack(
        files["truth"],
        files["hdf"],
        files["reconstruction"],
        {"COMRCL": files["commercial"]},
        attackers=("COMRCL", "CEF_atkr"),
        guessers=(Guesser("MDG", "modal", "HDF"), Guesser("PRG", "proportional", "HDF")),
        own_passes=passes,
        **changes,
    )


def test_the_studys_passes_by_name_make_the_same_links() -> None:
    _, usual = run(())
    counted, named = run((EXACT, BINNED))
    assert named.equals(usual)
    by_pass = counted.tallies.group_by("pass").agg(pl.col("putative", "confirmed").sum())
    totals = usual.group_by("pass").agg(putative=pl.len(), confirmed=pl.col("confirmed").sum())
    for name, putative, confirmed in by_pass.iter_rows():
        assert totals.row(by_predicate=pl.col("pass") == name) == (name, putative, confirmed)
    sf1 = default_passes(SF1, KEYS)
    assert [(each.name, each.same) for each in sf1] == [(e.name, e.same) for e in (EXACT, BINNED)]


def test_links_of_every_pass_are_what_they_say() -> None:
    passes = (EXACT, NEARBY, NEAR, BINNED)
    counted, links = run(passes)
    truth = county()["truth"]
    true = {row["pik"]: row for row in truth.iter_rows(named=True)}
    seen = set()
    for row in links.iter_rows(named=True):
        person = true[row["pik"]]
        place = {NEARBY.name: GROUP}.get(row["pass"], BLOCK)
        there = place.enclosing(person["geoid_block"]) == place.enclosing(row["geoid_block"])
        same_block = person["geoid_block"] == row["geoid_block"]
        same = person["sex"] == row["sex"]
        near = same_block and abs(person["age"] - row["age"]) <= 1
        in_bin = same_block and _bin(person["age"]) == row["agebin"]
        exact = person["age"] == row["age"] and (same_block or place == GROUP)
        met = there and same and (near or in_bin or exact)
        gains = (person["race"], person["hispanic"]) == (row["race"], row["hispanic"])
        assert row["confirmed"] == (met and gains), row
        seen.add((row["pass"], row["confirmed"], row["same_block"]))
    assert {name for name, _, _ in seen} == {each.name for each in passes}
    assert ("nearby", True, False) in seen
    assert not any(same and not confirmed for _, confirmed, same in seen)
    sums = counted.tallies.group_by("source", "pass").agg(
        pl.col("putative", "confirmed", "same_unit", "modal_confirmed").sum(),
    )
    made = links.group_by("source", "pass").agg(
        putative=pl.len(), confirmed=pl.col("confirmed").sum(), same_unit=pl.col("same_block").sum()
    )
    both = sums.join(made, on=["source", "pass"], suffix="_links")
    assert both.height == sums.height
    for name in ("putative", "confirmed", "same_unit"):
        assert (both[name] == both[f"{name}_links"]).all()
    modal = both.filter(source="MDG")
    assert (modal["modal_confirmed"] == modal["confirmed"]).all()


def test_guessers_guess_for_the_attackers_unit() -> None:
    _, links = run((NEARBY,))
    guesses = links.filter(source="MDG").select("geoid_block", "race", "hispanic").unique()
    assert guesses["geoid_block"].is_unique().all()


def _bin(age: int) -> int:
    return max(int(edge) for edge in SF1.recode_by_name["agebin"].labels if int(edge) <= age)


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ((EXACT, EXACT), "passes.exact: two passes have that name"),
        ((Pass("p", LEVELS["state"], ("sex",)),), "'state' is coarser than 'county'"),
        ((Pass("p", BLOCK, ("sex", "shoe")),), "no place, feature or recode 'shoe'"),
        ((Pass("p", BLOCK, ("sex", "race")),), "'race' is of no feature of link.exact"),
        ((Pass("p", BLOCK, ("age",), "sex", 1),), "'sex' is not a feature with a range"),
        ((Pass("p", BLOCK, ("sex",), "agebin", 1),), "'agebin' is not a feature with a range"),
        ((Pass("p", BLOCK, ("agebin",), "age", 1),), "'age' is among what must be the same"),
    ],
)
def test_refused_passes(passes: tuple[Pass, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run(passes)


def test_nobody_is_left_out_of_other_places() -> None:
    with pytest.raises(ConfigError, match="a pass by block_group links records of other geounits"):
        attack(people(20, 1), own_passes=(EXACT, NEARBY))


def test_numbers_of_a_place_are_those_of_its_geounits() -> None:
    counted, links = run((Pass("anywhere", COUNTY, ("sex", "age")),))
    assert counted.tallies["pass"].unique().to_list() == ["anywhere"]
    assert links.height > 0


AGREEMENTS = {
    "place": [Agreement(("block",), 0.9, 0.02), Agreement(("block_group",), 0.08, 0.05)],
    "sex": [Agreement(("sex",), 0.97, 0.5)],
    "age": [
        Agreement(("age",), 0.5, 0.02),
        Agreement((), 0.3, 0.05, {"age": 1}),
        Agreement(("agebin",), 0.1, 0.1),
    ],
}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_pair_outweighs_the_links_of_both_its_records(seed: int) -> None:
    """A stable matching, by the weights of all pairs."""
    rng = np.random.default_rng(seed)
    at_least = float(rng.integers(-2, 9))
    passes = passes_by_weight(SF1, AGREEMENTS, at_least)
    keys = {e.name: Keys((e.place.name, *e.same), e.near, e.within) for e in passes}

    def records() -> pl.DataFrame:
        age = rng.integers(0, 12, int(rng.integers(25)))
        block = rng.integers(0, 4, len(age))
        columns = {
            "block": block,
            "block_group": block // 2,
            "sex": rng.integers(0, 2, len(age)),
            "age": age,
            "agebin": age // 4,
            "order": rng.permutation(len(age)),
        }
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64))

    def weight(a: dict[str, int], b: dict[str, int]) -> float:
        if a["block_group"] != b["block_group"]:
            return -np.inf
        place = 0.9 / 0.02 if a["block"] == b["block"] else 0.08 / 0.05
        sex = 0.97 / 0.5 if a["sex"] == b["sex"] else 0.03 / 0.5
        gap = abs(a["age"] - b["age"])
        by_bin = 0.1 / 0.1 if a["agebin"] == b["agebin"] else 0.1 / 0.83
        age = {0: 0.5 / 0.02, 1: 0.3 / 0.05}.get(gap, by_bin)
        return float(np.log2(place) + np.log2(sex) + np.log2(age))

    left, right = records(), records()
    ours, theirs = left.to_dicts(), right.to_dicts()
    best_left, best_right = np.full(len(ours), -np.inf), np.full(len(theirs), -np.inf)
    links = match(left, right, keys)
    for i, j, _ in links.iter_rows():
        best_left[i] = best_right[j] = weight(ours[i], theirs[j])
        assert best_left[i] >= at_least - 1e-9
    falling = np.array([best_left[i] for i in links["left"]])
    assert (np.diff(falling) <= 1e-9).all()
    for i, a in enumerate(ours):
        for j, b in enumerate(theirs):
            possible = weight(a, b)
            assert possible < at_least or possible <= max(best_left[i], best_right[j]) + 1e-9


def test_passes_by_weight_are_named_by_what_they_ask() -> None:
    names = [each.name for each in passes_by_weight(SF1, AGREEMENTS, 5.0)]
    assert names[:3] == ["block sex age", "block sex age±1", "block sex agebin"]
    assert "block_group sex age" in names


@pytest.mark.parametrize(
    ("ways", "at_least", "message"),
    [
        ([Agreement(("sex",), 0.9, 0.5), Agreement(("age",), 0.2, 0.1)], 0, "no more than 1 each"),
        ([Agreement(("sex",), 0.5, 0.5), Agreement(("age",), 0.4, 0.5)], 0, "by u any two"),
        ([Agreement(("sex",), 0.4, 0.5)], 0, "to disagree weighs 0.26 bits, no less than sex"),
        ([Agreement(("sex",), 0.9, 0.5)], 50, "no way to agree in a place weighs 50 bits"),
    ],
)
def test_refused_weights(ways: list[Agreement], at_least: float, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        passes_by_weight(SF1, {"place": AGREEMENTS["place"], "other": ways}, at_least)


def test_passes_over_frames() -> None:
    files = county(120)
    near = recon.Pass.of(SF1, "near", ["block", "sex"], {"age": 1})
    linkage = recon.link(SF1, files["truth"], {"rHDF": files["reconstruction"]}, passes=[near])
    assert set(linkage.links["pass"]) == {"near"}
    gap = linkage.links.filter(source="rHDF").join(files["truth"], on="pik", suffix="_true")
    assert (gap["age"] == gap["age_true"]).all()
    counted = next(iter(linkage.counted.values()))
    assert counted.tallies["putative"].sum() == linkage.links.height
