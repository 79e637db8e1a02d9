"""What an engine's floating point, or 64 bits, cannot hold decides nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Status, maximize
from recon_cli.solve.dual_bounds import SCALE, weighted_bounds


def knapsacks(seed: int) -> tuple[IntegerProgram, IntArray]:
    """Rows that take a while, and an objective of large coefficients."""
    rng = np.random.default_rng(seed)
    rows, variables = 30, 40
    A = (rng.random((rows, variables)) < 0.3) * rng.integers(1, 1000, (rows, variables))
    most = A @ rng.integers(0, 9, variables)
    program = IntegerProgram(
        LinearConstraints(sparse.csr_array(A), np.zeros(rows, dtype=np.int64), most),
        np.zeros(variables, dtype=np.int64),
        np.full(variables, 50),
    )
    return program, rng.integers(2**38, 2**40, variables)


@pytest.mark.parametrize("seed", range(1))
def test_a_bound_of_cp_sat_is_a_whole_number(seed: int) -> None:
    program, objective = knapsacks(seed)
    answer = maximize(program, objective, Effort(0, 0.3))
    assert answer.status is Status.FEASIBLE
    assert answer.objective <= answer.bound <= program.highest(objective)
    best = maximize(program, objective, Effort(1, 0.3))
    assert best.objective <= answer.bound


def test_what_scip_takes_for_a_solution_is_looked_at_in_integers() -> None:
    # 2x = 2·10^8 + 1 misses by less than SCIP sees.
    side = np.array([2 * 10**8 + 1])
    program = IntegerProgram(
        LinearConstraints(sparse.csr_array(np.array([[2]])), side, side),
        np.zeros(1, dtype=np.int64),
        np.full(1, 10**9),
    )
    confirm_infeasible(program)  # whether or not it agrees, it is no disagreement


def test_weights_whose_sums_do_not_fit_prove_nothing() -> None:
    side = np.array([2**31, 2**31])
    program = IntegerProgram(
        LinearConstraints(sparse.csr_array(np.array([[1, 1], [1, 0]])), side, side),
        np.zeros(2, dtype=np.int64),
        np.full(2, 2**31),
    )
    functional, weights = np.array([[1, 1]]), np.array([[SCALE, 0], [2**40, -(2**40)]])
    functionals = np.repeat(functional, 2, axis=0)
    assert weighted_bounds(program, functionals, weights).tolist() == [2**31, 0]
