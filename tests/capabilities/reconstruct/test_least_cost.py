"""Least costs against enumeration, whatever the relaxation says."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.capabilities.reconstruct import least_cost as module
from recon_cli.capabilities.reconstruct.least_cost import _is_least, _Proven, least_cost
from recon_cli.errors import DisagreementError
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.linear_relaxation import LinearRelaxation, Vertex
from tests.support.programs import solutions
from tests.support.properties import draws


def random_program(seed: int) -> tuple[IntegerProgram, IntArray, int]:
    """Five variables up to 3 in some rows of either sign, their costs, and the least of all."""
    rng = np.random.default_rng(seed)
    A = rng.choice([-1, 0, 1, 1, 2], (4, 5))
    truth = rng.integers(0, 4, 5)
    slack = rng.integers(0, 2, (2, 4))
    rows = LinearConstraints(sparse.csr_array(A), A @ truth - slack[0], A @ truth + slack[1])
    program = IntegerProgram(rows, np.zeros(5, np.int64), np.full(5, 3))
    cost = rng.integers(0, 50, 5)
    points = np.array(list(itertools.product(range(4), repeat=5)))
    sums = points @ A.T
    inside = ((sums >= rows.least) & (sums <= rows.most)).all(axis=1)
    return program, cost, int((points[inside] @ cost).min())


@pytest.mark.parametrize("seed", range(60))
def test_the_least_cost_is_that_of_enumeration(seed: int) -> None:
    program, cost, least = random_program(seed)
    found = least_cost(program, cost, Effort(seed, 5.0))
    assert program.is_feasible(found.values)
    assert found.is_least
    assert int(cost @ found.values) == least


@pytest.mark.parametrize("seed", draws(15, 40))
def test_duals_that_are_off_make_nothing_least_that_is_not(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, cost, least = random_program(seed)
    random = np.random.default_rng(seed)

    class Off(LinearRelaxation):
        def solve(self, *given: Any) -> Vertex:
            vertex = super().solve(*given)
            noise = random.standard_normal(len(vertex.duals))
            return Vertex(vertex.values, vertex.duals + 5 * noise, vertex.deterministic_time)

    monkeypatch.setattr(module, "LinearRelaxation", Off)
    found = least_cost(program, cost, Effort(seed, 5.0))
    assert program.is_feasible(found.values)
    assert not found.is_least or int(cost @ found.values) == least


def test_without_effort_nothing_is_found() -> None:
    program, cost, _ = random_program(0)
    found = least_cost(program, cost, Effort(0, 0.0))
    assert not len(found.values)
    assert not found.is_least


@pytest.mark.parametrize("seed", draws(15, 40))
def test_no_solution_is_least_while_one_is_cheaper_by_one(seed: int) -> None:
    program, _, _ = random_program(seed)
    cost = np.random.default_rng(seed).integers(0, 3, 5)
    inside = solutions(program)
    least = min(int(cost @ point) for point in inside)
    proven = _Proven.of(program, cost, LinearRelaxation(program).solve(cost.astype(float), 5.0))
    assert proven is not None
    assert proven.least <= least
    by_cost = {int(cost @ point): point for point in inside}
    assert _is_least(proven, cost, by_cost[least])
    if least + 1 in by_cost:
        with pytest.raises(DisagreementError):
            _is_least(proven, cost, by_cost[least + 1])
