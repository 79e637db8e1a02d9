"""Feasibility intervals by bounds propagation (the shuttle algorithm; iterated Fréchet bounds)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

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


def propagate(A: sparse.csr_array, rhs: IntArray) -> Bounds:
    """Tighten ``0 <= x`` under ``A x = rhs`` to a fixed point.

    Args:
        A: Positive integer coefficients; every column has an entry.
        rhs: Non-negative right-hand sides.

    Returns:
        Bounds; on a conflict they are those of the sweep that met it.
    """
    columns = A.tocsc()
    row = columns.indices
    coefficient = columns.data
    width = np.diff(columns.indptr)
    cell = np.repeat(np.arange(A.shape[1]), width)
    lower = np.zeros(A.shape[1], dtype=np.int64)
    upper = np.full(A.shape[1], rhs.max(initial=0), dtype=np.int64)
    conflict = np.zeros(A.shape[0], dtype=bool)
    starts = columns.indptr[:-1]
    for _ in range(_SWEEPS if A.shape[1] else 0):
        room = (rhs - A @ lower)[row] + coefficient * lower[cell]
        tighter = np.minimum(upper, np.minimum.reduceat(room // coefficient, starts))
        need = (rhs - A @ tighter)[row] + coefficient * tighter[cell]
        raised = np.maximum(lower, np.maximum.reduceat(-(-need // coefficient), starts))
        done = np.array_equal(tighter, upper) and np.array_equal(raised, lower)
        upper, lower = tighter, raised
        if done or (lower > upper).any():
            break
    conflict = (A @ lower > rhs) | (A @ upper < rhs)
    conflict[row[(lower > upper)[cell]]] = True
    return Bounds(lower, upper, conflict)
