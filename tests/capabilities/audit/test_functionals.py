"""Counts split over connected parts add up, whatever their rows are told apart by."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from scipy import sparse

from recon_cli.capabilities.audit.ends import DistinctFunctionals
from recon_cli.model.program import IntegerProgram, LinearConstraints


def random_counts(seed: int) -> tuple[IntegerProgram, sparse.csr_array]:
    """A program of some connected parts, and counts of which some are the same."""
    rng = np.random.default_rng(seed)
    A = sparse.csr_array(np.kron(np.eye(3, dtype=np.int64), np.ones((1, 4), dtype=np.int64)))
    some = np.full(3, 4, dtype=np.int64)
    program = IntegerProgram(
        LinearConstraints(A, some, some), np.zeros(12, dtype=np.int64), np.full(12, 4)
    )
    counts = rng.integers(0, 2, (6, 12))
    return program, sparse.csr_array(np.concatenate([counts, counts[:3]]))


@pytest.mark.parametrize("seed", range(8))
def test_functionals_add_up_to_the_counts(seed: int) -> None:
    program, counts = random_counts(seed)
    found = DistinctFunctionals.of(program, counts)
    assert ((found.cells @ found.coefficients) != counts).nnz == 0
    rows = found.coefficients.toarray()
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert all(
        set(np.flatnonzero(row) // 4) == {part} for row, part in zip(rows, found.part, strict=True)
    )


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_only_look_equal_are_kept_apart(seed: int) -> None:
    program, counts = random_counts(seed)
    alike = mock.Mock()
    alike.integers.return_value = np.ones((12, 2), dtype=np.int64)  # as many people, as the same
    with mock.patch("numpy.random.default_rng", return_value=alike):
        found = DistinctFunctionals.of(program, counts)
    assert ((found.cells @ found.coefficients) != counts).nnz == 0
