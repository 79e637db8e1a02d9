"""Feasibility intervals by bounds propagation (the shuttle algorithm; iterated Fréchet bounds).

In a row with coefficients of both signs, such as a separator row, which subtracts one table from
another, an upper bound of one cell raises the lower bound of another. A missing bound stays open,
and nothing follows from it.

See *bounds propagation* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.frames import OPEN
from recon_cli.model.program import LinearConstraints

#: Most sweeps. Bounds are valid after every sweep, but may creep by one person a sweep.
_SWEEPS = 500


@dataclass(frozen=True)
class Bounds:
    """Intervals that contain every solution; cells that no row bounds stay open above.

    Attributes:
        lower: Least people in each candidate.
        upper: Most people in each candidate; in an open candidate, the most that its rows can
            require: Eq. (open) of docs/method.md.
        is_open: Candidates that no row bounds from above. A solution with more than `upper` people
            there remains a solution with `upper`, all else unchanged.
        conflict: Rows that cannot be met within the bounds; then there is no solution.
    """

    lower: IntArray
    upper: IntArray
    is_open: BoolArray
    conflict: BoolArray

    @property
    def free(self) -> BoolArray:
        """Return the candidates that an integer program must decide."""
        return self.lower < self.upper


def propagate(rows: LinearConstraints, held: IntArray | None = None) -> Bounds:
    """Tighten ``0 <= x`` under rows to a fixed point: Eq. (upper) and (lower) of docs/method.md.

    Each sweep treats all rows at once, as sparse products: new upper bounds, then lower bounds.

    Args:
        rows: Rows with positive coefficients, at least one for every cell. A row without upper
            bound has `OPEN` there.
        held: A solution; the upper bounds of open cells are at least its values.

    Returns:
        The bounds; on a conflict, those of the sweep that found it.

    >>> A, counts = sparse.csr_array([[1, 1], [0, 1]]), np.array([3, 1])
    >>> bounds = propagate(LinearConstraints(A, counts, counts))
    >>> bounds.lower.tolist(), bounds.upper.tolist()
    ([2, 1], [2, 1])
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
    # A row without upper bound gets the sum of its cells' upper bounds, which is enough.
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
    """Return the most people that single rows allow each cell, and cells that all rows leave open.

    Open cells get as many as the row with the largest lower bound requires: Eq. (open).
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


@dataclass(frozen=True)
class SignedBounds:
    """Intervals that contain every solution.

    Attributes:
        lower: The least value of each column.
        upper: The greatest value, `OPEN` where nothing bounds it.
        steps: The rows that narrowed a column, in order; applied one by one they narrow no less.
        conflict: Rows that cannot be met within the bounds; then there is no solution.
    """

    lower: IntArray
    upper: IntArray
    steps: IntArray
    conflict: BoolArray

    @property
    def free(self) -> BoolArray:
        """Return the columns with more than one possible value."""
        return self.lower < self.upper


def propagate_signed(rows: LinearConstraints, upper: IntArray) -> SignedBounds:
    """Tighten ``0 <= x <= upper`` under rows of either sign to a fixed point: Eq. (signed).

    Args:
        rows: Rows, with `most` equal to `OPEN` where there is no upper bound.
        upper: Upper bound of each column, `OPEN` if unbounded.

    Returns:
        The bounds; on a conflict, those of the sweep that found it.
    """
    matrix = _Signed.of(rows)
    lower, upper = np.zeros_like(upper), upper.copy()
    steps = [np.empty(0, dtype=np.int64)]
    for _ in range(_SWEEPS if len(upper) else 0):
        ceiling, floor = matrix.implied(lower, upper)
        raised, tighter = matrix.narrowed(lower, upper, floor, ceiling)
        raised = np.where(tighter < OPEN, raised, np.minimum(raised, OPEN - 1))
        moved = (raised > lower) | (tighter < upper)
        if not moved.any():
            break
        steps.append(matrix.rows_that_reach(moved, raised, tighter, floor, ceiling))
        lower, upper = raised, tighter
        if (lower > upper).any():
            break
    least, greatest = matrix.activity(lower, upper)
    conflict = (least > rows.most) & (rows.most < OPEN) & (least > -OPEN)
    conflict |= (greatest < rows.least) & (greatest < OPEN)
    crossed = np.flatnonzero((lower > upper)[matrix.column])
    conflict[matrix.row[crossed]] = True
    return SignedBounds(lower, upper, np.concatenate(steps), conflict)


def propagate_people(rows: LinearConstraints, held: IntArray | None = None) -> Bounds:
    """Tighten bounds by rows of counts and of printed statistics, which have negative coefficients.

    Args:
        rows: Every cell is in a row without negative coefficients; an open one is in no other.
        held: As for `propagate`.
    """
    is_plain = np.ones(len(rows.least), dtype=bool)
    is_plain[np.repeat(np.arange(len(is_plain)), np.diff(rows.A.indptr))[rows.A.data < 0]] = False
    plain = LinearConstraints(
        sparse.csr_array(rows.A[is_plain]), rows.least[is_plain], rows.most[is_plain]
    )
    first = propagate(plain, held)
    if is_plain.all() or first.conflict.any():
        return first
    found = propagate_signed(rows, np.where(first.is_open, OPEN, first.upper))
    upper = np.where(first.is_open, first.upper, found.upper)
    return Bounds(found.lower, upper, first.is_open, found.conflict)


@dataclass(frozen=True)
class _Signed:
    """The entries of rows, sorted by column, split into positive and negative parts."""

    rows: LinearConstraints
    positive: sparse.csr_array
    negative: sparse.csr_array
    row: IntArray
    column: IntArray
    coefficient: IntArray
    first: IntArray
    has_rows: BoolArray

    @classmethod
    def of(cls, rows: LinearConstraints) -> _Signed:
        A = rows.A
        columns = sparse.csc_array(A)
        width = np.diff(columns.indptr)
        positive = sparse.csr_array((np.maximum(A.data, 0), A.indices, A.indptr), shape=A.shape)
        negative = sparse.csr_array((np.minimum(A.data, 0), A.indices, A.indptr), shape=A.shape)
        return cls(
            rows=rows,
            positive=positive,
            negative=negative,
            row=columns.indices.astype(np.int64),
            column=np.repeat(np.arange(A.shape[1]), width),
            coefficient=columns.data.astype(np.int64),
            first=columns.indptr[:-1][width > 0].astype(np.int64),
            has_rows=width > 0,
        )

    def activity(self, lower: IntArray, upper: IntArray) -> tuple[IntArray, IntArray]:
        """Return the least and greatest value of each row, ``-OPEN`` and `OPEN` if unbounded."""
        is_open = (upper == OPEN).astype(np.int64)
        finite = np.where(upper == OPEN, 0, upper)
        least = self.positive @ lower + self.negative @ finite
        greatest = self.positive @ finite + self.negative @ lower
        least[(self.negative @ is_open) < 0] = -OPEN
        greatest[(self.positive @ is_open) > 0] = OPEN
        return least, greatest

    def implied(self, lower: IntArray, upper: IntArray) -> tuple[IntArray, IntArray]:
        """Return for each entry the greatest and the least value that its row allows its column."""
        is_open = upper == OPEN
        finite = np.where(is_open, 0, upper)
        row, column, a = self.row, self.column, self.coefficient
        least = self.positive @ lower + self.negative @ finite
        greatest = self.positive @ finite + self.negative @ lower
        rises = a > 0
        at_lower, at_upper = a * lower[column], a * finite[column]
        room = self.rows.most[row] - (least[row] - np.where(rises, at_lower, at_upper))
        need = self.rows.least[row] - (greatest[row] - np.where(rises, at_upper, at_lower))
        size = np.abs(a)
        ceiling = np.where(rises, room, -need) // size
        floor = -(np.where(rises, -need, room) // size)
        has_room, has_need = self._known_sides(is_open)
        ceiling = np.where(np.where(rises, has_room, has_need), ceiling, OPEN)
        floor = np.where(np.where(rises, has_need, has_room), floor, 0)
        return ceiling, floor

    def _known_sides(self, is_open: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Report for each entry if its row has a finite greatest, and a finite least, value."""
        row, rises = self.row, self.coefficient > 0
        has_room: BoolArray = self.rows.most[row] < OPEN
        if not is_open.any():
            return has_room, np.ones(len(row), dtype=bool)
        own = is_open[self.column]
        entries = np.bincount(row[own & rises], minlength=len(self.rows.most))
        falling = np.bincount(row[own & ~rises], minlength=len(self.rows.most))
        has_room &= falling[row] == (own & ~rises)
        has_need: BoolArray = entries[row] == (own & rises)
        return has_room, has_need

    def narrowed(
        self, lower: IntArray, upper: IntArray, floor: IntArray, ceiling: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Return the bounds of the columns after one pass over all rows."""
        raised, tighter = lower.copy(), upper.copy()
        has = self.has_rows
        if len(self.first):
            raised[has] = np.maximum(lower[has], np.maximum.reduceat(floor, self.first))
            tighter[has] = np.minimum(upper[has], np.minimum.reduceat(ceiling, self.first))
        return raised, tighter

    def rows_that_reach(
        self,
        moved: BoolArray,
        raised: IntArray,
        tighter: IntArray,
        floor: IntArray,
        ceiling: IntArray,
    ) -> IntArray:
        """Return the rows that gave the new bounds of the columns that moved, sorted."""
        entry = np.flatnonzero(moved[self.column])
        column = self.column[entry]
        reaches = (floor[entry] == raised[column]) | (ceiling[entry] == tighter[column])
        rows: IntArray = np.unique(self.row[entry[reaches]])
        return rows
