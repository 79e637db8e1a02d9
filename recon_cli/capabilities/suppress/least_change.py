"""The least-cost change of records that shows a count to be uncertain.

A primary cell is not recovered if other records have the published counts and another count there.
Those records differ from known ones by a change: people who are added, removed or replaced. Every
cell that it touches must be suppressed, so the change of least cost, summed over the cells that are
published so far, protects the cell cheaply: Eq. (change) of docs/method.md.

A person counts in some twenty cells, most of which are sums of others. Written as those sums, cells
over people have at most a quarter of the coefficients, and linear programs over them take less than
half the time.

See *change* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.linear_relaxation import LinearRelaxation

#: More people than any cell changes by.
OPEN: Final = 10_000_000
#: Deterministic seconds of one linear program.
_LIMIT: Final = 30.0
#: Cost of a person who changes: only among changes that are equal else.
_PERSON: Final = 1e-3
#: Spread of random costs, after a fractional vertex.
_NOISE: Final = 0.05
#: Attempts to find a whole vertex.
_ATTEMPTS: Final = 4
#: Tolerance of integers in floating point.
_ROUNDING: Final = 1e-6


@dataclass(frozen=True)
class NestedCells:
    """Sparse matrices with ``rows == parts @ rows + rest``.

    Attributes:
        parts: (cells × cells) zeros and ones: the smaller cells that are part of each.
        rest: (cells × columns) what people add to a cell besides what they add to its parts.
    """

    parts: sparse.csr_array
    rest: sparse.csc_array

    @classmethod
    def of(cls, rows: sparse.csr_array) -> NestedCells:
        """Subtract from each cell the largest cell inside it, then the largest in the remainder.

        Args:
            rows: (cells × columns) coefficients above zero, no two rows alike.
        """
        entries = _entries(rows)
        size = np.diff(rows.indptr)
        shared = sparse.csr_array(entries @ entries.T)
        cell, part = [], []
        for at in range(rows.shape[0]):
            near = slice(shared.indptr[at], shared.indptr[at + 1])
            others, common = shared.indices[near], shared.data[near]
            inside = others[(common == size[others]) & (others != at)]
            inside = inside[np.lexsort((inside, -size[inside]))]
            overlaps = np.zeros(rows.shape[0], dtype=bool)
            while len(inside):
                largest = int(inside[0])
                cell.append(at)
                part.append(largest)
                near = slice(shared.indptr[largest], shared.indptr[largest + 1])
                overlaps[shared.indices[near]] = True
                inside = inside[~overlaps[inside]]
        ones = np.ones(len(cell), dtype=np.int64)
        parts = sparse.csr_array((ones, (cell, part)), shape=(rows.shape[0], rows.shape[0]))
        rest = sparse.csc_array(rows - parts @ rows)
        rest.eliminate_zeros()
        return cls(parts, rest)


def _entries(rows: sparse.csr_array) -> sparse.csr_array:
    """Return (cells × kinds of entries) ones: a kind is a column with a coefficient."""
    kinds, kind = np.unique(
        np.stack([rows.indices.astype(np.int64), rows.data]), axis=1, return_inverse=True
    )
    ones = np.ones(rows.nnz, dtype=np.int64)
    return sparse.csr_array((ones, kind.ravel(), rows.indptr), (rows.shape[0], kinds.shape[1]))


@dataclass(frozen=True)
class SensitiveCells:
    """The cells of a region, some of them primary, and records that have the true counts.

    Attributes:
        rows: Sparse (cells × columns) coefficients: what a person in each column adds.
        values: The true counts.
        is_primary: Whether each is sensitive.
        known: People in each column.
        least: The count that a flag states at least.
        safety: Required distance between two possible counts of a primary cell.
        agreement: Sparse (rows × columns): zero where the columns are tables of one population,
            Eq. (clique); None where they are its histogram cells.

    Raises:
        ValueError: When made: the records do not have the counts, or are no tables of any.
    """

    rows: sparse.csr_array
    values: IntArray
    is_primary: BoolArray
    known: IntArray
    least: int
    safety: int
    agreement: sparse.csr_array | None = None

    def __post_init__(self) -> None:
        if self.agreement is not None and (self.agreement @ self.known).any():
            raise ValueError("the known tables do not agree")
        if (self.known < 0).any() or not np.array_equal(self.rows @ self.known, self.values):
            raise ValueError("the known records do not have the true counts")

    @cached_property
    def by_column(self) -> sparse.csc_array:
        """Return `rows` by column."""
        return sparse.csc_array(self.rows)

    @cached_property
    def nested(self) -> NestedCells:
        """Return `rows` with fewer coefficients."""
        return NestedCells.of(self.rows)

    def difference(self, change: IntArray) -> IntArray:
        """Compute how much each cell's count changes with a change of the known records.

        Raises:
            ValueError: There are no such records, or a flag would not be true of them.
        """
        if self.agreement is not None and (self.agreement @ change).any():
            raise ValueError("a change leaves tables that do not agree")
        difference: IntArray = self.rows @ change
        moved = self.values + difference
        if (self.known + change < 0).any() or (moved[difference != 0] < self.least).any():
            raise ValueError("a change takes more people away than there are")
        return difference


class ChangeProgram:
    """The changes in some columns: a linear program, for one cell after the other: Eq. (change).

    Variables: people added and removed in each column, then the increase and decrease of each cell.
    Only bounds and costs differ from cell to cell, so the program is set up once.
    """

    def __init__(self, cells: SensitiveCells, columns: IntArray) -> None:
        """Set up the program.

        Args:
            cells: The region.
            columns: Columns in which people may change, sorted.
        """
        self._cells, self._columns = cells, columns
        own = sparse.csr_array(cells.by_column[:, columns])
        self._at = np.flatnonzero(np.diff(own.indptr))
        people = cells.known[columns]
        self._fewer = np.flatnonzero(people)
        rest = sparse.csr_array(cells.nested.rest[:, columns])[self._at]
        parts = sparse.csc_array(cells.nested.parts[self._at])[:, self._at]
        moved = parts - sparse.csc_array(sparse.identity(len(self._at), dtype=np.int64))
        matrix = sparse.csr_array(sparse.hstack([rest, -rest[:, self._fewer], moved, -moved]))
        self._up = len(columns) + len(self._fewer)
        self._down = self._up + len(self._at)
        zero = np.zeros(len(self._at), dtype=np.int64)
        room = np.maximum(cells.values[self._at] - cells.least, 0)
        self._upper = np.concatenate(
            [np.full(len(columns), OPEN), people[self._fewer], zero + OPEN, room]
        )
        self._lower = np.zeros(len(self._upper), dtype=np.int64)
        if cells.agreement is not None:
            matrix = self._with_agreement(matrix, cells.agreement)
        zero = np.zeros(matrix.shape[0], dtype=np.int64)
        rows = LinearConstraints(matrix, zero, zero)
        self._relaxation = LinearRelaxation(IntegerProgram(rows, self._lower, self._upper))

    def _with_agreement(
        self, matrix: sparse.csr_array, agreement: sparse.csr_array
    ) -> sparse.csr_array:
        """Add rows for the agreement of tables after a change."""
        here = sparse.csr_array(sparse.csc_array(agreement)[:, self._columns])
        here = sparse.csr_array(here[np.flatnonzero(np.diff(here.indptr))])
        nothing = sparse.csr_array((here.shape[0], 2 * len(self._at)), dtype=np.int64)
        further = sparse.hstack([here, -here[:, self._fewer], nothing])
        return sparse.csr_array(sparse.vstack([matrix, further]))

    @property
    def height(self) -> int:
        """Return the number of cells."""
        return len(self._at)

    def least(
        self, target: int, cost: FloatArray, ceiling: float = np.inf
    ) -> tuple[IntArray | None, float]:
        """Find the change that moves one count by the safety range at the least cost.

        Args:
            target: A suppressed cell in which people of these columns count.
            cost: Cost of each cell for every person it changes by: zero where it is suppressed,
                infinite where it must stay published.
            ceiling: Cost from which a change is useless.

        Returns:
            The change of each column's people, of all columns; None if no whole one was found.
            And the deterministic seconds that it took.
        """
        cells = self._cells
        best: IntArray | None = None
        elapsed = 0.0
        for sign in (1, -1):
            if sign < 0 and cells.values[target] - cells.safety < cells.least:
                continue
            change, seconds = self._least_one_way(target, sign, cost[self._at], ceiling)
            elapsed += seconds
            if change is None:
                continue
            price = float(cost[cells.difference(change) != 0].sum())
            if best is None or price < ceiling:
                best, ceiling = change, price
            if not price:
                break
        return best, elapsed

    def _least_one_way(
        self, target: int, sign: int, cost: FloatArray, ceiling: float
    ) -> tuple[IntArray | None, float]:
        """Find the change that moves a cell up or down, if the relaxation's vertex is integral."""
        here = int(np.searchsorted(self._at, target))
        ways = (self._up + here, self._down + here)
        barred = np.flatnonzero(np.isinf(cost))
        lower, upper = self._lower.copy(), self._upper.copy()
        upper[self._up + barred] = upper[self._down + barred] = 0
        lower[ways[sign < 0]] = self._cells.safety
        upper[ways[sign > 0]] = 0
        self._relaxation.bound(lower, upper)
        of_cells = np.where(np.isinf(cost), 0.0, cost)
        exact = np.concatenate([np.full(self._up, _PERSON), of_cells, of_cells])
        costs, random, elapsed = exact, np.random.default_rng(0), 0.0
        for _ in range(_ATTEMPTS):
            vertex = self._relaxation.solve(costs, _LIMIT, ceiling)
            elapsed += vertex.deterministic_time
            if not len(vertex.values):
                break
            change = vertex.values[: len(self._columns)].copy()
            change[self._fewer] -= vertex.values[len(self._columns) : self._up]
            whole = np.rint(change)
            if np.abs(change - whole).max(initial=0) < _ROUNDING:
                result = np.zeros(len(self._cells.known), dtype=np.int64)
                result[self._columns] = whole.astype(np.int64)
                return result, elapsed
            costs = exact * (1 + _NOISE * random.random(len(exact)))
        return None, elapsed
