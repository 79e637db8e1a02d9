"""The cheapest choice that takes at least one element from each of several sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse

from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.cp_sat import Effort, Status, maximize


def minimum_set_cover(
    sets: Sequence[frozenset[int]], cost: Callable[[int], int], effort: Effort
) -> list[int] | None:
    """The elements of a cover, rising; None if the effort was not enough to find one.

    Within the effort it is the cheapest; every claim built on it must stand without that.

    Args:
        sets: None of them empty.
        cost: Positive cost of an element.
        effort: How hard to try.

    Raises:
        SolverError: The solver rejected the model, or returned values that do not satisfy it.
    """
    elements = sorted(frozenset[int]().union(*sets))
    place = {element: i for i, element in enumerate(elements)}
    row = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
    column = np.array([place[element] for each in sets for element in sorted(each)], dtype=np.int64)
    A = sparse.csr_array(
        (np.ones(len(row), dtype=np.int64), (row, column)), shape=(len(sets), len(elements))
    )
    size = len(elements)
    program = IntegerProgram(
        LinearConstraints(A, np.ones(len(sets), dtype=np.int64), np.full(len(sets), size)),
        lower=np.zeros(size, dtype=np.int64),
        upper=np.ones(size, dtype=np.int64),
    )
    price = np.array([cost(element) for element in elements], dtype=np.int64)
    answer = maximize(program, -price, effort)
    if answer.status not in {Status.OPTIMAL, Status.FEASIBLE}:
        return None
    return [elements[i] for i in np.flatnonzero(answer.values).tolist()]
