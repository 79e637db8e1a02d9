"""Feasibility intervals by bounds propagation (the shuttle algorithm; iterated Fréchet bounds).

See *bounds propagation* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.frames import OPEN
from recon_cli.model.constraints import LinearConstraints

#: Valid at every sweep; the limit only stops systems that creep by one person a sweep.
_SWEEPS = 500


@dataclass(frozen=True)
class Bounds:
    """Intervals that contain every solution, but for what no row bounds from above.

    Attributes:
        lower: Least people in each candidate.
        upper: Most people in each candidate; where it is open, as many as its rows can need:
            Eq. (open) of docs/method.md.
        is_open: Candidates that no row bounds from above. A solution with more than `upper` people
            there is one with `upper`, too; all else is the same.
        conflict: Rows that cannot be met within the bounds; then there is no solution.
    """

    lower: IntArray
    upper: IntArray
    is_open: BoolArray
    conflict: BoolArray

    @property
    def free(self) -> BoolArray:
        """Candidates that an integer program must decide."""
        return self.lower < self.upper


def propagate(rows: LinearConstraints, held: IntArray | None = None) -> Bounds:
    """Tighten ``0 <= x`` under rows to a fixed point: Eq. (upper) and (lower) of docs/method.md.

    One sweep takes all rows at once, as sparse products: new upper bounds, then lower bounds.

    Args:
        rows: Every cell is in some row, with a positive coefficient. A row that has no upper end
            has `OPEN` there.
        held: A solution that the bounds shall contain where nothing bounds a cell from above.

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
    starts = columns.indptr[:-1]
    is_open_row = most >= OPEN
    upper, is_open = _first_upper(rows, columns, is_open_row, held)
    # What all cells at their upper bounds come to is no less than a row without end needs.
    most = np.where(is_open_row, A @ upper, most)
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
    return Bounds(lower, upper, is_open, conflict)


def _first_upper(
    rows: LinearConstraints,
    columns: sparse.csc_array,
    is_open_row: BoolArray,
    held: IntArray | None,
) -> tuple[IntArray, BoolArray]:
    """The most people that single rows leave to each cell, and the cells that all leave open.

    The latter get as many as the neediest of their rows: Eq. (open).
    """
    width = columns.shape[1]
    finite: IntArray = rows.most[~is_open_row]
    upper = np.full(width, finite.max(initial=0), dtype=np.int64)
    is_open = np.zeros(width, dtype=bool)
    if is_open_row.any() and width:
        starts, row = columns.indptr[:-1], columns.indices
        is_open = np.logical_and.reduceat(is_open_row[row], starts)
        need = np.maximum.reduceat(-(-rows.least[row] // columns.data), starts)
        if held is not None:
            need = np.maximum(need, held)
        upper = np.where(is_open, np.maximum(need, 0), upper)
    return upper, is_open
