"""Sums are found by numbers alone: a star hides none, chance makes none, order changes none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.ratios import find_ratios
from recon_cli.capabilities.init.proposal.sums import find_sums


def people(seed: int, rows: int, kinds: tuple[int, int] = (2, 4)) -> np.ndarray:
    """Counts of a cross of two features with all margins, as columns × rows."""
    cells = np.random.default_rng(seed).poisson(20, (rows, *kinds)).astype(float)
    whole = np.concatenate([cells.sum(axis=1, keepdims=True), cells], axis=1)
    full = np.concatenate([whole.sum(axis=2, keepdims=True), whole], axis=2)
    return full.reshape(rows, -1).T


def strong(block: Intervals) -> set[tuple[int, tuple[int, ...]]]:
    return {(each.total, each.parts) for each in find_sums(block) if each.support.is_strong}


#: Total, four ages; males, four ages; females, four ages.
MARGINS = {
    (0, (1, 2, 3, 4)),
    (5, (6, 7, 8, 9)),
    (10, (11, 12, 13, 14)),
    *((at, (at + 5, at + 10)) for at in range(5)),
}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 30))
def test_all_margins_of_a_cross_are_found_and_nothing_else(seed: int, rows: int) -> None:
    found = strong(Intervals.exact(people(seed, rows)))
    assert found >= MARGINS
    # Beside the margins only sums that follow from them hold in every row.
    numbers = people(seed, rows)
    assert all((numbers[total] == numbers[list(parts)].sum(axis=0)).all() for total, parts in found)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.data())
def test_a_star_in_any_one_cell_changes_no_sum(seed: int, data: st.DataObject) -> None:
    numbers = people(seed, 8)
    line = data.draw(st.integers(0, numbers.shape[0] - 1))
    row = data.draw(st.integers(0, 7))
    numbers[line, row] = np.nan
    assert strong(Intervals.exact(numbers)) >= MARGINS


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 9))
def test_the_rows_may_stand_in_any_order_and_one_may_go(seed: int, row: int) -> None:
    numbers = people(seed, 10)
    shuffled = numbers[:, np.random.default_rng(seed).permutation(10)]
    found = strong(Intervals.exact(numbers))
    assert strong(Intervals.exact(shuffled)) == found
    assert strong(Intervals.exact(np.delete(numbers, row, axis=1))) >= MARGINS


@pytest.mark.parametrize("columns", [8, 30])
def test_numbers_by_chance_have_no_strong_sums(columns: int) -> None:
    draws = np.random.default_rng(5)
    found = [
        strong(Intervals.exact(draws.integers(0, 1000, (columns, 6)).astype(float)))
        for _ in range(50)
    ]
    assert sum(map(len, found)) == 0


def test_totals_among_the_parts_are_skipped() -> None:
    towns = np.array([[12.0, 7.0], [5.0, 4.0], [9.0, 13.0], [27.0, 6.0]])
    north, south = towns[:2].sum(axis=0), towns[2:].sum(axis=0)
    rows = np.stack([north + south, north, *towns[:2], south, *towns[2:]])
    assert strong(Intervals.exact(rows)) == {(0, (1, 4)), (1, (2, 3)), (4, (5, 6))}


def test_sums_of_rounded_numbers_are_told_from_chance() -> None:
    cells = np.random.default_rng(3).poisson(1000, (4, 40)).astype(float)
    exact = np.concatenate([cells.sum(axis=0, keepdims=True), cells])
    block = Intervals.exact(np.round(exact / 10) * 10)
    assert not strong(block) & {(0, (1, 2, 3, 4))}
    units = np.full(40, 10.0)
    assert (0, (1, 2, 3, 4)) in {
        (each.total, each.parts) for each in find_sums(block, units) if each.support.is_strong
    }


def test_percentages_are_found() -> None:
    base = np.array([40.0, 55.0, 80.0, 123.0])
    part = np.array([3.0, 20.0, 14.0, 61.0])
    share = np.round(100 * part / base, 1)
    block = Intervals.exact(np.stack([base, part, base - part, share]), unit=0.1)
    (found,) = find_ratios(block, [3], [0, 1, 2])
    assert (found.part, found.base, found.per) == (1, 0, 100.0)


def test_multiples_of_a_base_weigh_by_how_many_bases_they_are() -> None:
    # 15 = 5 + 10 and 15 = 10 + 5: of numbers up to 15 that would be telling, of threes by chance.
    numbers = np.array([[5.0, 10.0], [10.0, 5.0], [15.0, 15.0]])
    block = Intervals.exact(numbers)
    assert [each.total for each in find_sums(block) if each.support.is_strong] == [2]
    assert not [each for each in find_sums(block.in_steps(5)) if each.support.is_strong]


def test_percentages_of_what_was_counted_are_found_beside_rounded_counts() -> None:
    true = np.array([[30_908.0, 72_303.0, 25_258.0], [35_326.0, 73_412.0, 28_417.0]])
    share = np.round(100 * true[0] / true[1])
    printed = np.vstack([np.round(true / 5) * 5, share])
    assert share[0] != round(100 * printed[0, 0] / printed[1, 0] + 1e-9)
    block = Intervals.exact(printed)
    assert not find_ratios(block, [2], [0, 1])
    (found,) = find_ratios(block, [2], [0, 1], 4)
    assert (found.part, found.base, found.support.broken) == (0, 1, 0)


@pytest.mark.parametrize("seed", [144, *range(12)])
def test_half_of_the_people_are_no_sum_of_the_other_half(seed: int) -> None:
    """Rounded to three, kinds may add up to another; with it they are all people (seed 144)."""
    draws = np.random.default_rng(seed)
    counts = draws.multinomial(draws.integers(15, 700, 18), [0.5, 0.2, 0.13, 0.11, 0.03, 0.03]).T
    whole = np.concatenate([counts.sum(axis=0, keepdims=True), counts])
    over = whole % 3
    numbers = whole - over + 3 * (draws.random(whole.shape) * 3 < over)
    is_known = whole >= 6
    block = Intervals(
        np.where(is_known, numbers, 0.0),
        np.where(is_known, numbers, np.inf),
        is_known,
        np.ones(whole.shape, dtype=bool),
        np.ones(whole.shape),
    ).in_steps(3)
    found = [each for each in find_sums(block, np.full(18, 4.0)) if each.support.is_strong]
    assert {each.total for each in found} <= {0}
