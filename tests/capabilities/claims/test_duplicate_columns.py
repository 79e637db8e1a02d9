"""Merging duplicate columns loses no solution, and bounds sets of variables from both sides."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from scipy import sparse

from recon_cli.capabilities.claims.duplicate_columns import merge_duplicate_columns
from recon_cli.model.program import IntegerProgram, LinearConstraints
from tests.support.programs import solutions
from tests.support.properties import SEEDS, examples


def random_program(seed: int) -> IntegerProgram:
    """A tiny program in which some columns are alike, a few with bounds of their own."""
    rng = np.random.default_rng(seed)
    A = rng.integers(0, 3, (int(rng.integers(1, 4)), 3))[:, rng.integers(0, 3, 5)]
    truth = rng.integers(0, 3, 5)
    lower = (rng.random(5) < 0.2) * np.minimum(truth, 1)
    upper = np.maximum(truth, rng.integers(1, 5, 5))
    width = rng.integers(0, 3, len(A))
    rows = LinearConstraints(sparse.csr_array(A), A @ truth - width, A @ truth + width)
    return IntegerProgram(rows, lower.astype(np.int64), upper.astype(np.int64))


@examples(30)
@given(seed=SEEDS)
def test_sums_have_the_solutions_of_their_variables(seed: int) -> None:
    program = random_program(seed)
    merged = merge_duplicate_columns(program)
    whole = solutions(program)
    sums = {tuple(merged.add_up(x).tolist()) for x in whole}
    assert sums == {tuple(y.tolist()) for y in solutions(merged.program)}
    for y in solutions(merged.program):
        x = np.zeros(5, dtype=np.int64)
        x[merged.one_of_each(np.random.default_rng(seed))] = y
        assert program.is_feasible(x)
    sets = (np.arange(1, 1 << 5)[:, None] >> np.arange(5) & 1).astype(bool)
    inner, outer = merged.between(sets)
    for total in sums:
        here = [x for x in whole if tuple(merged.add_up(x).tolist()) == total]
        sizes = sets.astype(np.int64) @ np.stack(here, axis=1)
        assert (sizes.min(axis=1) == inner.astype(np.int64) @ total).all()
        assert (sizes.max(axis=1) == outer.astype(np.int64) @ total).all()
