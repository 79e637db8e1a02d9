"""Sums of rounded numbers: those that chance may make are not read, and the likeliest is."""

from __future__ import annotations

import numpy as np
import pytest

from recon_cli.capabilities.init.proposal.evidence import Sum
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.relation import Axis, Relation
from recon_cli.capabilities.init.proposal.relations import doubt_coincidence, sums_of

BASE = 3


def rounded(numbers: np.ndarray, draws: np.random.Generator) -> Intervals:
    """Round at random to multiples of three, each number by itself."""
    over = numbers % BASE
    return Intervals.exact(
        numbers - over + BASE * (draws.random(numbers.shape) * BASE < over)
    ).in_steps(BASE)


def margins(seed: int, kinds: tuple[int, int]) -> tuple[np.ndarray, np.random.Generator]:
    """Draw a total, and the counts of two features, some of them rare, for a few places."""
    draws = np.random.default_rng(seed)
    places = int(draws.integers(4, 10))
    odds = draws.dirichlet(np.full(kinds[0] * kinds[1], 0.6))
    people = draws.multinomial(draws.integers(5, draws.integers(30, 400), places), odds)
    cells = people.reshape(places, *kinds)
    one, two = cells.sum(axis=2), cells.sum(axis=1)
    whole = one.sum(axis=1, keepdims=True)
    return np.concatenate([whole, one, two], axis=1).T.astype(float), draws


def relations(sums: list[Sum]) -> list[Relation]:
    return doubt_coincidence(
        [
            Relation(
                Axis.COLUMNS,
                each.total,
                each.parts,
                each.support,
                is_rounded=each.is_rounded,
                rivals=each.rivals,
            )
            for each in sums
        ]
    )


@pytest.mark.parametrize("kinds", [(2, 3), (3, 4), (4, 3)])
def test_what_is_read_without_a_question_is_true(kinds: tuple[int, int]) -> None:
    wrong, read = 0, 0
    for seed in range(150):
        numbers, draws = margins(seed, kinds)
        for each in relations(sums_of(rounded(numbers, draws), BASE)):
            if each.support.is_strong:
                read += 1
                wrong += (numbers[each.line] != numbers[list(each.of)].sum(axis=0)).any()
    assert read > 150
    assert wrong <= 1  # of sums that chance makes, one in a thousand is as good as a true one


def test_a_part_that_is_rare_may_be_none() -> None:
    # Five people went by boat: with them, or without, the numbers add up as well.
    draws = np.random.default_rng(1)
    parts = draws.poisson([[60.0], [40.0], [30.0], [0.6]], (4, 8))
    numbers = np.concatenate([parts.sum(axis=0, keepdims=True), parts]).astype(float)
    (found,) = (each for each in sums_of(rounded(numbers, draws), BASE) if each.total == 0)
    assert found.parts == (1, 2, 3, 4)
    assert (1, 2, 3) in found.rivals


def test_many_places_tell_what_few_do_not() -> None:
    draws = np.random.default_rng(2)
    parts = draws.poisson([[60.0], [40.0], [30.0], [2.0]], (4, 80))
    numbers = np.concatenate([parts.sum(axis=0, keepdims=True), parts]).astype(float)
    (found,) = (each for each in sums_of(rounded(numbers, draws), BASE) if each.total == 0)
    assert found.parts == (1, 2, 3, 4)
    assert not found.rivals


def test_parts_of_one_division_do_not_add_up_to_one_of_another() -> None:
    # 8 areas of a made-up town: those of 65 and over are within rounding of bus and foot.
    numbers = np.array(
        [
            [159, 276, 87, 192, 81, 138, 51, 288],
            [42, 105, 24, 63, 27, 39, 15, 78],
            [51, 81, 24, 63, 27, 54, 15, 108],
            [69, 93, 39, 66, 24, 45, 21, 99],
            [75, 153, 42, 105, 48, 69, 30, 147],
            [60, 84, 36, 57, 24, 39, 18, 90],
            [21, 33, 6, 24, 6, 24, 3, 45],
            [3, 6, 6, 6, 0, 6, 3, 6.0],
        ]
    )
    found = relations(sums_of(Intervals.exact(numbers).in_steps(BASE), BASE))
    assert {(each.line, each.of): each.support.is_strong for each in found} == {
        (0, (1, 2, 3)): True,
        (0, (4, 5, 6, 7)): True,
        (3, (5, 7)): False,
    }
