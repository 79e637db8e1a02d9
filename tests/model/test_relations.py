"""Intervals propagated along relations, against one relation at a time in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from recon_cli.frames import OPEN
from recon_cli.model.lattice import Relations

_Ends = list[tuple[int, int]]


def _plain(relations: list[tuple[int, list[int]]], ends: _Ends) -> _Ends:
    ends = list(ends)
    while True:
        before = list(ends)
        for whole, parts in relations:
            sums = sum(ends[p][0] for p in parts), min(sum(ends[p][1] for p in parts), OPEN)
            low, high = max(ends[whole][0], sums[0]), min(ends[whole][1], sums[1])
            ends[whole] = low, high
            for part in parts:
                others = [p for p in parts if p != part]
                least = low - sum(ends[p][1] for p in others)
                most = high - sum(ends[p][0] for p in others) if high < OPEN else OPEN
                ends[part] = max(ends[part][0], least), min(ends[part][1], most)
        if any(low > high for low, high in ends) or ends == before:
            return ends


@pytest.mark.parametrize("seed", range(60))
def test_tighten_reaches_the_fixed_point_of_single_steps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = int(rng.integers(3, 9))
    true = rng.integers(0, 4, counts)
    relations = [
        (whole, np.sort(rng.permutation(whole)[: rng.integers(1, 4)]).tolist())
        for whole in rng.permutation(np.arange(2, counts))[:4].tolist()
    ]
    for whole, parts in sorted(relations):
        true[whole] = true[parts].sum()
    low = np.maximum(true - rng.integers(0, 3, counts), 0)
    high = np.where(rng.random(counts) < 0.3, OPEN, true + rng.integers(0, 3, counts))
    if seed % 2:  # ends of other counts, which mostly contradict each other
        low, high = np.minimum(rng.permutation(low), high), np.minimum(high, 9)
    sizes = [len(parts) for _, parts in relations]
    found = Relations(
        np.array([whole for whole, _ in relations]),
        np.array([part for _, parts in relations for part in parts]),
        np.cumsum([0, *sizes[:-1]]),
    ).tighten(low, high, np.zeros(counts, dtype=np.int64))
    expected = _plain(relations, list(zip(low.tolist(), high.tolist(), strict=True)))
    crossed = any(least > most for least, most in expected)
    assert (found[0] > found[1]).any() == crossed
    if not crossed:
        assert list(zip(*(each.tolist() for each in found), strict=True)) == expected


def test_a_contradiction_leaves_other_groups_alone() -> None:
    relations = Relations(np.array([0, 3]), np.array([1, 2, 4, 5]), np.array([0, 2]))
    low, high = np.array([9, 0, 0, 5, 0, 2]), np.array([9, 1, 1, 5, OPEN, 2])
    least, most = relations.tighten(low, high, np.array([0, 0, 0, 1, 1, 1]))
    assert (least[:3] > most[:3]).any()
    assert (least[4], most[4]) == (3, 3)


def test_a_count_is_implied_where_both_its_ends_are_those_of_a_sum() -> None:
    """Counts 0 and 3 to 5 are sums of 1 and 2; count 4 is one of 1 alone, too."""
    whole, part = np.array([0, 3, 4, 4, 5]), np.array([1, 2, 1, 2, 1, 2, 1, 1, 2])
    relations = Relations(whole, part, np.array([0, 2, 4, 6, 7]))
    low, high = np.array([3, 1, 2, 2, 1, 3]), np.array([9, 4, 5, 9, 4, OPEN])
    assert relations.implied(low, high).tolist() == [True, False, False, False, True, False]
    high[2] = OPEN  # so is the sum
    assert relations.implied(low, high).tolist() == [False, False, False, False, True, True]
    nothing = Relations(whole[:0], part[:0], whole[:0])
    assert not nothing.implied(low, high).any()
