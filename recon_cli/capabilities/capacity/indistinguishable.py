"""Noise that makes two records of one unit indistinguishable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import ndtri

from recon_cli.arrays import Float32Array, IntArray

#: Pairs of records that are compared at a time.
_SLAB = 4_000_000
_ROUNDING = 1e-6
#: A row is full if more than one in this many of its columns has an entry.
_FULL = 50


@dataclass(frozen=True)
class Farthest:
    """The largest distance between the counts of two records.

    Attributes:
        squared: Sum of squared differences of all their counts: the square of the L2 sensitivity
            to replacing a person.
        absolute: Largest sum of absolute differences, maybe of another pair: the L1 sensitivity.
    """

    squared: int
    absolute: int


def hiding_sd(squared: float, right: float) -> float:
    """Compute the normal noise that limits how often two records are told apart: Eq. (anysd).

    Args:
        squared: Squared distance of the farthest two records.
        right: Probability that the better guess between them is right: above one half, below 1.

    Raises:
        ValueError: ``right`` is out of range.

    >>> round(hiding_sd(4.0, right=0.75), 3)
    1.483
    """
    if not 0.5 < right < 1:
        raise ValueError(f"a share above 0.5 and below 1 is expected, found {right:g}")
    return float(np.sqrt(squared) / (2 * ndtri(right)))


def farthest_records(A: sparse.csr_array, times: IntArray) -> Farthest:
    """Find the largest distance between two columns: max‖A_j − A_k‖.

    The absolute distance of two columns is the squared distance of their unary codes. By the
    triangle inequality through a centre, few pairs need to be compared.

    Args:
        A: Sparse (rows × histogram cells); all rows that count a person, at every level.
        times: (rows,) how many levels publish each row.
    """
    if not A.nnz:
        return Farthest(0, 0)
    layers = [sparse.csr_array(k <= A) for k in range(1, int(A.max()) + 1)]
    unary = sparse.csr_array(sparse.vstack(layers)).astype(np.float64)
    weight = np.sqrt(times.astype(np.float64))
    return Farthest(
        _largest(sparse.csr_array(A.multiply(weight[:, None]))),
        _largest(sparse.csr_array(unary.multiply(np.tile(weight, len(layers))[:, None]))),
    )


def _largest(A: sparse.csr_array) -> int:
    """Return the largest squared distance, an integer."""
    stacked = sparse.csc_array(A).astype(np.float32)
    norm: Float32Array = np.asarray(stacked.multiply(stacked).sum(axis=0)).ravel()
    centre = np.asarray(stacked.mean(axis=1), dtype=np.float32).ravel()
    radius = np.sqrt(np.maximum(norm - 2 * (stacked.T @ centre) + centre @ centre, 0))
    order = np.argsort(-radius, kind="stable")
    stacked, norm, radius = sparse.csc_array(stacked[:, order]), norm[order], radius[order]
    products = _Products.of(stacked)
    best, first = 0, 0
    while first < len(norm):
        reach = int(np.searchsorted(-radius, radius[first] - best**0.5 + _ROUNDING, side="right"))
        if reach <= first:
            break  # no column further on is in a farther pair
        last = min(first + max(1, _SLAB // reach), reach)
        distance = norm[first:last, None] + norm[None, :reach] - 2 * products(first, last, reach)
        best = max(best, round(float(distance.max(initial=0))))
        first = last
    return best


@dataclass(frozen=True)
class _Products:
    """Inner products of columns, in which rows with many entries are dense arrays.

    Attributes:
        full: (rows × columns) rows with many entries.
        thin: Sparse (rows × columns) the other rows.
    """

    full: npt.NDArray[np.float32]
    thin: sparse.csc_array

    @classmethod
    def of(cls, columns: sparse.csc_array) -> _Products:
        rows = sparse.csr_array(columns)
        is_full = np.diff(rows.indptr) * _FULL > columns.shape[1]
        return cls(rows[is_full].toarray().astype(np.float32), sparse.csc_array(rows[~is_full]))

    def __call__(self, first: int, last: int, reach: int) -> npt.NDArray[np.float32]:
        """Return (last − first × reach) products."""
        thin = (self.thin[:, first:last].T @ self.thin[:, :reach]).toarray()
        products: npt.NDArray[np.float32] = self.full[:, first:last].T @ self.full[:, :reach] + thin
        return products
