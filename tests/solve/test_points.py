"""What is kept of the points that engines of floating-point numbers end with."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.cp_sat import SolveResult, Status

#: Two numbers from 0 to 3, together 2 to 4.
PROGRAM = IntegerProgram(
    LinearConstraints(sparse.csr_array(np.array([[1, 1]])), np.array([2]), np.array([4])),
    np.array([0, 0]),
    np.array([3, 3]),
)
COSTS = np.array([2, -1])


@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.FEASIBLE])
def test_a_point_near_a_solution_is_that_solution(status: Status) -> None:
    found = SolveResult.of_point(PROGRAM, COSTS, status, np.array([2.9999999, 0.0000001]), 0.5)
    assert (found.status, found.values.tolist(), found.deterministic_time) == (status, [3, 0], 0.5)
    assert (found.objective, found.bound) == (6, 6)


def test_without_an_objective_nothing_is_reached_and_nothing_bounds_it() -> None:
    found = SolveResult.of_point(PROGRAM, None, Status.FEASIBLE, np.array([1.0, 1.0]))
    assert (found.values.tolist(), found.objective, found.bound) == ([1, 1], 0, 0)


@pytest.mark.parametrize("point", [[0.0, 1.0], [3.0, 3.0], [4.0, 0.0]])
def test_a_point_that_is_no_solution_says_nothing(point: list[float]) -> None:
    found = SolveResult.of_point(PROGRAM, COSTS, Status.OPTIMAL, np.array(point))
    assert (found.status, len(found.values)) == (Status.UNKNOWN, 0)
    assert (found.objective, found.bound) == (0, 6)


@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.UNKNOWN])
def test_without_a_point_the_status_is_all(status: Status) -> None:
    found = SolveResult.of_point(PROGRAM, COSTS, status, np.empty(0))
    assert (found.status, len(found.values), found.bound) == (status, 0, 6)
