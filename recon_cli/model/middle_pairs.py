"""Pairs of middle values of a median that stand for other pairs.

Let a wider pair enclose a narrower one of the same sum, and let all rows but sums of values treat
the lower values of the two alike, and the upper values alike. Then the narrower pair stands for
both: if the wider pair is in the middle, move one person up from its lower value and one down from
its upper value by as much. The narrower pair is in the middle then, and all other rows still hold.

See *Pairs that stand for others* in docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.model.statistic_rows import Pair


def representatives(
    pairs: Sequence[Pair],
    measured: IntArray,
    unit: IntArray,
    others: sparse.csr_array,
    sums: tuple[sparse.csr_array, IntArray],
) -> list[int]:
    """Return the indices of pairs that stand for all, in order.

    Args:
        pairs: Pairs of middle values, the closest first.
        measured: For each histogram cell of the median's people its value.
        unit: For each cell its unit.
        others: Sparse (rows × cells): the coefficients in all rows but the median's own, without
            those that are multiplied by a value.
        sums: Sparse (rows × cells): the coefficients that are multiplied by a value; and for each
            cell that value, which need not be the median's.

    >>> nothing = sparse.csr_array((1, 4), dtype=np.int64)
    >>> ages, ward = np.array([30, 31, 32, 33]), np.zeros(4, dtype=np.int64)
    >>> representatives([(31, 32), (30, 33)], ages, ward, nothing, (nothing, ages))
    [0]
    >>> of_30 = sparse.csr_array([[1, 0, 0, 0]])
    >>> representatives([(31, 32), (30, 33)], ages, ward, of_30, (nothing, ages))
    [0, 1]
    """
    by_value, summed = sums
    of_sums = by_value.toarray()
    has_sums = bool(of_sums.any())
    if has_sums and (of_sums != of_sums[:, :1]).any():
        return list(range(len(pairs)))  # a sum that counts some of them would change
    alike = distinct_columns_of(np.vstack([others.toarray(), unit]))
    classes: dict[int, tuple[int, ...]] = {}
    worth: dict[int, tuple[int, ...]] = {}
    order = np.argsort(measured, kind="stable")
    ordered = measured[order]
    for value in {value for pair in pairs for value in pair}:
        here = order[slice(*np.searchsorted(ordered, [value, value + 1]).tolist())]
        classes[value] = tuple(sorted(set(alike[here].tolist())))
        worth[value] = tuple(sorted(set(summed[here].tolist())))
    kept: list[int] = []
    known: dict[tuple[object, ...], list[Pair]] = {}
    for at, (low, high) in enumerate(pairs):
        if has_sums and not len(worth[low]) == len(worth[high]) == 1:
            kept.append(at)
            continue
        total = worth[low][0] + worth[high][0] if has_sums else 0
        before = known.setdefault((classes[low], classes[high], total), [])
        if not any(low <= a and b <= high for a, b in before):
            before.append((low, high))
            kept.append(at)
    return kept


def distinct_columns_of(rows: IntArray) -> IntArray:
    """Number the distinct columns of some rows.

    >>> distinct_columns_of(np.array([[1, 1, 0, 1], [5, 6, 5, 5]])).tolist()
    [1, 2, 0, 1]
    """
    found = np.zeros(rows.shape[1], dtype=np.int64)
    for row in rows[(rows != rows[:, :1]).any(axis=1)]:
        _, own = np.unique(row, return_inverse=True)
        _, found = np.unique(found * (int(own.max()) + 1) + own, return_inverse=True)
    return found
