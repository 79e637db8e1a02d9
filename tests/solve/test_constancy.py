"""Functionals that are proven constant are so in every solution, found by enumeration."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.model.program import ConnectedParts, IntegerProgram, LinearConstraints
from recon_cli.solve.constancy import combinations, prove_constant
from recon_cli.solve.dual_bounds import WeightedRows
from recon_cli.solve.linear_relaxation import LinearRelaxation
from tests.support.programs import solutions


def random_program(rng: np.random.Generator) -> tuple[IntegerProgram, IntArray]:
    """A program of rows of zeros and ones between two numbers, and all its solutions."""
    width, rows = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    A = rng.integers(0, 2, (rows, width))
    A[A.sum(axis=1) == 0, 0] = 1
    upper = rng.integers(0, 4, width)
    total = A @ np.minimum(rng.integers(0, 4, width), upper)
    slack = rng.integers(0, 2, (2, rows))
    program = IntegerProgram(
        LinearConstraints(sparse.csr_array(A), total - slack[0], total + slack[1]),
        np.zeros(width, dtype=np.int64),
        upper,
    )
    return program, np.array(solutions(program))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_is_proven_constant_is_so_in_every_solution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program, every = random_program(rng)
    width = program.shape[1]
    one_part = np.eye(width, dtype=np.int64)
    relaxation = LinearRelaxation(program)
    every_one = sparse.csr_array(one_part)
    added = WeightedRows(program, ConnectedParts.of(program))
    shown = prove_constant(added, every_one, None, relaxation, seed=seed, limit=1.0)
    varies = every.min(axis=0) < every.max(axis=0)
    assert not (shown.span.is_constant & varies).any()
    for at in np.flatnonzero(shown.span.is_constant):
        low, high = combinations(added, one_part[at], shown.span.weights[at], shown.tight)
        value = int(every[0][at])
        assert low.bound(program, one_part[at]) == value
        assert high.bound(program, -one_part[at]) == -value
    assert not (shown.tight.variables & varies).any()
    totals = every @ program.constraints.A.T.toarray()
    assert not (shown.tight.rows & (totals.min(axis=0) < totals.max(axis=0))).any()


def test_an_inequality_at_its_end_proves_all_in_it_at_once() -> None:
    """Three flags of at least one each that sum to three are ones."""
    program = IntegerProgram(
        LinearConstraints(
            sparse.csr_array(np.ones((1, 3), np.int64)), np.array([0]), np.array([3])
        ),
        np.ones(3, dtype=np.int64),
        np.full(3, 9),
    )
    every = sparse.csr_array(np.eye(3, dtype=np.int64))
    added = WeightedRows(program, ConnectedParts.of(program))
    shown = prove_constant(added, every, None, LinearRelaxation(program), seed=1, limit=1.0)
    assert shown.tight.rows.all()
    assert shown.span.is_constant.all()
