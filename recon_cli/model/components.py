"""What propagation leaves open, split into parts that share no row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from recon_cli.model.bounds import Bounds
from recon_cli.model.grain import IntArray


@dataclass(frozen=True)
class Component:
    """A connected part of the residue: ``A x = rhs`` with ``lower <= x <= upper``.

    Attributes:
        cells: Columns of the whole system, rising.
        A: Sparse coefficients over `cells`, without duplicate rows.
        rhs: Right-hand sides less what fixed cells contribute.
        lower: Bounds from propagation.
        upper: Bounds from propagation.
        rows: Rows of the whole system, one for each row of `A`.
    """

    cells: IntArray
    A: sparse.csr_array
    rhs: IntArray
    lower: IntArray
    upper: IntArray
    rows: IntArray


def split_components(A: sparse.csr_array, rhs: IntArray, bounds: Bounds) -> Iterator[Component]:
    """Drop fixed cells and duplicate rows; yield what is left, in the order of its first cell."""
    free = np.flatnonzero(bounds.free)
    if not len(free):
        return
    residue = sparse.csr_array(A[:, free])
    rest = rhs - A @ np.where(bounds.free, 0, bounds.lower)
    rows = np.flatnonzero(np.diff(residue.indptr))
    residue, rest = sparse.csr_array(residue[rows]), rest[rows]
    keep = _distinct_rows(residue, rest)
    residue, rest, rows = sparse.csr_array(residue[keep]), rest[keep], rows[keep]
    row_label, cell_label = _labels(residue)
    cell_order = np.argsort(cell_label, kind="stable")
    row_order = np.argsort(row_label, kind="stable")
    labels, first, size = np.unique(cell_label[cell_order], return_index=True, return_counts=True)
    row_first = np.searchsorted(row_label[row_order], labels)
    row_last = np.searchsorted(row_label[row_order], labels, side="right")
    for k in np.argsort(cell_order[first], kind="stable"):
        cells = cell_order[first[k] : first[k] + size[k]]
        members = row_order[row_first[k] : row_last[k]]
        yield Component(
            cells=free[cells],
            A=sparse.csr_array(residue[members][:, cells]),
            rhs=rest[members],
            lower=bounds.lower[free[cells]],
            upper=bounds.upper[free[cells]],
            rows=rows[members],
        )


def _labels(A: sparse.csr_array) -> tuple[IntArray, IntArray]:
    """The component of each row and of each column."""
    rows, columns = A.shape
    entries = A.tocoo()
    ends = (entries.row, entries.col + rows)
    ones = np.ones(A.nnz, dtype=np.int8)
    graph = sparse.csr_array((ones, ends), shape=(rows + columns, rows + columns))
    _, label = csgraph.connected_components(graph, directed=False)
    return label[:rows].astype(np.int64), label[rows:].astype(np.int64)


def _distinct_rows(A: sparse.csr_array, rhs: IntArray) -> IntArray:
    """First of each set of equal rows, told apart by two random projections of the columns.

    Rows with equal cells and unequal sides both stay: they contradict each other, and the solver
    must see it.
    """
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 2**40, size=(A.shape[1], 2), dtype=np.int64)
    signature = np.column_stack([A @ weights, rhs])
    _, first = np.unique(signature, axis=0, return_index=True)
    return np.sort(first)
