"""Moves of single people: each ends in a solution, and where counts are loose all is shown."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.capabilities.audit import person_moves
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


def test_a_solution_widens_what_is_open_and_not_yet_as_wide() -> None:
    spans = Spans(np.array([3, 3]), np.array([3, 5]), wanted=2)
    assert not spans.see(np.array([3, 9])), "the second is wide enough"
    assert not spans.see(np.array([3, 3]))
    assert spans.see(np.array([2, 3]))
    assert not spans.see(np.array([2, 3])), "it was seen"
    assert spans.see(np.array([4, 3]))
    assert (spans.least.tolist(), spans.greatest.tolist()) == ([2, 3], [4, 9])


@pytest.mark.parametrize("seed", range(10))
def test_nobody_leaves_who_is_not_there_where_moves_are_too_many_to_try(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of nine kinds the last has nobody; only bounds of the kinds say so, no row."""
    monkeypatch.setattr(person_moves, "_TRIED", 4)
    known = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0])
    everybody = sparse.csr_array(np.ones((1, 9), dtype=np.int64))
    rows = LinearConstraints(everybody, np.array([2]), np.array([6]))
    program = IntegerProgram(rows, np.zeros(9, dtype=np.int64), np.full(9, 9))
    asked, start = sparse.csr_array(np.eye(9, dtype=np.int64)), known.copy()
    moves, random = PersonMoves(program, asked, known, 0 * known), np.random.default_rng(seed)
    found = list(moves.solutions(Spans(start, start, 2), random))
    assert found
    assert all(program.is_feasible(people) for people in found)
