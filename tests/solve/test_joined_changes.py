"""Changes of single blocks, put together: solutions, and what enumeration says they reach."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.model.ledger import Ledger
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.joined_changes import BlockChanges

UNITS, CELLS = 3, 2


def region(seed: int) -> tuple[IntegerProgram, IntArray, IntArray]:
    """Three units of two cells; rows of each unit, and of all with little room.

    Returns:
        The program, the rows of units in it, and all its solutions.
    """
    rng = np.random.default_rng(seed)
    width = UNITS * CELLS
    of_units = np.eye(UNITS, dtype=np.int64).repeat(CELLS, axis=1)
    of_all = np.array([np.ones(width), rng.integers(0, 2, width)]).astype(np.int64)
    A = np.concatenate([of_units, of_all])
    truth = rng.integers(0, 3, width)
    slack = np.concatenate([np.full((2, UNITS), 2), rng.integers(0, 2, (2, 2))], axis=1)
    sums = A @ truth
    rows = LinearConstraints(sparse.csr_array(A), sums - slack[0], sums + slack[1])
    program = IntegerProgram(rows, np.zeros(width, np.int64), np.full(width, 3))
    points = np.array(list(itertools.product(range(4), repeat=width)))
    every = points[((points @ A.T >= rows.least) & (points @ A.T <= rows.most)).all(axis=1)]
    return program, of_units, every


def changes_of_units(program: IntegerProgram, of_units: IntArray, known: IntArray) -> BlockChanges:
    """Every change of a unit that its own row, and its cells' bounds, allow."""
    changes, rows = BlockChanges(), program.constraints
    for unit, row in enumerate(of_units):
        columns = np.flatnonzero(row)
        for values in itertools.product(range(4), repeat=CELLS):
            change = np.array(values) - known[columns]
            moved = np.flatnonzero(change)
            if rows.least[unit] <= sum(values) <= rows.most[unit]:
                changes.keep(unit, columns[moved], change[moved])
    return changes


@pytest.mark.parametrize("seed", range(20))
def test_what_is_put_together_is_a_solution(seed: int) -> None:
    program, of_units, every = region(seed)
    known = every[seed % len(every)]
    cells = np.eye(program.shape[1], dtype=np.int64)
    C = np.concatenate([cells, of_units, program.constraints.A.toarray()[UNITS:]])
    ledger = Ledger(program, sparse.csr_array(C), [known])
    total, values = program.constraints.A @ known, C @ known
    changes_of_units(program, of_units, known).join(ledger, 0, total, values, 10.0)
    ledger.recheck()
    reached = every @ C.T
    assert (ledger.least >= reached.min(axis=0)).all()
    assert (ledger.greatest <= reached.max(axis=0)).all()
    # Cells and units that one or two units' changes take farther are taken so far.
    far = ((every != known).reshape(len(every), UNITS, CELLS).any(axis=2).sum(axis=1)) < 3
    near = every[far] @ C[:-2].T
    assert (ledger.least[:-2] <= near.min(axis=0)).all()
    assert (ledger.greatest[:-2] >= near.max(axis=0)).all()


def test_units_that_nothing_but_others_lets_move_are_moved() -> None:
    # Two units of one cell each that are three together.
    rows = LinearConstraints(sparse.csr_array(np.array([[1, 1]])), np.array([3]), np.array([3]))
    program = IntegerProgram(rows, np.zeros(2, np.int64), np.full(2, 3))
    ledger = Ledger(program, sparse.csr_array(np.eye(2, dtype=np.int64)), [np.array([2, 1])])
    changes = BlockChanges()
    changes.keep(0, np.array([0]), np.array([1]))
    changes.keep(1, np.array([1]), np.array([-1]))
    changes.join(ledger, 0, np.array([3]), np.array([2, 1]), 0.0)
    assert ledger.greatest.tolist() == [2, 1]
    changes.join(ledger, 0, np.array([3]), np.array([2, 1]), 1.0)
    assert ledger.greatest.tolist() == [3, 1]
    assert ledger.least.tolist() == [2, 0]
    ledger.recheck()


def test_changes_of_blocks_that_overlap_keep_within_the_bounds() -> None:
    # The first two cells are as many as the third. Two blocks share the first cell, and together
    # would raise it by more than it may rise.
    equal = sparse.csr_array(np.array([[1, 1, -1]]))
    rows = LinearConstraints(equal, np.array([0]), np.array([0]))
    program = IntegerProgram(rows, np.zeros(3, np.int64), np.array([1, 0, 2]))
    known = np.zeros(3, np.int64)
    ledger = Ledger(program, sparse.csr_array(np.eye(3, dtype=np.int64)), [known])
    changes = BlockChanges()
    changes.keep(0, np.array([0]), np.array([1]))
    changes.keep(1, np.array([0, 2]), np.array([1, 2]))
    changes.join(ledger, 0, known, known, 1.0)
    assert not ledger.greatest.any()
    changes.keep(2, np.array([2]), np.array([1]))
    changes.join(ledger, 0, known, known, 1.0)
    assert ledger.greatest.tolist() == [1, 0, 1]
    ledger.recheck()
