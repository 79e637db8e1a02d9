"""The least-cost change of records that shows a count to be uncertain.

A primary cell is not recovered if other records have the published counts and another count there.
These records differ from known ones by a change: people who are added, removed or replaced. Every
cell that the change touches must be suppressed, so the change of least cost, summed over the cells
published so far, protects the cell cheaply: Eq. (change) of docs/method.md.

A person counts in some twenty cells, most of which are sums of others. Written as those sums, cells
over people have at most a quarter of the coefficients, and linear programs over them take less than
half the time.

See *change* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.linear_relaxation import LinearRelaxation

#: Coefficients that are multiplied at a time.
_SLICE: Final = 2_000_000
#: More people than any cell changes by.
OPEN: Final = 10_000_000
#: Deterministic seconds of one linear program.
_LIMIT: Final = 30.0
#: Cost of a person who changes, which only decides among changes that are otherwise equal.
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
            rows: (cells × columns) coefficients above zero.
        """
        entries, size = _entries(rows), np.diff(rows.indptr)
        by_kind = sparse.csr_array(entries.T)
        taken = np.zeros(entries.shape[1], dtype=bool)
        cell, part = [], []
        for first, last in _slices(entries @ np.diff(by_kind.indptr)):
            shared = sparse.csr_array(entries[first:last] @ by_kind)
            for at in range(first, last):
                near = slice(*shared.indptr[at - first : at - first + 2])
                others, common = shared.indices[near], shared.data[near]
                # Each of several equal cells is part of the next.
                is_smaller = (size[others] < size[at]) | (others < at)
                inside = others[(common == size[others]) & is_smaller]
                for smaller in inside[np.lexsort((inside, -size[inside]))].tolist():
                    kinds = entries.indices[slice(*entries.indptr[smaller : smaller + 2])]
                    if not taken[kinds].any():
                        taken[kinds] = True
                        cell.append(at)
                        part.append(smaller)
                taken[entries.indices[slice(*entries.indptr[at : at + 2])]] = False
        ones = np.ones(len(cell), dtype=np.int64)
        parts = sparse.csr_array((ones, (cell, part)), shape=(rows.shape[0], rows.shape[0]))
        rest = sparse.csc_array(rows - parts @ rows)
        rest.eliminate_zeros()
        return cls(parts, rest)


def _slices(work: IntArray) -> Iterator[tuple[int, int]]:
    """Yield slices of rows of about `_SLICE` work, or a single row of more."""
    share = np.cumsum(work) // _SLICE
    ends = [*(np.flatnonzero(np.diff(share)) + 1).tolist(), len(work)]
    yield from pairwise([0, *ends])


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
        least: Least count that a flag states.
        safety: Required distance between two possible counts of a primary cell.
        agreement: Sparse (rows × columns): zero where the columns are tables of one population,
            Eq. (clique); None where they are its histogram cells.

    Raises:
        ValueError: When made: the records do not have the counts, or the tables do not agree.
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
        return sparse.csc_array(self.rows)

    @cached_property
    def agreement_by_column(self) -> sparse.csc_array | None:
        return None if self.agreement is None else sparse.csc_array(self.agreement)

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


@dataclass(frozen=True)
class Change:
    """A switch to other records with the same counts except in some cells.

    Attributes:
        touched: The cells whose counts then differ, sorted.
        protected: The primary cells among them that then differ by the safety range, sorted.
    """

    touched: IntArray
    protected: IntArray

    @classmethod
    def of(cls, cells: SensitiveCells, people: IntArray) -> Change:
        """Apply a change of each column's people to the cells.

        Raises:
            ValueError: There are no such records, or a flag would not be true of them.
        """
        return cls.between(cells, np.arange(len(cells.values)), cells.difference(people))

    @classmethod
    def between(cls, cells: SensitiveCells, at: IntArray, difference: IntArray) -> Change:
        """Return the change that moves some cells, and no others, by a difference."""
        is_protected = cells.is_primary[at] & (np.abs(difference) >= cells.safety)
        return cls(at[np.flatnonzero(difference)], at[np.flatnonzero(is_protected)])


class ChangeProgram:
    """The linear program of changes in some columns, solved for one cell at a time: Eq. (change).

    Variables: people added and removed in each column, then the increase and decrease of each cell.
    Only bounds and costs differ from cell to cell, so the program is set up once. Its time and
    memory depend on its own columns and cells, not on those of the region.

    Attributes:
        at: The cells in which people of the columns count, sorted.
    """

    def __init__(self, cells: SensitiveCells, columns: IntArray) -> None:
        """Set up the program.

        Args:
            cells: The region.
            columns: Columns in which people may change, sorted.
        """
        own = sparse.csc_array(cells.by_column[:, columns])
        self._cells, self._columns, self._people = cells, columns, cells.known[columns]
        self.at, self._own = _used_rows(own)
        self._agreement: sparse.csr_array | None = None
        self._fewer = np.flatnonzero(self._people)
        rest = _rows_of(sparse.csc_array(cells.nested.rest[:, columns]), self.at)
        parts = _rows_of(sparse.csr_array(cells.nested.parts[self.at]).T.tocsc(), self.at).T
        moved = parts - sparse.identity(len(self.at), dtype=np.int64)
        matrix = sparse.csr_array(sparse.hstack([rest, -rest[:, self._fewer], moved, -moved]))
        self._up = len(columns) + len(self._fewer)
        self._down = self._up + len(self.at)
        zero = np.zeros(len(self.at), dtype=np.int64)
        self._room = np.maximum(cells.values[self.at] - cells.least, 0)
        self._upper = np.concatenate(
            [np.full(len(columns), OPEN), self._people[self._fewer], zero + OPEN, self._room]
        )
        self._lower = np.zeros(len(self._upper), dtype=np.int64)
        if cells.agreement_by_column is not None:
            _, here = _used_rows(sparse.csc_array(cells.agreement_by_column[:, columns]))
            self._agreement = here
            nothing = sparse.csr_array((here.shape[0], 2 * len(self.at)), dtype=np.int64)
            further = sparse.hstack([here, -here[:, self._fewer], nothing])
            matrix = sparse.csr_array(sparse.vstack([matrix, further]))
        zero = np.zeros(matrix.shape[0], dtype=np.int64)
        rows = LinearConstraints(matrix, zero, zero)
        self._relaxation = LinearRelaxation(IntegerProgram(rows, self._lower, self._upper))

    @property
    def height(self) -> int:
        """Return the number of cells."""
        return len(self.at)

    def least(
        self, target: int, cost: FloatArray, ceiling: float = np.inf
    ) -> tuple[Change | None, float]:
        """Find the change that moves one count by the safety range at the least cost.

        Args:
            target: A suppressed cell in which people of these columns count.
            cost: Cost of each of the cells `at` for every person it changes by: zero where it is
                suppressed, infinite where it must stay published.
            ceiling: Cost from which a change is useless.

        Returns:
            The change, None if no integral one was found; and the deterministic seconds.
        """
        cells, best = self._cells, None
        elapsed = 0.0
        for sign in (1, -1):
            if sign < 0 and cells.values[target] - cells.safety < cells.least:
                continue
            people, seconds = self._least_one_way(target, sign, cost, ceiling)
            elapsed += seconds
            if people is None:
                continue
            difference = self._difference(people)
            price = float(cost[difference != 0].sum())
            if best is None or price < ceiling:
                best, ceiling = Change.between(cells, self.at, difference), price
            if not price:
                break
        return best, elapsed

    def _difference(self, people: IntArray) -> IntArray:
        """Compute how much each cell's count changes; as `SensitiveCells.difference`."""
        if self._agreement is not None and (self._agreement @ people).any():
            raise ValueError("a change leaves tables that do not agree")
        difference: IntArray = self._own @ people
        moved = self._cells.values[self.at] + difference
        if (self._people + people < 0).any() or (moved[difference != 0] < self._cells.least).any():
            raise ValueError("a change takes more people away than there are")
        return difference

    def _least_one_way(
        self, target: int, sign: int, cost: FloatArray, ceiling: float
    ) -> tuple[IntArray | None, float]:
        """Find the change that moves a cell up or down, if the relaxation's vertex is integral."""
        here = int(np.searchsorted(self.at, target))
        barred, free = np.flatnonzero(np.isinf(cost)), np.flatnonzero(cost == 0)
        lower, upper = self._lower.copy(), self._upper.copy()
        upper[self._up + barred] = upper[self._down + barred] = 0
        # The change of a suppressed cell is one variable, which is in the first basis.
        lower[self._up + free], upper[self._down + free] = -self._room[free], 0
        lower[self._down + here] = upper[self._down + here] = 0
        if sign > 0:
            lower[self._up + here], upper[self._up + here] = self._cells.safety, OPEN
        else:
            lower[self._up + here] = -self._room[here]
            upper[self._up + here] = -self._cells.safety
        self._relaxation.narrow(lower, upper)
        self._relaxation.begin_with(free, self._up + free)
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
                return whole.astype(np.int64), elapsed
            costs = exact * (1 + _NOISE * random.random(len(exact)))
        return None, elapsed


def _used_rows(matrix: sparse.csc_array) -> tuple[IntArray, sparse.csr_array]:
    """Return the sorted rows with entries, and those rows."""
    rows, row = np.unique(matrix.indices, return_inverse=True)
    shape = (len(rows), matrix.shape[1])
    used = sparse.csc_array((matrix.data, row.ravel(), matrix.indptr), shape=shape)
    return rows.astype(np.int64), sparse.csr_array(used)


def _rows_of(matrix: sparse.csc_array, rows: IntArray) -> sparse.csr_array:
    """Return some rows of a matrix, in a time that depends on its entries alone."""
    at = np.searchsorted(rows, matrix.indices)
    at[at == len(rows)] = 0
    inside = rows[at] == matrix.indices if len(rows) else np.zeros(0, dtype=bool)
    column = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    entries = (matrix.data[inside], (at[inside], column[inside]))
    return sparse.csr_array(entries, shape=(len(rows), matrix.shape[1]))
