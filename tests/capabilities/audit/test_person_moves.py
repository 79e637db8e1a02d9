"""Moves of single people: each ends in a solution, and where counts are loose all is shown."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.capabilities.audit.person_moves import PersonMoves, Spans
from recon_cli.model.program import IntegerProgram, LinearConstraints

#: Two units of three kinds: rows are each kind's number, each unit's people, and all people.
A = sparse.csr_array(
    np.vstack([np.eye(6), np.kron(np.eye(2), np.ones(3)), np.ones(6)]).astype(np.int64)
)
UNIT = np.repeat([0, 1], 3)


def shown(slack: int, wanted: int, seed: int) -> Spans:
    """What moves show of all rows where each count may be so much more or less."""
    random = np.random.default_rng(seed)
    known = random.integers(0, 4, 6)
    total: IntArray = A.toarray() @ known
    rows = LinearConstraints(A, np.maximum(total - slack, 0), total + slack)
    program = IntegerProgram(rows, np.zeros(6, dtype=np.int64), np.full(6, 9))
    spans = Spans(total, total, wanted)
    for people in PersonMoves(program, A, known, UNIT).solutions(spans, random):
        assert program.is_feasible(people)
    return spans


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("wanted", [1, 2])
def test_loose_counts_are_shown_to_differ(seed: int, wanted: int) -> None:
    assert not shown(2, wanted, seed).is_open.any()


def test_exact_counts_are_not() -> None:
    assert shown(0, 1, 1).is_open.all()
