"""Near values that are no solution, one that is: by the linear relaxation of all the rest.

Counts in margins are nearly network flows, so the vertices of the relaxation are mostly whole
numbers. To start from what is nearly right takes the dual simplex a few hundred pivots, where
CP-SAT would look at everything anew. Floating point only proposes: a solution is one because the
integers say so, and that none was found means nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from recon_cli.model.components import Component
from recon_cli.model.grain import IntArray

#: Deterministic seconds for one non-zero coefficient in one pivot, about as CP-SAT counts.
_PIVOT = 1e-9
#: The work besides pivots, in pivots.
_SETTING_UP = 500
#: More than any component takes; the engine counts them in 32 bits.
_MOST_PIVOTS = 10**9
#: A value so near to a whole number is one.
_WHOLE = 1e-6


@dataclass(frozen=True)
class Mended:
    """What was found.

    Attributes:
        values: The nearest point of the relaxation, rounded; empty without one.
        is_solution: Whether they are a solution.
        broken: The cells where that point is no whole number, rising.
        work: Deterministic seconds.
    """

    values: IntArray
    is_solution: bool
    broken: IntArray
    work: float


def mend(component: Component, start: IntArray, limit: float) -> Mended:
    """The point of the relaxation with the least ``Σ |x − start|``.

    Args:
        component: The program.
        start: A value for each cell, within its bounds; the rows may be broken.
        limit: Deterministic seconds.
    """
    from scipy import optimize  # noqa: PLC0415 - a third of a second, 30 MB

    linprog: Any = optimize.linprog  # whose stubs have no sparse arrays
    A = sparse.csc_array(component.rows.A)
    up, down = component.upper - start, start - component.lower
    more, fewer = np.flatnonzero(up), np.flatnonzero(down)
    change = sparse.csr_array(sparse.hstack([A[:, more], -A[:, fewer]]))
    size = change.shape[1]
    lacks, exceeds = component.rows.least - A @ start, component.rows.most - A @ start
    equal = lacks == exceeds
    pivots = min(int(limit / (_PIVOT * max(change.nnz, 1))) - _SETTING_UP, _MOST_PIVOTS)
    if pivots <= 0 or not size:
        return _nothing(0.0)
    found = linprog(
        np.ones(size),
        A_eq=change[equal],
        b_eq=lacks[equal],
        A_ub=sparse.vstack([change[~equal], -change[~equal]]),
        b_ub=np.concatenate([exceeds[~equal], -lacks[~equal]]),
        bounds=np.stack([np.zeros(size), np.concatenate([up[more], down[fewer]])], 1),
        method="highs-ds",
        # No change at all is a basis that is optimal but for the broken rows: better than any
        # that could come out of presolving.
        options={"presolve": False, "maxiter": pivots},
    )
    work = round((found.nit + _SETTING_UP) * change.nnz * _PIVOT, 9)
    if found.x is None or not found.success:
        return _nothing(work)
    moved = np.zeros(len(start))
    moved[more] += found.x[: len(more)]
    moved[fewer] -= found.x[len(more) :]
    values = start + np.rint(moved).astype(np.int64)
    broken = np.flatnonzero(np.abs(moved - np.rint(moved)) > _WHOLE)
    return Mended(values, component.is_met_by(values), broken, work)


def _nothing(work: float) -> Mended:
    none = np.empty(0, dtype=np.int64)
    return Mended(none, is_solution=False, broken=none, work=work)
