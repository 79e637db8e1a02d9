"""Totals of parts between which other lines stand that are some of the part before them."""

from __future__ import annotations

import numpy as np
import pytest

from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.sums import find_sums

#: Total, employed, of them women, unemployed, of them long-term; four places.
_LINES = np.array(
    [
        [120.0, 240, 95, 77],
        [90, 200, 80, 70],
        [41, 99, 30, 30],
        [30, 40, 15, 7],
        [12, 9, 4, 2],
    ]
)


def _found(lines: np.ndarray) -> list[tuple[int, tuple[int, ...]]]:
    return [(each.total, each.parts) for each in find_sums(Intervals.exact(lines))]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [1, 2, 3, 4, 0], [0, 1, 2, 3], [1, 3, 4, 0]])
def test_some_of_a_part_stand_behind_it(order: list[int]) -> None:
    total, parts = order.index(0), tuple(sorted((order.index(1), order.index(3))))

    assert _found(_LINES[order]) == [(total, parts)]


def test_a_line_that_exceeds_the_part_before_it_is_none_of_it() -> None:
    lines = _LINES[[0, 1, 2, 3, 4]].copy()
    lines[2] = [100, 201, 81, 71]  # more than the employed, less than all

    assert _found(lines) == []


def test_two_positions_of_small_numbers_may_be_chance() -> None:
    assert _found(_LINES[:, 2:]) == []


def test_random_lines_hardly_add_up() -> None:
    rng = np.random.default_rng(5)
    found = sum(bool(_found(rng.integers(0, 200, (9, 5)).astype(float))) for _ in range(200))

    assert found <= 2
