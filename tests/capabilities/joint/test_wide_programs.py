"""Sifting, solutions among likely variables, proofs by cases: against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.capabilities.joint import sifting
from recon_cli.capabilities.joint.least import Start, least_records, prove_by_cases
from recon_cli.capabilities.joint.sifting import SiftedRelaxation, first_solution
from recon_cli.model.ledger import Cases, Combination, Ledger
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.feasibility import Feasibility
from recon_cli.solve.linear_relaxation import LinearRelaxation
from tests.support.programs import solutions
from tests.support.properties import draws


def random_program(random: np.random.Generator, width: int = 8) -> tuple[IntegerProgram, IntArray]:
    """Rows of small coefficients of both signs, and a solution of them."""
    A = random.integers(-1, 3, (4, width))
    known = random.integers(0, 3, width)
    total = A @ known
    slack = random.integers(0, 2, len(total))
    rows = LinearConstraints(sparse.csr_array(A), total - slack, total)
    return IntegerProgram(rows, np.zeros(width, np.int64), np.full(width, 2)), known


@pytest.mark.parametrize("seed", range(20))
def test_sifting_finds_the_vertex_of_all_variables(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sifting, "_FEW", 0)
    monkeypatch.setattr(sifting, "_ENTER", 0)
    random = np.random.default_rng(seed)
    program, known = random_program(random, 60)
    sifted = SiftedRelaxation(program, np.flatnonzero(known))
    for _ in range(3):
        cost = random.random(60)
        least = LinearRelaxation(program).solve(cost, 10.0).values @ cost
        found = sifted.solve(cost, 10.0)
        assert found.values @ cost == pytest.approx(least)
        assert (cost - program.constraints.A.T @ found.duals)[found.values == 0].min() > -1e-6


@pytest.mark.parametrize("seed", draws(15, 40))
def test_least_values_are_those_of_enumeration_and_their_proofs_add_up(seed: int) -> None:
    random = np.random.default_rng(seed)
    program, known = random_program(random)
    every = solutions(program)
    found = first_solution(program, Effort(seed, 10.0))
    assert found.solution.outcome is Feasibility.SOLVED
    assert program.is_feasible(found.solution.values)
    sums = sparse.csr_array(np.eye(8, dtype=np.int64))
    ledger = least_records(program, sums, Start([known], found.likely), Effort(seed, 20.0))
    assert ledger.lower.tolist() == np.min(every, axis=0).tolist()
    ledger.recheck()


@pytest.mark.parametrize("seed", draws(15, 40))
def test_cases_prove_the_least_value_or_refute_more(seed: int) -> None:
    random = np.random.default_rng(seed)
    program, _ = random_program(random)
    functional = random.integers(0, 3, 8)
    least = min(int(functional @ each) for each in solutions(program))
    found = prove_by_cases(program, functional, least, 10.0)
    assert found.why is not None
    assert found.why.bound(program, functional) >= least
    beyond = prove_by_cases(program, functional, least + 1, 10.0)
    assert beyond.why is None
    assert int(functional @ beyond.solution) <= least


@pytest.mark.parametrize("seed", range(5))
def test_without_time_cases_prove_and_refute_nothing(seed: int) -> None:
    random = np.random.default_rng(seed)
    program, _ = random_program(random)
    functional = random.integers(0, 3, 8)
    for bound in (0, 1, 100):
        found = prove_by_cases(program, functional, bound, 0.0)
        assert (found.why, len(found.solution), found.deterministic_time) == (None, 0, 0.0)


def test_a_gap_that_duals_leave_is_closed_by_cases_and_checked() -> None:
    row = sparse.csr_array(np.array([[2, 2, 2, 1]]))
    odd = LinearConstraints(row, np.array([3]), np.array([3]))
    program = IntegerProgram(odd, np.zeros(4, np.int64), np.ones(4, np.int64))
    functional = np.array([0, 0, 0, 1])
    found = prove_by_cases(program, functional, 1, 10.0)
    assert isinstance(found.why, Cases)
    assert found.why.bound(program, functional) == 1
    known = [np.array([1, 0, 0, 1])]
    ledger = Ledger(program, sparse.csr_array(functional[None]), known)
    ledger.prove(0, 1, 1, found.why)
    ledger.recheck()
    with pytest.raises(ValueError, match="cases cannot be kept"):
        ledger.state()
    wrong = Combination(1, np.array([0]), np.array([1]))
    ledger = Ledger(program, sparse.csr_array(functional[None]), known)
    ledger.prove(0, 1, 1, Cases(0, 0, wrong, wrong))
    with pytest.raises(ValueError, match="do not add up"):
        ledger.recheck()
    with pytest.raises(ValueError, match="no two cases"):
        Cases(0, 5, wrong, wrong).bound(program, functional)
