"""Bound tightening against enumeration: every end valid, every reached end shown by a solution."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.errors import DisagreementError
from recon_cli.model.ledger import GROUNDS, Confirmation, Grounds, Ledger
from recon_cli.model.program import IntegerProgram, LinearConstraints, activity_bounds
from recon_cli.solve import ends, scip
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.ends import tighten_bounds
from tests.support.properties import draws

SOLVER = GROUNDS.index(Grounds.SOLVER)


def random_program(seed: int, highest: int = 3) -> tuple[IntegerProgram, IntArray]:
    """A program with rows of either sign, and all of its solutions."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-1, 3, size=(3, 6))
    inside = A @ rng.integers(0, highest + 1, size=6)
    slack = rng.integers(0, 2, size=3)
    every = np.array(list(itertools.product(range(highest + 1), repeat=6)))
    program = IntegerProgram(
        LinearConstraints(sparse.csr_array(A), inside - slack, inside + slack),
        lower=np.zeros(6, dtype=np.int64),
        upper=np.full(6, highest),
    )
    sums = every @ A.T
    return program, every[((sums >= inside - slack) & (sums <= inside + slack)).all(axis=1)]


def tightened(
    program: IntegerProgram, C: IntArray, known: list[IntArray], effort: Effort
) -> Ledger:
    ledger = Ledger(program, sparse.csr_array(C), known)
    tighten_bounds(ledger, effort)
    return ledger


@pytest.mark.parametrize("seed", draws(12, 25))
def test_ends_of_any_integer_functionals_are_those_of_all_solutions(seed: int) -> None:
    program, solutions = random_program(seed)
    C = np.random.default_rng(seed).integers(-4, 5, size=(5, 6))
    C[4] = 0
    bounds = tightened(program, C, [solutions[0]], Effort(seed, 30.0))
    values = solutions @ C.T
    assert bounds.lower.tolist() == values.min(axis=0).tolist()
    assert bounds.upper.tolist() == values.max(axis=0).tolist()
    assert not bounds.is_open_anywhere.any()
    for k in range(5):
        low, high = (bounds.solution(bounds.end(k, sign).witness) for sign in (1, -1))
        assert program.is_feasible(low)
        assert program.is_feasible(high)
        assert (C[k] @ low, C[k] @ high) == (bounds.lower[k], bounds.upper[k])
    lowest, highest = activity_bounds(sparse.csr_array(C), program.lower, program.upper)
    assert (bounds.grounds(range(5), 1) == SOLVER * (bounds.lower > lowest)).all()
    assert (bounds.grounds(range(5), -1) == SOLVER * (bounds.upper < highest)).all()


@pytest.mark.parametrize("limit", [0.0, 1e-6, 1e-3])
def test_an_exhausted_budget_leaves_valid_bounds(limit: float) -> None:
    for seed in draws(5, 10):
        program, solutions = random_program(seed)
        C = np.random.default_rng(seed).integers(-4, 5, size=(4, 6))
        bounds = tightened(program, C, [solutions[0]], Effort(seed, limit))
        values = solutions @ C.T
        assert (bounds.lower <= values.min(axis=0)).all()
        assert (bounds.upper >= values.max(axis=0)).all()
        assert (bounds.least >= values.min(axis=0)).all()
        assert (bounds.greatest <= values.max(axis=0)).all()


# An odd cycle: each pair holds one person, which only halves could do.
CYCLE = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]])


def open_cycle() -> tuple[IntegerProgram, IntArray, IntArray]:
    """The last variable could be zero if people came in halves; its only value is one."""
    one = np.ones(3, dtype=np.int64)
    program = IntegerProgram(
        LinearConstraints(sparse.csr_array(CYCLE), one, one),
        lower=np.zeros(4, dtype=np.int64),
        upper=np.ones(4, dtype=np.int64),
    )
    return program, np.array([[0, 0, 0, 1]]), np.array([0, 0, 0, 1])


def test_an_exhausted_second_engine_leaves_the_end_open(monkeypatch: pytest.MonkeyPatch) -> None:
    program, functionals, known = open_cycle()
    bounds = tightened(program, functionals, [known], Effort(1, 10.0))
    assert bounds.lower.tolist() == [1]
    assert bounds.end(0, 1).why == Confirmation()
    monkeypatch.setattr(ends, "_CONFIRMATION", 0.0)
    bounds = tightened(program, functionals, [known], Effort(1, 10.0))
    assert bounds.lower.tolist() == [0]
    assert bounds.upper.tolist() == [1]
    assert bounds.is_open_below.tolist() == [True]
    assert bounds.is_open_above.tolist() == [False]
    assert bounds.end(0, 1).why is None


def test_the_second_engine_tells_time_from_disagreement() -> None:
    infeasible = IntegerProgram(
        LinearConstraints(sparse.csr_array(CYCLE[:, :3]), *[np.ones(3, dtype=np.int64)] * 2),
        lower=np.zeros(3, dtype=np.int64),
        upper=np.ones(3, dtype=np.int64),
    )
    assert confirm_infeasible(infeasible)
    assert not confirm_infeasible(infeasible, seconds=0.0)
    with pytest.raises(DisagreementError, match="SCIP finds a solution"):
        confirm_infeasible(open_cycle()[0])


def test_the_second_engine_is_limited_by_what_it_does_and_not_by_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Halves of some numbers: no engine sees that there are none without a tree.
    numbers = np.random.default_rng(1).integers(1, 100, (3, 20))
    half = numbers.sum(axis=1) // 2
    upper = np.ones(20, dtype=np.int64)
    constraints = LinearConstraints(sparse.csr_array(numbers), half, half)
    infeasible = IntegerProgram(constraints, np.zeros(20, dtype=np.int64), upper)
    monkeypatch.setattr(scip, "_PATIENCE", 1e12)
    assert not confirm_infeasible(infeasible, seconds=1e-9)
    assert confirm_infeasible(infeasible, seconds=10.0)


def test_bound_tightening_needs_a_solution() -> None:
    program, functionals, _ = open_cycle()
    with pytest.raises(ValueError, match="known solution"):
        tightened(program, functionals, [], Effort(1, 1.0))
