"""The change of records that shows a count to be uncertain, and costs least.

A primary cell is not recovered if other records have the published counts and another count
there. Those records differ from known ones by a change: people who come, go or become others. Every
cell that it touches must be suppressed, so the change of least cost, summed over the cells that are
published so far, protects the cell cheaply: Eq. (change) of docs/method.md.

See *change* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.linear_relaxation import solve_relaxation
from recon_cli.statement.law import BoolArray, FloatArray, IntArray

#: More people than any cell changes by.
OPEN: Final = 10_000_000
#: Deterministic seconds of one linear program.
_LIMIT: Final = 30.0
#: Cost of a person who changes: only among changes that are equal else.
_PERSON: Final = 1e-3
#: How far random costs differ, after a vertex that is not whole.
_NOISE: Final = 0.05
#: Attempts to find a whole vertex.
_ATTEMPTS: Final = 4
#: What floating point may miss a whole number by.
_ROUNDING: Final = 1e-6


@dataclass(frozen=True)
class SensitiveCells:
    """The cells of a region, some of them primary, and records that have the true counts.

    Attributes:
        rows: Sparse (cells × columns) coefficients: what a person in each column adds.
        values: The true counts.
        is_primary: Whether each is sensitive.
        known: People in each column.
        least: The count that a flag states at least.
        safety: How far apart two possible counts of a primary cell must be at least.

    Raises:
        ValueError: When made: the records do not have the counts.
    """

    rows: sparse.csr_array
    values: IntArray
    is_primary: BoolArray
    known: IntArray
    least: int
    safety: int

    def __post_init__(self) -> None:
        if (self.known < 0).any() or not np.array_equal(self.rows @ self.known, self.values):
            raise ValueError("the known records do not have the true counts")

    def touched(self, change: IntArray) -> BoolArray:
        """Which cells a change of the known records changes.

        Raises:
            ValueError: There are no such records, or a flag would not be true of them.
        """
        difference = self.rows @ change
        touched: BoolArray = difference != 0
        if (self.known + change < 0).any() or (
            (self.values + difference)[touched] < self.least
        ).any():
            raise ValueError("a change takes more people away than there are")
        return touched


def least_change(
    cells: SensitiveCells,
    target: int,
    is_hidden: BoolArray,
    columns: IntArray,
    cost: FloatArray,
) -> IntArray | None:
    """The change that moves one count by the safety range at the least cost: Eq. (change).

    Args:
        cells: The region.
        target: A suppressed cell.
        is_hidden: Which cells are suppressed; they may change, as far as their flags stay true.
        columns: Where people may change, rising.
        cost: Of each cell for every person it changes by: zero where it is suppressed, infinite
            where it must stay published.

    Returns:
        The change of each column's people; None if no whole one was found.
    """
    changes = _Changes(cells, is_hidden, columns, cost)
    found: list[tuple[float, IntArray]] = []
    for sign in (1, -1):
        if sign < 0 and cells.values[target] - cells.safety < cells.least:
            continue
        change = changes.least(target, sign)
        if change is None:
            continue
        price = float(cost[cells.rows @ change != 0].sum())
        found.append((price, change))
        if not price:
            break
    return min(found, key=lambda each: each[0])[1] if found else None


class _Changes:
    """What may change in some columns, as rows of an integer program.

    Variables: people more and people fewer in each column, then how far each cell that may still be
    suppressed moves up and down.
    """

    def __init__(
        self,
        cells: SensitiveCells,
        is_hidden: BoolArray,
        columns: IntArray,
        cost: FloatArray,
    ) -> None:
        A = sparse.csr_array(sparse.csc_array(cells.rows)[:, columns])
        self.at = np.flatnonzero(np.diff(A.indptr))
        self.cells, self.columns = cells, columns
        people = cells.known[columns]
        self.fewer = np.flatnonzero(people)
        values, hidden = cells.values[self.at], is_hidden[self.at]
        priced = np.flatnonzero(~hidden & np.isfinite(cost[self.at]))
        lowered = np.flatnonzero(values[priced] > cells.least)
        moved = _unit_columns(priced, len(self.at))
        A = sparse.csr_array(A[self.at])
        self.matrix = sparse.csr_array(
            sparse.hstack([A, -A[:, self.fewer], -moved, moved[:, lowered]])
        )
        unlimited = np.full(len(columns), OPEN), np.full(len(priced), OPEN)
        room = values[priced[lowered]] - cells.least
        self.upper = np.concatenate([unlimited[0], people[self.fewer], unlimited[1], room])
        self.low = np.where(hidden, cells.least - values, 0)
        self.high = np.where(hidden, OPEN, 0)
        persons = np.full(len(columns) + len(self.fewer), _PERSON)
        of_cells = cost[self.at[priced]]
        self.costs = np.concatenate([persons, of_cells, of_cells[lowered]])

    def least(self, target: int, sign: int) -> IntArray | None:
        """The change of least cost that moves a cell, if the vertex of the relaxation is whole."""
        here = int(np.searchsorted(self.at, target))
        low, high = self.low.copy(), self.high.copy()
        if sign > 0:
            low[here] = self.cells.safety
        else:
            high[here] = -self.cells.safety
        lower = np.zeros(len(self.upper), dtype=np.int64)
        program = IntegerProgram(LinearConstraints(self.matrix, low, high), lower, self.upper)
        costs, random = self.costs, np.random.default_rng(0)
        for _ in range(_ATTEMPTS):
            point = solve_relaxation(program, costs, _LIMIT).values
            if not len(point):
                return None
            change = point[: len(self.columns)].copy()
            change[self.fewer] -= point[len(self.columns) :][: len(self.fewer)]
            whole = np.rint(change)
            if np.abs(change - whole).max(initial=0) < _ROUNDING:
                result = np.zeros(len(self.cells.known), dtype=np.int64)
                result[self.columns] = whole.astype(np.int64)
                return result
            costs = self.costs * (1 + _NOISE * random.random(len(costs)))
        return None


def _unit_columns(rows: IntArray, height: int) -> sparse.csr_array:
    """A column for each of some rows, with a 1 there."""
    ones, number = np.ones(len(rows), dtype=np.int64), np.arange(len(rows))
    return sparse.csr_array((ones, (rows, number)), shape=(height, len(rows)))
