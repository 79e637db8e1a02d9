"""Open ends: what no row bounds from above, against plain search."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.frames import OPEN
from recon_cli.model.bounds import propagate, propagate_signed
from recon_cli.model.components import split_components
from recon_cli.model.program import LinearConstraints
from recon_cli.solve.cp_sat import Effort, maximize
from recon_cli.solve.feasibility import Feasibility, solve_program

#: No bounded cell of `random_rows` can hold so many, and no open one needs as many.
_BOX = 8


def random_rows(rng: np.random.Generator) -> LinearConstraints:
    """Rows of which some have no upper end; every cell is in one."""
    rows, cells = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    A = rng.integers(0, 3, (rows, cells))
    A[rng.integers(rows), A.sum(axis=0) == 0] = 1
    least = rng.integers(0, 5, rows)
    most = np.where(rng.random(rows) < 0.5, OPEN, least + rng.integers(0, 3, rows))
    return LinearConstraints(sparse.csr_array(A), least, most)


def solutions(rows: LinearConstraints) -> Iterator[IntArray]:
    """All with at most `_BOX` people in a cell."""
    for values in itertools.product(range(_BOX + 1), repeat=rows.A.shape[1]):
        if rows.are_met_by(np.array(values)):
            yield np.array(values)


@pytest.mark.parametrize("seed", range(150))
def test_open_cells_are_those_that_any_number_fits(seed: int) -> None:
    rows = random_rows(np.random.default_rng(seed))
    bounds, found = propagate(rows), list(solutions(rows))
    if bounds.conflict.any():
        assert not found
        return
    for values in found:
        assert (values >= bounds.lower).all()
        assert (values <= bounds.upper)[~bounds.is_open].all()
        more = values + np.where(bounds.is_open, 1_000, 0)
        assert rows.are_met_by(more), "nothing bounds an open cell"
        # What is said of all solutions is said of those within the bounds.
        assert rows.are_met_by(np.minimum(values, bounds.upper))
    kept = [values for values in found if (values <= bounds.upper).all()]
    assert bool(kept) == bool(found)


@pytest.mark.parametrize("seed", range(60))
def test_programs_of_open_rows_have_the_least_values_of_all_solutions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng)
    bounds, found = propagate(rows), list(solutions(rows))
    if bounds.conflict.any():
        return
    cells = rows.A.shape[1]
    functional = rng.integers(0, 4, cells)
    total, is_solved = int(functional @ np.where(bounds.free, 0, bounds.lower)), True
    for part in split_components(rows, bounds, np.zeros(cells, dtype=np.int64)):
        program = part.program
        assert program.upper.max(initial=0) < _BOX * 4
        assert program.constraints.most.max(initial=0) < OPEN // 2, "no engine sees an open end"
        answer = solve_program(program, 0)
        is_solved &= answer.outcome is Feasibility.SOLVED
        if is_solved:
            best = maximize(program, -functional[part.columns], Effort(0, 10.0))
            total -= best.objective
    assert is_solved == bool(found)
    if is_solved:
        assert total == min(int(functional @ values) for values in found)


def test_a_known_solution_stays_inside() -> None:
    rows = LinearConstraints(sparse.csr_array(np.array([[1, 1]])), np.array([3]), np.array([OPEN]))
    assert propagate(rows).upper.tolist() == [3, 3]
    assert propagate(rows, np.array([9, 0])).upper.tolist() == [9, 3]


def test_sums_beyond_32_bits_do_not_wrap() -> None:
    huge = OPEN - 1
    A = sparse.csr_array(np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0]]))
    rows = LinearConstraints(A, np.array([huge, 0, 0]), np.array([OPEN, huge, huge]))
    bounds = propagate(rows)
    assert bounds.lower.tolist() == [0, 0, 0]
    assert bounds.upper.tolist() == [huge] * 3
    assert bounds.is_open.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("row", "least", "most"),
    [([1], 3_000_000_000, OPEN), ([1_000], 4_000_000_000, OPEN), ([1_000, -1], 0, 2_000)],
)
def test_sums_beyond_the_open_end_contradict_nothing(row: list[int], least: int, most: int) -> None:
    rows = LinearConstraints(sparse.csr_array(np.array([row])), np.array([least]), np.array([most]))
    bounds = propagate_signed(rows, np.full(len(row), OPEN))
    assert not bounds.conflict.any()
    assert (bounds.lower < bounds.upper).all(), "and settle nothing"
    assert (bounds.lower <= -(-least // abs(row[0]))).all()


def test_a_sum_far_below_zero_contradicts_nothing() -> None:
    least, most = np.array([-4_000_000_000]), np.array([-3_000_000_000])
    rows = LinearConstraints(sparse.csr_array(np.array([[-1]])), least, most)
    bounds = propagate_signed(rows, np.array([OPEN]))
    assert not bounds.conflict.any()
    assert bounds.lower[0] < bounds.upper[0] == OPEN


@pytest.mark.parametrize("seed", range(150))
def test_rows_of_either_sign_cut_no_solution_off(seed: int) -> None:
    rng = np.random.default_rng([seed, 5])
    width = int(rng.integers(1, 4))
    A = rng.integers(-2, 3, (int(rng.integers(1, 4)), width))
    least = rng.integers(-4, 5, len(A))
    most = np.where(rng.random(len(A)) < 0.4, OPEN, least + rng.integers(0, 3, len(A)))
    rows = LinearConstraints(sparse.csr_array(A), least, most)
    upper = np.where(rng.random(width) < 0.5, OPEN, rng.integers(0, 5, width))
    bounds = propagate_signed(rows, upper)
    for values in solutions(rows):
        if (values <= upper).all():
            assert not bounds.conflict.any()
            assert (values >= bounds.lower).all()
            assert (values <= bounds.upper).all()


@pytest.mark.parametrize(
    ("least", "most", "conflict"),
    [(0, 0, False), (-3, OPEN, False), (-3, -1, True), (1, 2, True), (1, OPEN, True)],
)
@pytest.mark.parametrize("columns", [0, 2])
def test_a_row_that_no_column_is_in_holds_or_contradicts(
    columns: int, least: int, most: int, *, conflict: bool
) -> None:
    A = sparse.csr_array((1, columns), dtype=np.int64)
    rows = LinearConstraints(A, np.array([least]), np.array([most]))
    bounds = propagate_signed(rows, np.full(columns, 5))
    assert bounds.conflict.tolist() == [conflict]
