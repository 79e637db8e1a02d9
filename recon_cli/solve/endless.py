"""Variables that solutions raise above any number.

Where a total is withheld, and all that is summed to it, any number more people may be there. What
shows it is a change in whole numbers that may be made again and again.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.frames import OPEN
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.linear_relaxation import solve_relaxation

#: More than any change needs of one variable.
_MUCH = 2**20
#: Deterministic seconds of the relaxation.
_LIMIT = 60.0


def endless_variables(rows: LinearConstraints, upper: IntArray) -> BoolArray:
    """Which open variables rise in one change that keeps to all rows however often it is made.

    Eq. (ray) of docs/method.md.

    Args:
        rows: With greatest values of `OPEN` where there is none.
        upper: Of each variable, `OPEN` where nothing bounds it.

    Returns:
        All that there are, where the relaxation comes to whole numbers; else none.
    """
    found = np.zeros(len(upper), dtype=bool)
    at = np.flatnonzero(upper >= OPEN)
    if not len(at):
        return found
    A = sparse.csr_array(rows.A[:, at])
    has_end = rows.most < OPEN
    used = np.flatnonzero(np.diff(A.indptr))
    A = sparse.csr_array(A[used])
    nothing = np.zeros(len(used), dtype=np.int64)
    # As many as can be rise by one at once: a part of the change that is worth no more than that.
    twice = sparse.csr_array(sparse.hstack([A, A]))
    most = np.where(has_end[used], 0, _MUCH * np.diff(A.indptr))
    ends = np.repeat([1, _MUCH], len(at))
    program = IntegerProgram(LinearConstraints(twice, nothing, most), 0 * ends, ends)
    cost = np.repeat([-1.0, 0.0], len(at))
    vertex = solve_relaxation(program, cost, _LIMIT)
    if not len(vertex.values):
        return found
    change = np.rint(vertex.values).astype(np.int64).reshape(2, -1).sum(axis=0)
    moved = A @ change
    if (moved < 0).any() or (moved[has_end[used]] > 0).any():
        return found
    found[at[change > 0]] = True
    return found
