"""A relaxation that begins with a basis of one's own finds what it finds from slacks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.linear_relaxation import LinearRelaxation


@pytest.mark.parametrize("seed", range(10))
def test_the_least_cost_does_not_depend_on_the_first_basis(seed: int) -> None:
    rng = np.random.default_rng(seed)
    entries = np.hstack([rng.integers(0, 2, (4, 8)), -np.eye(4, dtype=np.int64)])
    nothing = np.zeros(4, dtype=np.int64)
    rows = LinearConstraints(sparse.csr_array(entries), nothing, nothing)
    lower, upper = np.zeros(12, dtype=np.int64), np.full(12, 9)
    lower[:8], lower[8 + int(np.argmax(entries[:, :8].any(axis=1)))] = -rng.integers(0, 3, 8), 3
    cost = np.concatenate([rng.uniform(0.1, 1.0, 8), np.zeros(4)])
    program = IntegerProgram(rows, lower, upper)
    relaxation = LinearRelaxation(program)
    relaxation.begin_with(np.arange(4), np.arange(8, 12))
    found, expected = relaxation.solve(cost, 5.0), LinearRelaxation(program).solve(cost, 5.0)
    assert len(found.values) == len(expected.values) == 12
    assert found.values @ cost == pytest.approx(expected.values @ cost)
    upper[:8] = rng.integers(1, 9, 8)
    relaxation.narrow(lower, upper)
    again = LinearRelaxation(IntegerProgram(rows, lower, upper)).solve(cost, 5.0)
    assert relaxation.solve(cost, 5.0).values @ cost == pytest.approx(again.values @ cost)
