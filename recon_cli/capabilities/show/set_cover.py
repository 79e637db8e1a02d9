"""The cheapest set of elements with at least one from each of several sets.

Reductions come first (Beasley 1987): an element that is alone in a set is taken; one that is in no
set without a cheaper one is dropped; a set that includes another one is redundant. If few elements
remain, every choice is tried, else CP-SAT is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.cp_sat import Effort, Status, maximize

#: Most elements whose every choice is tried.
_FEW = 12
#: Number of rows that are compared with all others at a time.
_SLAB = 64


def minimum_set_cover(
    sets: Sequence[frozenset[int]], cost: Callable[[int], int], effort: Effort
) -> list[int] | None:
    """Find the elements of a cover, sorted; None if the budget was not enough.

    Within the budget it is the cheapest; no claim may depend on that.

    Args:
        sets: None of them empty.
        cost: Positive cost of an element.
    """
    elements = np.array(sorted(frozenset[int]().union(*sets)), dtype=np.int64)
    holds = np.zeros((len(sets), len(elements)), dtype=bool)
    for row, each in enumerate(sets):
        holds[row, np.searchsorted(elements, sorted(each))] = True
    price = np.array([cost(element) for element in elements.tolist()], dtype=np.int64)
    taken, rows, columns = _decide(holds, price)
    if len(rows):
        open_, costs = holds[rows][:, columns], price[columns]
        found = _try_all(open_, costs) if len(costs) <= _FEW else _search(open_, costs, effort)
        if found is None:
            return None
        taken[columns[found]] = True
    return [int(element) for element in elements[taken]]


def _decide(holds: BoolArray, price: IntArray) -> tuple[BoolArray, IntArray, IntArray]:
    """Return the elements in some cheapest cover, and the open sets and elements."""
    taken = np.zeros(len(price), dtype=bool)
    # An element is dropped if a cheaper, or earlier and equally cheap, element is in all its sets.
    columns = np.lexsort((np.arange(len(price)), -holds.sum(axis=0), price))
    rows = np.argsort(holds.sum(axis=1), kind="stable")
    while True:
        before = len(rows), len(columns)
        open_ = holds[rows][:, columns]
        alone = open_[open_.sum(axis=1) == 1].any(axis=0)
        taken[columns[alone]] = True
        rows, columns = rows[~open_[:, alone].any(axis=1)], columns[~alone]
        columns = columns[~_inside_earlier(holds[rows][:, columns].T)]
        rows = rows[~_inside_earlier(~holds[rows][:, columns])]
        if (len(rows), len(columns)) == before:
            return taken, np.sort(rows), np.sort(columns)


def _inside_earlier(table: BoolArray) -> BoolArray:
    """Test for each row whether it is contained in an earlier row."""
    rows, size = table.shape
    padded = np.zeros((rows, size + -size % 64), dtype=bool)
    padded[:, :size] = table
    words = np.packbits(padded, axis=1).view(np.uint64)
    inside = np.zeros(rows, dtype=bool)
    for start in range(0, rows, _SLAB):
        slab = slice(start, start + _SLAB)
        beyond = np.zeros((len(words[slab]), rows), dtype=bool)
        for word in words.T:
            np.logical_or(beyond, word[slab, None] & ~word[None, :], out=beyond)
        inside[slab] = np.tril(~beyond, start - 1).any(axis=1)
    return inside


def _try_all(holds: BoolArray, price: IntArray) -> IntArray:
    """Return the columns of the cheapest cover."""
    choices = np.arange(2 ** len(price))[:, None] >> np.arange(len(price)) & 1
    covers = (choices @ holds.T.astype(np.int64) > 0).all(axis=1)
    cheapest = np.argmin(np.where(covers, choices @ price, np.iinfo(np.int64).max))
    return np.flatnonzero(choices[cheapest])


def _search(holds: BoolArray, price: IntArray, effort: Effort) -> IntArray | None:
    """Find the columns of a cover by CP-SAT."""
    count, size = holds.shape
    program = IntegerProgram(
        LinearConstraints(
            sparse.csr_array(holds.astype(np.int64)),
            np.ones(count, dtype=np.int64),
            np.full(count, size),
        ),
        lower=np.zeros(size, dtype=np.int64),
        upper=np.ones(size, dtype=np.int64),
    )
    answer = maximize(program, -price, effort)
    if answer.status not in {Status.OPTIMAL, Status.FEASIBLE}:
        return None
    return np.flatnonzero(answer.values)
