"""Combinations of changes of single blocks that form solutions together.

A vertex of one block that takes a functional to its bound mostly needs compensation elsewhere: a
row of the district, or of the region, has to stay within its bounds. One or two changes found for
the functionals of other blocks often provide this compensation, without a further program.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray, ranges
from recon_cli.model.ledger import Arrays, Ledger, Witness, packed, unpacked
from recon_cli.model.program import IntegerProgram

#: Most changes that are combined.
_MOST = 4
#: Most changes that are considered to mend one row.
_LOOKED_AT = 400
#: Successive changes that are not completed, after which no more are tried.
_DRY = 20
#: Deterministic seconds for each coefficient that is read, and for each change.
_ENTRY, _CHANGE = 2e-8, 1e-4


class BlockChanges:
    """Changes of single blocks, from one known solution, to be combined: Eq. (joined).

    Each change is integral, and need satisfy only the rows of its own block.
    """

    def __init__(self) -> None:
        self._changes: dict[bytes, tuple[int, IntArray, IntArray]] = {}

    def keep(self, block: int, columns: IntArray, change: IntArray) -> None:
        """Keep a change, unless it is kept already.

        Args:
            columns: The variables that change, sorted.
            change: The change of each.
        """
        if len(columns):
            key = hashlib.blake2b(columns.tobytes() + change.tobytes(), digest_size=16).digest()
            self._changes.setdefault(key, (block, columns, change))

    def state(self) -> Arrays:
        """Return all changes as arrays that `take_up` reads."""
        kept = self._changes.values()
        return packed("change", [((block,), columns, change) for block, columns, change in kept])

    def take_up(self, state: Arrays) -> None:
        """Restore the changes of another object."""
        for (block,), columns, change in unpacked("change", state):
            self.keep(block, columns, change)

    def join(
        self, ledger: Ledger, known: int, total: IntArray, values: IntArray, limit: float
    ) -> None:
        """Combine changes to solutions with any new value in a ledger: Eq. (joined).

        Args:
            known: Index of the solution to change among the ledger's known solutions.
            total: Values of the rows in this solution.
            values: Values of the functionals in this solution.
            limit: Deterministic seconds.
        """
        if not self._changes:
            return
        changes = _Changes.of(ledger, list(self._changes.values()), total)
        until, dry = ledger.effort + limit, 0
        low, high = ledger.program.lower, ledger.program.upper
        for at in range(len(changes.block)):
            k, gains = changes.gains(at)
            reached = values[k] + gains
            if not ((reached < ledger.least[k]) | (reached > ledger.greatest[k])).any():
                continue
            if ledger.effort >= until or dry == _DRY:
                return
            joined, looked_at = changes.completed(at)
            ledger.effort = round(ledger.effort + _CHANGE + _ENTRY * looked_at, 9)
            columns, change = changes.sum_of(joined)
            there = ledger.known[known][columns] + change
            # Blocks may overlap: what each may do alone can be too much together.
            is_within = (there >= low[columns]) & (there <= high[columns])
            is_solution = len(joined) > 0 and bool(is_within.all())
            dry = 0 if is_solution else dry + 1
            if is_solution:
                k, gains = changes.gains_of(joined)
                ledger.see(values[k] + gains, Witness(known, columns, change), k)


@dataclass(frozen=True)
class _Changes:
    """Changes with their effects.

    Attributes:
        variables: Sparse (changes × variables).
        functionals: Sparse (changes × functionals): what each change adds.
        low: Least change of each row.
        high: Greatest change of each row.
    """

    block: IntArray
    variables: sparse.csr_array
    functionals: sparse.csr_array
    program: IntegerProgram
    low: IntArray
    high: IntArray

    @classmethod
    def of(
        cls, ledger: Ledger, changes: list[tuple[int, IntArray, IntArray]], total: IntArray
    ) -> _Changes:
        """Collect changes, each given by a block, its variables and their changes."""
        program: IntegerProgram = ledger.program
        sizes = [len(columns) for _, columns, _ in changes]
        data = np.concatenate([change for _, _, change in changes])
        at = np.concatenate([columns for _, columns, _ in changes])
        shape = (len(changes), program.shape[1])
        variables = sparse.csr_array((data, at, np.cumsum([0, *sizes])), shape=shape)
        return cls(
            np.array([block for block, _, _ in changes]),
            variables,
            _added(variables, ledger.functionals),
            program,
            program.constraints.least - total,
            program.constraints.most - total,
        )

    @cached_property
    def rows(self) -> sparse.csr_array:
        """Return sparse (changes × rows): what each change adds. It is mostly not needed."""
        return _added(self.variables, self.program.constraints.A)

    @cached_property
    def _by_row(self) -> sparse.csc_array:
        return sparse.csc_array(self.rows)

    def gains(self, at: int) -> tuple[IntArray, IntArray]:
        """Return the functionals that a change moves, and by how much."""
        entries = slice(self.functionals.indptr[at], self.functionals.indptr[at + 1])
        k = self.functionals.indices[entries].astype(np.int64)
        return k, self.functionals.data[entries].astype(np.int64)

    def gains_of(self, joined: IntArray) -> tuple[IntArray, IntArray]:
        """Return the functionals that some changes move together, and by how much."""
        return _sum(self.functionals, joined)

    def sum_of(self, joined: IntArray) -> tuple[IntArray, IntArray]:
        """Return the variables that some changes move together, and by how much."""
        return _sum(self.variables, joined)

    def completed(self, at: int) -> tuple[IntArray, int]:
        """Complete a change to a solution by changes of other blocks.

        Each further change is the one that leaves the least total violation of rows.

        Returns:
            The changes, none where no solution was found; and the number of coefficients read.
        """
        joined, looked_at = np.array([at]), 0
        moved = np.zeros(len(self.low), dtype=np.int64)
        while True:
            last = joined[-1]
            entries = slice(self.rows.indptr[last], self.rows.indptr[last + 1])
            moved[self.rows.indices[entries]] += self.rows.data[entries]
            missed = self._missed(np.arange(len(moved)), moved)
            broken = np.flatnonzero(missed)
            if not len(broken):
                return joined, looked_at
            if len(joined) == _MOST:
                return joined[:0], looked_at
            others = self._that_mend(broken, moved, self.block[joined])
            if not len(others):
                return joined[:0], looked_at
            left, entries_of_them = self._left(others, moved, missed)
            looked_at += entries_of_them
            best = int(left.argmin())
            if left[best] >= 0:
                return joined[:0], looked_at
            joined = np.append(joined, others[best])

    def _missed(self, rows: IntArray, moved: IntArray) -> IntArray:
        """Return the violation of rows."""
        missed: IntArray = np.maximum(self.low[rows] - moved, 0)
        missed += np.maximum(moved - self.high[rows], 0)
        return missed

    def _that_mend(self, broken: IntArray, moved: IntArray, blocks: IntArray) -> IntArray:
        """Select changes of other blocks that correct the violated row with fewest candidates."""
        indptr = self._by_row.indptr
        row = broken[(indptr[broken + 1] - indptr[broken]).argmin()]
        entries = slice(indptr[row], indptr[row + 1])
        rises = self._by_row.data[entries] > 0
        others = self._by_row.indices[entries][rises == (moved[row] < self.low[row])]
        elsewhere = ~np.isin(self.block[others], blocks)
        found: IntArray = others[elsewhere][:_LOOKED_AT].astype(np.int64)
        return found

    def _left(self, others: IntArray, moved: IntArray, missed: IntArray) -> tuple[IntArray, int]:
        """Return how each change alters the total violation, and the coefficients read."""
        starts = self.rows.indptr[others].astype(np.int64)
        sizes = self.rows.indptr[others + 1] - starts
        ends = np.cumsum(sizes)
        entry = ranges(starts, sizes)
        rows = self.rows.indices[entry].astype(np.int64)
        more = self._missed(rows, moved[rows] + self.rows.data[entry]) - missed[rows]
        return np.add.reduceat(more, ends - sizes), int(ends[-1])


def _added(variables: sparse.csr_array, sums: sparse.csr_array) -> sparse.csr_array:
    """Return sparse (changes × sums): what changes of variables add to sums of them."""
    added = sparse.csr_array(variables @ sparse.csr_array(sums.T))
    added.eliminate_zeros()
    added.sort_indices()
    return added


def _sum(matrix: sparse.csr_array, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return where the sum of some rows is not zero, and its values."""
    chosen = sparse.csr_array(matrix[rows])
    at, which = np.unique(chosen.indices, return_inverse=True)
    total = np.zeros(len(at), dtype=np.int64)
    np.add.at(total, which, chosen.data)
    return at[total != 0].astype(np.int64), total[total != 0]
