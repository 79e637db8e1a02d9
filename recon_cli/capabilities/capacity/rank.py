"""The matrix of people and published cells, and its exact rank, proven from both sides.

From below: the rank modulo a prime is never above the rank over the rationals. From above: every
dependency modulo the prime is lifted to integers and multiplied out.

See *rank* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.arrays import AtomArray, IntArray
from recon_cli.model.grain import Grain, enumerate_domain
from recon_cli.model.predicates import Masks
from recon_cli.model.program import connected_parts
from recon_cli.schema import Release

#: Products of two residues fit into 64 bits.
_PRIMES: Final = (2**31 - 1, 2**31 - 19)
#: Numerators and denominators of a rational that its residue modulo such a prime determines.
_RATIONAL: Final = 2**15 - 1
_LARGEST: Final = 2**62


def design_matrix(
    release: Release,
    grain: Grain,
    rows: Sequence[tuple[Masks, int | None]],
    atoms: AtomArray | None = None,
) -> sparse.csr_array:
    """Build the sparse (rows × histogram cells) matrix: how often a row counts a person of a cell.

    Args:
        grain: Resolves all rows.
        rows: Predicates, each with the feature whose picked options it tallies, or None.
        atoms: (histogram cells × features) atom indices; default all, in mixed-radix order.
    """
    domain = enumerate_domain(grain.sizes) if atoms is None else atoms
    inside: dict[tuple[int, int], npt.NDArray[np.bool_]] = {}
    columns, counts, sizes = [], [], []
    for masks, tally in rows:
        held = np.ones(len(domain), dtype=bool)
        for f, mask in enumerate(masks):
            if mask != release.full[f]:
                if (f, mask) not in inside:
                    values = np.zeros(grain.sizes[f], dtype=bool)
                    values[grain.within(f, mask)] = True
                    inside[f, mask] = values[domain[:, f]]
                held &= inside[f, mask]
        found = np.flatnonzero(held)
        weight = np.ones(len(found), dtype=np.int64)
        if tally is not None:
            weight = grain.picked(release, tally)[domain[found, tally]]
        columns.append(found)
        counts.append(weight)
        sizes.append(len(found))
    empty = [np.empty(0, dtype=np.int64)]
    return sparse.csr_array(
        (np.concatenate(counts or empty), np.concatenate(columns or empty), np.cumsum([0, *sizes])),
        shape=(len(rows), len(domain)),
    )


@dataclass(frozen=True)
class Rank:
    """The number of independent rows of a matrix.

    Attributes:
        value: Proven lower bound of the rank.
        is_exact: Whether it is proven to be the rank.
        rows: Sorted independent rows; as many as `value`.
    """

    value: int
    is_exact: bool
    rows: IntArray


def matrix_rank(A: sparse.csr_array) -> Rank:
    """Compute the rank over the rationals: Eq. (rank).

    Args:
        A: Sparse (rows × columns) integers.

    >>> matrix_rank(sparse.csr_array([[1, 1], [2, 2]])).value
    1
    """
    rest = sparse.csr_array(A).astype(np.int64)
    rest.eliminate_zeros()
    rows, open_rows, open_columns = _peel(rest)
    core = sparse.csr_array(rest[open_rows][:, open_columns])
    found, is_exact = [rows], True
    row_part, column_part = connected_parts(core)
    for part in np.unique(row_part).tolist():
        members = np.flatnonzero(row_part == part)
        columns = np.flatnonzero(column_part == part)
        independent, proven = _component(sparse.csr_array(core[members][:, columns]))
        found.append(open_rows[members[independent]])
        is_exact &= proven
    independent_rows = np.sort(np.concatenate(found))
    return Rank(len(independent_rows), is_exact, independent_rows)


def _peel(A: sparse.csr_array) -> tuple[IntArray, IntArray, IntArray]:
    """Return pivots that are alone in their row or column; and the remaining rows and columns."""
    entries = A.tocoo()
    row, column = entries.row.astype(np.int64), entries.col.astype(np.int64)
    pivots = [np.empty(0, dtype=np.int64)]
    row_open, column_open = (np.ones(size, dtype=bool) for size in A.shape)
    while len(row):
        in_row, in_column = np.bincount(row), np.bincount(column)
        # one pivot of each column, then one of each row: no two share either
        alone = np.flatnonzero(in_row[row] == 1)
        alone = alone[np.unique(column[alone], return_index=True)[1]]
        if not len(alone):
            alone = np.flatnonzero(in_column[column] == 1)
            alone = alone[np.unique(row[alone], return_index=True)[1]]
        if not len(alone):
            break
        pivots.append(row[alone])
        row_open[row[alone]] = column_open[column[alone]] = False
        keep = row_open[row] & column_open[column]
        row, column = row[keep], column[keep]
    return np.concatenate(pivots), np.unique(row), np.unique(column)


def _component(A: sparse.csr_array) -> tuple[IntArray, bool]:
    """Return independent rows of a connected matrix, and whether the others provably depend."""
    gram = (A @ A.T).toarray()  # of the same rank over the rationals
    independent: IntArray = np.empty(0, dtype=np.int64)
    for prime in _PRIMES:
        echelon, pivots = _echelon(gram % prime, prime)
        if len(pivots) > len(independent):
            independent = pivots
        if _depend(A, echelon, pivots, prime):
            return pivots, True
    return independent, False


def _echelon(M: IntArray, prime: int) -> tuple[IntArray, IntArray]:
    """Return the reduced echelon form modulo a prime, and its pivots' columns."""
    M = M.copy()
    pivots: list[int] = []
    for column in range(M.shape[1]):
        at = len(pivots)
        below = np.flatnonzero(M[at:, column])
        if not len(below):
            continue
        M[[at, at + below[0]]] = M[[at + below[0], at]]
        M[at] = M[at] * pow(int(M[at, column]), -1, prime) % prime
        others = np.flatnonzero(M[:, column])
        others = others[others != at]
        used = np.flatnonzero(M[at])
        block = np.ix_(others, used)
        M[block] = (M[block] - M[others, column][:, None] * M[at, used]) % prime
        pivots.append(column)
    return M[: len(pivots)], np.array(pivots, dtype=np.int64)


def _depend(A: sparse.csr_array, echelon: IntArray, pivots: IntArray, prime: int) -> bool:
    """Test whether every other row is an integer combination of the pivot rows."""
    others = np.setdiff1d(np.arange(A.shape[0]), pivots)
    if not len(others):
        return True
    numerator, denominator = _rationals(echelon[:, others], prime)
    if (denominator == 0).any():
        return False
    common = [math.lcm(*column) for column in denominator.T.tolist()]
    weights = sum(abs(A).sum(axis=0).tolist())
    if max(common) * _RATIONAL * max(weights, 1) >= _LARGEST:
        return False
    scale = np.array(common, dtype=np.int64)
    combination = numerator * (scale // np.maximum(denominator, 1))
    return not (A[pivots].T @ combination - A[others].T.multiply(scale[None, :])).any()


def _rationals(residues: IntArray, prime: int) -> tuple[IntArray, IntArray]:
    """Return small fractions with these residues; a denominator of 0 where there is none.

    Source: Wang, Guy & Davenport, P-adic reconstruction of rational numbers (1982).
    """
    values, places = np.unique(residues, return_inverse=True)
    found = [_rational(value, prime) for value in values.tolist()]
    numerators, denominators = (np.array(part, dtype=np.int64) for part in zip(*found, strict=True))
    shape = residues.shape
    return numerators[places].reshape(shape), denominators[places].reshape(shape)


def _rational(residue: int, prime: int) -> tuple[int, int]:
    r, s, u, v = prime, residue, 0, 1
    while s > _RATIONAL:
        q = r // s
        r, s, u, v = s, r - q * s, v, u - q * v
    if abs(v) > _RATIONAL or v == 0:
        return 0, 0
    return (s, v) if v > 0 else (-s, -v)
