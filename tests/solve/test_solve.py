"""The solvers: every outcome told apart, and no single engine believed."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from recon_cli.errors import DisagreementError, SolverError
from recon_cli.model.bounds import Bounds, propagate
from recon_cli.model.components import split_components
from recon_cli.model.program import IntegerProgram, LinearConstraints, fix_others
from recon_cli.solve import feasibility
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Search
from recon_cli.solve.feasibility import Attempt, Feasibility, min_l1_repair, pump, solve_program
from recon_cli.solve.linear_relaxation import solve_relaxation
from tests.support.programs import (
    IMPOSSIBLE,
    POSSIBLE,
    equalities,
    program_of,
    random_program,
    solutions,
)


def test_a_solution_satisfies_every_row_and_repeats() -> None:
    first, second = solve_program(POSSIBLE, seed=5), solve_program(POSSIBLE, seed=5)
    assert first.outcome is Feasibility.SOLVED
    assert POSSIBLE.constraints.are_met_by(first.values)
    assert (first.values == second.values).all()
    assert first.deterministic_time == second.deterministic_time


def test_the_engines_leave_ctrl_c_to_the_program() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    try:
        assert solve_program(POSSIBLE, seed=1).outcome is Feasibility.SOLVED
        assert solve_program(IMPOSSIBLE, seed=1).outcome is Feasibility.INFEASIBLE
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


def test_highs_comes_without_the_rest_of_scipys_optimizers() -> None:
    code = (
        "import sys\n"
        "from tests.solve.test_solve import POSSIBLE, solve_relaxation\n"
        "solve_relaxation(POSSIBLE, POSSIBLE.lower + 1.0, 1.0)\n"
        "assert 'scipy.optimize' not in sys.modules\n"
        "from scipy.optimize import linprog\n"
        "print(linprog([1, 2], A_ub=[[-1, -1]], b_ub=[-1]).x.tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[1.0, 0.0]\n"


def test_infeasible_needs_both_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert solve_program(IMPOSSIBLE, seed=1).outcome is Feasibility.INFEASIBLE

    def disagree(program: IntegerProgram) -> None:
        raise DisagreementError("SCIP has a solution", "{}")

    monkeypatch.setattr(feasibility, "confirm_infeasible", disagree)
    with pytest.raises(DisagreementError, match="SCIP has a solution"):
        solve_program(IMPOSSIBLE, seed=1)
    assert solve_program(POSSIBLE, seed=1).outcome is Feasibility.SOLVED


def test_the_second_engine_refuses_a_wrong_certificate() -> None:
    with pytest.raises(SolverError, match=r"CP-SAT finds .* infeasible, SCIP finds a solution"):
        confirm_infeasible(POSSIBLE)
    confirm_infeasible(IMPOSSIBLE)


def test_no_answer_within_the_budget_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    A = (rng.random((40, 120)) < 0.3).astype(np.int64)
    hard = program_of(A.tolist(), (A @ rng.integers(0, 3, 120)).tolist())
    monkeypatch.setattr(feasibility, "ROUNDING", 0.0)
    monkeypatch.setattr(feasibility, "ESCALATION", (Attempt(1e-9, Search.RELAXATION),))
    found = solve_program(hard, seed=1)
    assert found.outcome is Feasibility.UNDECIDED
    assert not len(found.values)


def test_propagation_names_a_conflict_and_is_exact_on_a_chain() -> None:
    A = sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]], dtype=np.int64))
    bounds = propagate(equalities(A, [3, 3, 2]))
    assert bounds.lower.tolist() == bounds.upper.tolist() == [2, 1, 2]
    assert propagate(equalities(A, [0, 3, 2])).conflict.any()


def test_components_share_no_row_and_packs_keep_to_their_region() -> None:
    block = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]])
    A = sparse.csr_array(np.kron(np.eye(6, dtype=np.int64), block))
    rhs = np.ones(18, dtype=np.int64)
    bounds = propagate(equalities(A, rhs))
    regions = np.repeat([0, 0, 0, 1, 1, 2], 4)
    apart = list(split_components(equalities(A, rhs), bounds, regions, pack=1))
    assert [len(part.columns) for part in apart] == [4] * 6
    packs = list(split_components(equalities(A, rhs), bounds, regions, pack=100))
    assert [len(part.columns) for part in packs] == [12, 8, 4]
    together = np.concatenate([part.columns for part in packs])
    assert together.tolist() == list(range(24))


def test_equal_rows_that_disagree_are_both_kept() -> None:
    A = sparse.csr_array(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1]], dtype=np.int64))
    regions = np.zeros(3, dtype=np.int64)
    agree, differ = np.array([4, 4, 5]), np.array([4, 3, 5])
    (part,) = split_components(equalities(A, agree), propagate(equalities(A, agree)), regions)
    assert len(part.rows) == 2
    no = np.zeros(3, dtype=bool)
    open_bounds = Bounds(np.zeros(3, dtype=np.int64), np.full(3, 5), no, no)
    (part,) = split_components(equalities(A, differ), open_bounds, regions)
    assert len(part.rows) == 3
    assert solve_program(part.program, seed=1).outcome is Feasibility.INFEASIBLE


@pytest.mark.parametrize("seed", range(12))
def test_what_stays_is_left_as_it_is(seed: int) -> None:
    whole = random_program(seed)
    cells = np.array([1, 3, 6])
    others = np.setdiff1d(np.arange(7), cells)
    every = solutions(whole)
    for values in (every[0], every[-1], np.zeros(7, dtype=np.int64)):
        near = {tuple(found) for found in solutions(fix_others(whole, cells, values).program)}
        same = [each for each in every if (each[others] == values[others]).all()]
        assert near == {tuple(each[cells]) for each in same}


@pytest.mark.parametrize("seed", range(20))
def test_what_is_mended_is_the_nearest_solution(seed: int) -> None:
    exact = random_program(seed)
    slack = np.arange(4) % 2
    rows = LinearConstraints(
        exact.constraints.A, exact.constraints.least - slack, exact.constraints.most + slack
    )
    for program in (exact, replace(exact, constraints=rows)):
        start = np.random.default_rng(seed).integers(0, 3, size=7)
        mended = pump(program, start, 0.5)
        nearest = min(np.abs(values - start).sum() for values in solutions(program))
        assert mended.is_solution or len(mended.fractional)
        assert 0 <= mended.deterministic_time < 0.5
        assert (mended.deterministic_time == 0) == program.is_feasible(start)
        assert program.is_feasible(mended.values) == mended.is_solution
        if not len(mended.fractional):
            assert np.abs(mended.values - start).sum() == nearest


def test_what_is_nearly_mended_is_mended_again(monkeypatch: pytest.MonkeyPatch) -> None:
    A = [
        [1, 1, 0, 1, 1, 1, 0],
        [1, 0, 1, 1, 0, 0, 0],
        [1, 0, 1, 0, 1, 0, 0],
        [0, 0, 0, 0, 1, 0, 1],
        [1, 0, 1, 0, 0, 1, 0],
    ]
    program = program_of(A, [5, 4, 4, 1, 5], upper=2)
    start = np.array([1, 1, 1, 0, 1, 2, 2])
    mended = pump(program, start, 0.5)
    assert program.is_feasible(mended.values)
    monkeypatch.setattr(feasibility, "_MOST_TURNS", 1)
    once = pump(program, start, 0.5)
    assert not once.is_solution
    assert len(once.fractional)
    assert once.deterministic_time < mended.deterministic_time


@pytest.mark.parametrize("seed", range(20))
def test_the_cheapest_vertex_costs_no_more_than_any_solution(seed: int) -> None:
    program = random_program(seed)
    cost = np.random.default_rng(seed).random(7)
    vertex = solve_relaxation(program, cost, 0.5)
    assert 0 < vertex.deterministic_time < 0.5
    people = program.constraints.A @ vertex.values
    assert (people > program.constraints.least - 1e-6).all()
    assert (people < program.constraints.most + 1e-6).all()
    least = min(cost @ values for values in solutions(program))
    assert cost @ vertex.values <= least + 1e-9
    assert not len(solve_relaxation(program, cost, 0.0).values)


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_solution_from_wherever_the_start_is(seed: int) -> None:
    program = random_program(seed)
    every = solutions(program)
    lower, upper = every[0] // 2, np.maximum(every[0], 1)  # so that a start may be out of bounds
    tight = replace(program, lower=lower, upper=upper)
    start = np.random.default_rng(seed).integers(0, 4, size=7)
    found = min_l1_repair(tight, start, Effort(seed, 5.0))
    least = min(np.abs(values - start).sum() for values in solutions(tight))
    assert tight.is_feasible(found.values)
    assert np.abs(found.values - start).sum() == least
    fixed = replace(program, lower=every[0], upper=every[0])
    assert (min_l1_repair(fixed, every[0], Effort(seed, 5.0)).values == every[0]).all()


def test_without_a_limit_the_relaxation_is_solved_too() -> None:
    assert len(solve_relaxation(POSSIBLE, np.ones(3), np.inf).values)


@pytest.mark.parametrize("seed", range(20))
def test_with_the_relaxation_and_without_it_a_solution_is_found(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = random_program(seed)
    assert program.is_feasible(solve_program(program, seed).values)
    monkeypatch.setattr(feasibility, "ROUNDING", 0.0)
    assert program.is_feasible(solve_program(program, seed).values)


def test_what_cannot_be_mended_is_left() -> None:
    halves = pump(IMPOSSIBLE, np.zeros(3, dtype=np.int64), 0.5)
    assert not halves.is_solution
    assert halves.fractional.tolist() == [0, 1, 2]
    none = pump(program_of([[1, 1]], [5], upper=2), np.zeros(2, dtype=np.int64), 0.5)
    assert not none.is_solution
    assert not len(none.values)
    endless = pump(POSSIBLE, np.zeros(3, dtype=np.int64), 1e9)
    assert endless.is_solution
    for limit in (0.0, 1e-9):
        tired = pump(POSSIBLE, np.zeros(3, dtype=np.int64), limit)
        assert not len(tired.values)
        assert tired.deterministic_time == 0
