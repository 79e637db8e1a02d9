"""The least correction of counts that contradict each other, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from recon_cli.capabilities.reconstruct.correction import min_l1_correction
from tests.support.programs import IMPOSSIBLE, POSSIBLE, equalities


def test_the_least_correction_is_least() -> None:
    correction = min_l1_correction(IMPOSSIBLE.constraints)
    assert correction.is_least
    assert correction.total == 1
    assert not min_l1_correction(POSSIBLE.constraints).change.any()


@pytest.mark.parametrize(
    ("rows", "counts", "total", "has_alternative"),
    [
        ([[1], [1]], [0, 1], 1, True),  # either may be wrong
        ([[1], [1], [1]], [1, 1, 3], 2, False),  # the odd one out
        ([[1], [1]], [0, 2], 2, True),  # 0 → 2, 2 → 0, or both to 1
        ([[2]], [2], 0, False),
    ],
)
def test_equally_small_corrections_are_seen(
    rows: list[list[int]], counts: list[int], total: int, has_alternative: bool
) -> None:
    A = sparse.csr_array(np.array(rows, dtype=np.int64))
    correction = min_l1_correction(equalities(A, counts))
    assert correction.is_least
    assert (correction.total, correction.has_alternative) == (total, has_alternative)


@pytest.mark.parametrize("counts", [[1, 1, 1], [3, 3, 1], [5, 3, 3], [5, 5, 5], [1, 3, 5]])
def test_a_correction_that_no_vertex_has_is_least(counts: list[int]) -> None:
    """Of three kinds any two have an odd number: halves fit, and whole numbers miss one row."""
    cycle = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    correction = min_l1_correction(equalities(sparse.csr_array(np.array(cycle)), counts))
    people = itertools.product(range(8), repeat=3)
    changes = [np.array(cycle) @ each - counts for each in people]
    least = min(int(np.abs(change).sum()) for change in changes)
    equal = {tuple(change != 0) for change in changes if np.abs(change).sum() == least}
    assert (correction.total, correction.is_least) == (least, True)
    assert correction.has_alternative == (len(equal) > 1)
