"""Rays: changes that keep all rows at any scale, so that some counts have no upper bound."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.frames import OPEN
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.linear_relaxation import solve_relaxation

#: More than any ray needs of one variable.
_MUCH = 2**20
#: Deterministic seconds for rays.
_LIMIT = 60.0


def endless_variables(rows: LinearConstraints, upper: IntArray) -> BoolArray:
    """Find the open variables that increase along a ray: a change that keeps all rows at any scale.

    If a total is withheld, and everything that sums to it, any number of further people is
    possible. Eq. (ray) of docs/method.md, in integers.

    Args:
        rows: Rows whose upper bounds are `OPEN` where there is none.
        upper: Upper bound of each variable, `OPEN` if unbounded.

    Returns:
        A mask of all such variables if the relaxation's vertex is integral; else of none.
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
    # Maximise the number of variables that increase along the ray, each counted once.
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
