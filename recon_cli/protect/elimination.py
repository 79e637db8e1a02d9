"""Complementary suppression by Gaussian elimination over all linked cells of a region.

A published cell is a linear functional of the numbers of people in the histogram cells that no
published zero rules out. A suppressed cell can be computed from the published ones if its row is in
their row space. So cells are published one by one, those of the greatest value first, unless the
row space would then hold a primary cell.

Arithmetic is exact, modulo a prime: a primary cell whose combination has a denominator that the
prime divides would be missed. Elimination does not know either that numbers of people are at least
0. What is left is audited for both reasons (`recon_cli.protect.suppression`).

See *complementary suppression* in docs/glossary.md.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.statement.law import BoolArray, FloatArray, IntArray

#: The largest prime below 2**20: sums of 2**13 products are whole in a float.
PRIME: Final = 1_048_573
#: Columns whose products add up without rounding.
MOST_COLUMNS: Final = 2**13


def choose_complementary(
    rows: sparse.csr_array, values: IntArray, is_primary: BoolArray
) -> BoolArray:
    """Cells to suppress besides the primary ones.

    Args:
        rows: Sparse (cells × histogram cells) coefficients, no row of zeros.
        values: The true counts: greater ones are published first.
        is_primary: Cells that are suppressed for their own sake.

    Returns:
        Of all cells, those that are suppressed to protect primary ones.

    Raises:
        ValueError: There are more than `MOST_COLUMNS` columns.
    """
    if rows.shape[1] > MOST_COLUMNS:
        raise ValueError(f"elimination over {rows.shape[1]:,} columns, at most {MOST_COLUMNS:,}")
    state = _Elimination(rows[is_primary].toarray())
    complementary = np.zeros(len(values), dtype=bool)
    for at in np.argsort(-values, kind="stable").tolist():
        if is_primary[at]:
            continue
        row = state.reduced(rows[[at]].toarray()[0])
        if not row.any():
            continue  # known from what is published already
        complementary[at] = state.would_reveal(row)
        if not complementary[at]:
            state.publish(row)
    return complementary


class _Elimination:
    """Published rows in reduced echelon form, and what is left of the primary ones."""

    def __init__(self, primary: IntArray) -> None:
        columns = primary.shape[1]
        self.basis: FloatArray = np.zeros((columns, columns))
        self.pivots = np.zeros(columns, dtype=np.int64)
        self.rank = 0
        self.hidden: FloatArray = np.unique(_normalised(primary.astype(np.float64)), axis=0)

    def reduced(self, row: IntArray) -> FloatArray:
        """A row less its part in the row space, its first entry 1; zeros if nothing is left."""
        pivots, basis = self.pivots[: self.rank], self.basis[: self.rank]
        values = row.astype(np.float64)
        rest: FloatArray = _normalised(((values - values[pivots] @ basis) % PRIME)[None, :])[0]
        return rest

    def would_reveal(self, row: FloatArray) -> bool:
        """Whether a primary row is a multiple of a reduced row, so that publishing it is enough."""
        return bool((self.hidden == row).all(axis=1).any())

    def publish(self, row: FloatArray) -> None:
        """Add a reduced row to the row space."""
        pivot = int(np.flatnonzero(row)[0])
        _cancel(self.basis[: self.rank], row, pivot)
        self.basis[self.rank], self.pivots[self.rank] = row, pivot
        self.rank += 1
        changed = _cancel(self.hidden, row, pivot)
        if len(changed):
            self.hidden[changed] = _normalised(self.hidden[changed])


def _cancel(rows: FloatArray, row: FloatArray, pivot: int) -> IntArray:
    """Subtract multiples of a row whose pivot is 1, in place; which rows that changes."""
    used, columns = np.flatnonzero(rows[:, pivot]), np.flatnonzero(row)
    at = np.ix_(used, columns)
    rows[at] = (rows[at] - np.outer(rows[used, pivot], row[columns])) % PRIME
    return used


def _normalised(rows: FloatArray) -> FloatArray:
    """Multiples of rows whose first entry is 1; rows of zeros stay."""
    rows = rows % PRIME
    first = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)]
    inverse = [pow(int(value), -1, PRIME) if value else 0 for value in first]
    result: FloatArray = (rows * np.array(inverse, dtype=np.float64)[:, None]) % PRIME
    return result
