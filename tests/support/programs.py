"""Small integer programs, and all their solutions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.model.program import IntegerProgram, LinearConstraints


def program_of(rows: list[list[int]], rhs: list[int], upper: int = 9) -> IntegerProgram:
    A = sparse.csr_array(np.array(rows, dtype=np.int64))
    n = A.shape[1]
    return IntegerProgram(
        equalities(A, rhs),
        lower=np.zeros(n, dtype=np.int64),
        upper=np.full(n, upper, dtype=np.int64),
    )


def equalities(A: sparse.csr_array, rhs: Sequence[int] | IntArray) -> LinearConstraints:
    side = np.array(rhs, dtype=np.int64)
    return LinearConstraints(A, side, side)


def solutions(program: IntegerProgram) -> list[IntArray]:
    ranges = [range(low, high + 1) for low, high in zip(program.lower, program.upper, strict=True)]
    every = np.array(list(itertools.product(*ranges)), dtype=np.int64)
    people = every @ program.constraints.A.toarray().T
    met = (people >= program.constraints.least) & (people <= program.constraints.most)
    return list(every[met.all(axis=1)])


def random_program(seed: int) -> IntegerProgram:
    rng = np.random.default_rng(seed)
    A = rng.integers(0, 2, size=(4, 7))
    truth = rng.integers(0, 3, size=7)
    return program_of(A.tolist(), (A @ truth).tolist(), upper=2)


POSSIBLE = program_of([[1, 1, 0], [0, 1, 1], [2, 0, 1]], [3, 4, 7])
# An odd cycle: each pair holds one person, which only halves could do.
IMPOSSIBLE = program_of([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1, 1, 1])
