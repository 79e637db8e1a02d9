"""Sparse matrices with one entry in each column or on a diagonal, and with further columns."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray


def placed(rows: IntArray, height: int, values: IntArray | None = None) -> sparse.csr_array:
    """Return a sparse (height × columns) matrix with one entry in each column.

    Args:
        rows: For each column the row of its entry.
        values: The entries; default ones.

    >>> placed(np.array([1, 0, 1]), 2).toarray().tolist()
    [[0, 1, 0], [1, 0, 1]]
    """
    n = len(rows)
    entries = np.ones(n, dtype=np.int64) if values is None else values
    return sparse.csr_array((entries, (rows, np.arange(n))), shape=(height, n))


def diagonal(values: IntArray) -> sparse.csr_array:
    """Return a sparse square matrix with some values on its diagonal."""
    n = len(values)
    return sparse.csr_array((values, np.arange(n), np.arange(n + 1)), shape=(n, n))


def widened(A: sparse.csr_array, width: int) -> sparse.csr_array:
    """Append columns without entries, up to a width.

    >>> widened(sparse.csr_array([[7]]), 3).toarray().tolist()
    [[7, 0, 0]]
    """
    return sparse.csr_array((A.data, A.indices, A.indptr), shape=(A.shape[0], width))
