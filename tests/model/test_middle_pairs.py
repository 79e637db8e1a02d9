"""Pairs of middle values that stand for others, against every population."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.model.middle_pairs import representatives
from recon_cli.model.statistic_rows import Measured, Pair, Row, middle_pairs, pair_rows
from recon_cli.statement.printed import printed_ends
from tests.support.properties import examples

SEXES, VALUES, MOST = 2, 5, 4
AGES: IntArray = np.tile(np.arange(30, 30 + VALUES), SEXES)
SEX: IntArray = np.repeat(np.arange(SEXES), VALUES)
#: Every population of up to four people by sex and age.
PEOPLE: IntArray = np.array(
    [
        np.bincount(np.array(who, dtype=np.int64), minlength=SEXES * VALUES)
        for number in range(MOST + 1)
        for who in combinations_with_replacement(range(SEXES * VALUES), number)
    ]
)
WARD: IntArray = np.zeros(SEXES * VALUES, dtype=np.int64)


def meeting(rows: list[Row]) -> IntArray:
    """The places of all populations that meet some rows."""
    is_met = np.ones(len(PEOPLE), dtype=bool)
    for row in rows:
        is_met &= PEOPLE @ row.coefficients(AGES) >= row.least
    return np.flatnonzero(is_met)


def shown(cases: list[IntArray], told: IntArray) -> set[tuple[int, ...]]:
    """What the populations of some cases say by all other rows."""
    some = np.unique(np.concatenate(cases)) if cases else np.empty(0, dtype=np.int64)
    return set(map(tuple, (PEOPLE[some] @ told.T).tolist()))


def kept_of(pairs: list[Pair], base: BoolArray, plain: IntArray, sums: IntArray) -> list[int]:
    here = np.flatnonzero(base)
    others, by_value = (sparse.csr_array(each[:, here]) for each in (plain, sums))
    return representatives(pairs, AGES[here], WARD[here], others, (by_value, AGES[here]))


@examples(120)
@given(
    st.sampled_from(["31", "31.5", "32", "32.5", "33"]),
    st.sampled_from(["all", "women"]),
    st.sets(st.integers(31, 34), max_size=3),
    st.sampled_from(["none", "all", "women", "by sex"]),
    st.booleans(),
)
def test_representatives_allow_what_all_pairs_allow(
    text: str, of: str, edges: set[int], means: str, by_sex: bool
) -> None:
    """Counts by band, and sums, of all populations are those of who has one of the pairs kept."""
    base = np.ones(len(AGES), dtype=bool) if of == "all" else SEX == 0
    measured, ends = Measured(AGES), printed_ends(text, "unknown")
    pairs = middle_pairs(measured, base, ends, "middle")
    bands = np.searchsorted(sorted(edges), AGES, side="right") + (10 * SEX if by_sex else 0)
    plain = np.array([bands == band for band in np.unique(bands)], dtype=np.int64)
    groups = {"none": [], "all": [SEX < 2], "women": [SEX == 0], "by sex": [SEX == 0, SEX == 1]}
    sums = np.array(groups[means] or [np.zeros(len(AGES))], dtype=np.int64)
    kept = kept_of(pairs, base, plain, sums)
    cases = [meeting(pair_rows(measured, base, pair, "middle")) for pair in pairs]
    told = np.concatenate([plain, sums * AGES])
    assert shown([cases[at] for at in kept], told) == shown(cases, told)


def test_ages_that_nothing_tells_apart_leave_one_pair() -> None:
    base, ends = SEX == 0, printed_ends("32", "unknown")
    pairs = middle_pairs(Measured(AGES), base, ends, "middle")
    assert len(pairs) > 2
    nothing = np.zeros((1, len(AGES)), dtype=np.int64)
    assert kept_of(pairs, base, nothing, nothing) == [0]
    single = np.array([age == AGES for age in np.unique(AGES)], dtype=np.int64)
    assert kept_of(pairs, base, single, nothing) == list(range(len(pairs)))


def test_a_sum_of_some_of_the_people_keeps_pairs_apart() -> None:
    """One of a pair may be a woman, the other a man: then a sum of ages by sex changes."""
    base, ends = SEX < 2, printed_ends("32", "half_up")
    pairs = middle_pairs(Measured(AGES), base, ends, "middle")
    nothing = np.zeros((1, len(AGES)), dtype=np.int64)
    of_women = np.array([SEX == 0], dtype=np.int64)
    assert kept_of(pairs, base, nothing, of_women) == list(range(len(pairs)))
    assert len(kept_of(pairs, base, nothing, np.ones_like(of_women))) < len(pairs)
