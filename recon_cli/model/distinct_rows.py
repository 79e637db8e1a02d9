"""Equal rows and columns of sparse matrices, found by random projections and then compared."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray


def distinct_rows(rows: sparse.csr_array, *keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return the index of one row for each distinct row, and each row's place among these.

    Rows with equal random projections are compared entry by entry, since bounds depend on their
    equality. A row with the projections of another, but other entries, counts as distinct.

    Args:
        keys: For each row a number in which equal rows must agree, too.

    >>> first, same = distinct_rows(sparse.csr_array([[0, 1], [2, 0], [0, 1]]))
    >>> first[same].tolist()
    [0, 1, 0]
    """
    weights = np.random.default_rng(0).integers(1, 2**40, size=(rows.shape[1], 2), dtype=np.int64)
    signature = np.column_stack([*keys, rows @ weights])
    _, first, same = np.unique(signature, axis=0, return_index=True, return_inverse=True)
    same = same.ravel()
    again = np.flatnonzero(first[same] != np.arange(len(same)))
    difference = sparse.csr_array(rows[again] - rows[first[same[again]]])
    difference.eliminate_zeros()
    apart = again[np.diff(difference.indptr) > 0]
    same[apart] = len(first) + np.arange(len(apart))
    return np.concatenate([first, apart]), same


def distinct_columns(columns: sparse.csc_array, *keys: IntArray) -> tuple[IntArray, IntArray]:
    """Find the first of each set of equal columns, in order, and for each column its set.

    Args:
        keys: For each column a number in which equal columns must agree, too.

    >>> first, same = distinct_columns(sparse.csc_array([[2, 0, 2, 1], [0, 1, 0, 0]]))
    >>> first.tolist(), same.tolist()
    ([0, 1, 3], [0, 1, 0, 2])
    """
    found, same = distinct_rows(sparse.csr_array(columns.T), *keys)
    place = np.empty(len(found), dtype=np.int64)
    place[np.argsort(found)] = np.arange(len(found))
    return np.sort(found), place[same]
