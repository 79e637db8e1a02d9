"""Feasibility intervals by bounds propagation (the shuttle algorithm; iterated Fréchet bounds).

See *bounds propagation* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import IntArray

#: Valid at every sweep; the limit only stops systems that creep by one person a sweep.
_SWEEPS = 500


@dataclass(frozen=True)
class Bounds:
    """Intervals that contain every solution.

    Attributes:
        lower: Least people in each candidate.
        upper: Most people in each candidate.
        conflict: Rows that cannot be met within the bounds; then there is no solution.
    """

    lower: IntArray
    upper: IntArray
    conflict: npt.NDArray[np.bool_]

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """Candidates with more than one possible count."""
        return self.lower < self.upper


def propagate(rows: LinearConstraints) -> Bounds:
    """Tighten ``0 <= x`` under rows to a fixed point: Eq. (upper) and (lower) of docs/method.md.

    One sweep takes all rows at once, as sparse products: new upper bounds, then lower bounds.

    Args:
        rows: Every cell is in some row, with a positive coefficient.

    Returns:
        Bounds; on a conflict they are those of the sweep that met it.
    """
    A, least, most = rows.A, rows.least, rows.most
    columns = A.tocsc()
    row = columns.indices
    coefficient = columns.data
    width = np.diff(columns.indptr)
    cell = np.repeat(np.arange(A.shape[1]), width)
    lower = np.zeros(A.shape[1], dtype=np.int64)
    upper = np.full(A.shape[1], most.max(initial=0), dtype=np.int64)
    starts = columns.indptr[:-1]
    for _ in range(_SWEEPS if A.shape[1] else 0):
        room = (most - A @ lower)[row] + coefficient * lower[cell]
        tighter = np.minimum(upper, np.minimum.reduceat(room // coefficient, starts))
        need = (least - A @ tighter)[row] + coefficient * tighter[cell]
        raised = np.maximum(lower, np.maximum.reduceat(-(-need // coefficient), starts))
        done = np.array_equal(tighter, upper) and np.array_equal(raised, lower)
        upper, lower = tighter, raised
        if done or (lower > upper).any():
            break
    conflict = (A @ lower > most) | (A @ upper < least)
    conflict[row[(lower > upper)[cell]]] = True
    return Bounds(lower, upper, conflict)
