"""Matching against the study's own double loop, on random blocks."""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from recon_cli.capabilities.link.key_encoding import place_in_unit, record_hashes, unit_salts
from recon_cli.capabilities.link.links import count_agreement
from recon_cli.capabilities.link.matching import Keys, count_matches, match
from recon_cli.capabilities.link.passes import near_pass
from recon_cli.capabilities.link.specification import default_keys
from recon_cli.chance import uniform
from tests.support.attacks import SF1
from tests.support.properties import SEEDS, examples

PASSES = {"exact": Keys(["block", "sex", "age"]), "binned": Keys(["block", "sex", "agebin"])}
Row = dict[str, Any]


def two_loops(left: list[Row], right: list[Row]) -> dict[str, list[tuple[int, int]]]:
    """Algorithm 1: walk, compare, strike out both, once exactly and once binned."""
    left_rest, right_rest = list(enumerate(left)), list(enumerate(right))
    found: dict[str, list[tuple[int, int]]] = {}
    for name, keys in PASSES.items():
        found[name] = []
        for i in range(len(left_rest) - 1, -1, -1):
            for j, (_, theirs) in enumerate(right_rest):
                ours = left_rest[i][1]
                if all(ours[k] is not None and ours[k] == theirs[k] for k in keys.same):
                    found[name].append((left_rest[i][0], right_rest[j][0]))
                    del left_rest[i], right_rest[j]
                    break
    return found


def frame(rows: list[Row]) -> pl.DataFrame:
    schema = {
        "block": pl.String,
        "sex": pl.String,
        "age": pl.Int16,
        "agebin": pl.Int16,
        "order": pl.UInt64,
    }
    return pl.DataFrame(rows, schema=schema)


def random_files(seed: int, size: int, blocks: int = 3) -> tuple[list[Row], list[Row]]:
    rng = np.random.default_rng(seed)
    ages = int(rng.integers(2, 12))

    def records(count: int) -> list[Row]:
        rows = []
        for _ in range(count):
            age = int(rng.integers(ages))
            known = rng.choice(["age", "bin", "nothing"], p=[0.9, 0.07, 0.03])
            rows.append(
                {
                    "block": str(rng.integers(blocks)),
                    "sex": str(rng.integers(2)),
                    "age": age if known == "age" else None,
                    "agebin": None if known == "nothing" else age // 3,
                    "order": int(rng.integers(2**63)),
                }
            )
        return rows

    return records(int(rng.integers(size + 1))), records(int(rng.integers(size + 1)))


# each example is sixty blocks, so that there are thousands of them
@settings(max_examples=int(os.environ.get("RECON_EXAMPLES", "60")), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(0, 25))
def test_matches_are_those_of_the_double_loop(seed: int, size: int) -> None:
    left: list[Row] = []
    right: list[Row] = []
    expected = dict.fromkeys(PASSES, 0)
    for block in range(60):
        here = random_files(seed + block, size, blocks=1)
        ours, theirs = ([row | {"block": str(block)} for row in rows] for rows in here)
        for name, pairs in two_loops(ours, theirs).items():
            expected[name] += len(pairs)
        left += ours
        right += theirs
    found = match(frame(left), frame(right), PASSES)
    assert found["left"].is_unique().all()
    assert found["right"].is_unique().all()
    for name, keys in PASSES.items():
        made = found.filter(pl.col("pass") == name)
        assert made.height == expected[name]
        for i, j in made.select("left", "right").iter_rows():
            assert all(left[i][k] == right[j][k] is not None for k in keys.same)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_pairs_do_not_depend_on_the_order_of_rows(seed: int) -> None:
    left, right = random_files(seed, 40)
    rng = np.random.default_rng(seed)
    by_left, by_right = rng.permutation(len(left)), rng.permutation(len(right))
    found = match(frame(left), frame(right), PASSES)
    shuffled = match(frame([left[i] for i in by_left]), frame([right[j] for j in by_right]), PASSES)
    moved = {(int(by_left[i]), int(by_right[j]), p) for i, j, p in shuffled.iter_rows()}
    assert set(found.iter_rows()) == moved


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_counting_needs_no_pairing(seed: int) -> None:
    left, right = random_files(seed, 40)
    found = match(frame(left), frame(right), PASSES)
    exact = count_matches(frame(left), frame(right), PASSES["exact"].same)
    both = count_matches(frame(left), frame(right), PASSES["binned"].same)
    assert exact["pairs"].sum() == found.filter(pl.col("pass") == "exact").height
    assert both["pairs"].sum() == found.height


def test_one_side_empty_and_blocks_on_one_side_only() -> None:
    some = frame([{"block": "1", "sex": "m", "age": 3, "agebin": 1, "order": 5}])
    other = some.with_columns(block=pl.lit("2"))
    for left, right in ((some.clear(), some), (some, some.clear()), (some, other)):
        assert match(left, right, PASSES).is_empty()
        assert count_matches(left, right, PASSES["binned"].same).is_empty()


def test_lowest_order_is_taken_first() -> None:
    left = frame([{"block": "1", "sex": "m", "age": 3, "agebin": 1, "order": 5}])
    right = pl.concat([left.with_columns(order=pl.lit(n, pl.UInt64)) for n in (9, 2, 7)])
    assert match(left, right, PASSES).select("left", "right").row(0) == (0, 1)


def test_numbers_belong_to_records() -> None:
    records = pl.DataFrame({"unit": ["a", "b", "a", "a"], "x": [3, 1, 2, 3], "row": range(4)})
    places = place_in_unit(records, "unit", ["x"])
    assert places.to_list() == [1, 0, 0, 2]
    salts = unit_salts(["a", "b"], 7, "test")
    numbers = uniform(record_hashes(salts[[0, 1, 0, 0]], places.to_numpy()))
    assert len(set(numbers)) == 4
    assert ((numbers >= 0) & (numbers < 1)).all()
    backwards = records.reverse()
    again = uniform(
        record_hashes(salts[[0, 0, 1, 0]], place_in_unit(backwards, "unit", ["x"]).to_numpy())
    )
    assert set(again) == set(numbers)
    assert (unit_salts(["a"], 8, "test") != salts[:1]).all()
    assert (unit_salts(["a"], 7, "other") != salts[:1]).all()


def test_hashed_numbers_are_uniform() -> None:
    salts = np.repeat(unit_salts([str(n) for n in range(2000)], 1, "test"), 20)
    numbers = uniform(record_hashes(salts, np.tile(np.arange(20), 2000)))
    counts = np.histogram(numbers, 20, (0, 1))[0]
    assert ((counts - 2000) ** 2 / 2000).sum() < 60  # 19 degrees of freedom
    by_place = numbers.reshape(2000, 20)
    assert abs(np.corrcoef(by_place[:, 0], by_place[:, 1])[0, 1]) < 0.1


@examples(60)
@given(seed=SEEDS, size=st.integers(0, 9))
def test_agreement_with_a_number_off_by_one_is_the_most_pairs(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    near = near_pass(SF1, default_keys(SF1))
    assert near is not None
    assert (near.same, near.near, near.within) == (("sex",), "age", 1)
    sides = []
    for _ in range(2):
        age, sex = rng.integers(0, 4, size), rng.integers(0, 2, size)
        columns = {"unit": rng.integers(0, 2, size), "gain": rng.integers(0, 2, size)}
        side = pl.DataFrame(columns).with_columns(sex=pl.Series(sex), age=pl.Series(age))
        key = pl.col("unit") * 2 + pl.col("sex")
        sides.append(
            side.with_columns(
                pl.col("unit").cast(pl.Int32),
                (key * 4 + pl.col("age")).alias("exact"),
                (key * 4 + pl.col("age") // 2).alias("binned"),
                key.alias("near"),
                pl.col("age").alias("near agreement"),
            )
        )
    ours, theirs = sides
    found = count_agreement(ours, theirs, near)
    together = np.zeros((size, size), dtype=bool)
    for i, j in itertools.product(range(size), repeat=2):
        one, other = ours.row(i, named=True), theirs.row(j, named=True)
        same = all(one[name] == other[name] for name in ("unit", "gain", "sex"))
        together[i, j] = same and abs(one["age"] - other["age"]) <= 1
    pairs = maximum_bipartite_matching(sparse.csr_array(together), perm_type="column")
    assert found["near"].sum() == (pairs >= 0).sum()
    assert (found["exact"] <= found["near"]).all()
