"""Pairs of middle values of a median that other pairs stand for.

Of two pairs with the same sum, where the wider one encloses the other and all other rows treat
their lower values alike but for sums, and their upper ones, too, the narrower stands for both: who
has the wider pair in the middle moves one person up from its lower value and one down from its
upper value, as far, and has the narrower pair there; nothing else that is published changes.

See *Pairs that stand for others* in docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.model.distinct_rows import distinct_rows

#: The lower and the upper middle value of an even number of people.
Pair = tuple[int, int]


def representatives(
    pairs: Sequence[Pair],
    measured: IntArray,
    unit: IntArray,
    others: sparse.csr_array,
    sums: tuple[sparse.csr_array, IntArray],
) -> list[int]:
    """Return the indices of pairs that stand for all, in order.

    Args:
        pairs: The closest first.
        measured: For each histogram cell of the median's people its value.
        unit: For each cell its unit.
        others: Sparse (rows × cells): the coefficients in all rows but the median's own, without
            those that are multiplied by a value.
        sums: Sparse (rows × cells): what such rows multiply by a value; and that value of each
            cell, which may be another than that of the median.

    >>> nothing = sparse.csr_array((1, 4), dtype=np.int64)
    >>> ages, ward = np.array([30, 31, 32, 33]), np.zeros(4, dtype=np.int64)
    >>> representatives([(31, 32), (30, 33)], ages, ward, nothing, (nothing, ages))
    [0]
    >>> of_30 = sparse.csr_array([[1, 0, 0, 0]])
    >>> representatives([(31, 32), (30, 33)], ages, ward, of_30, (nothing, ages))
    [0, 1]
    """
    by_value, summed = sums
    both = sparse.csr_array(sparse.vstack([others, by_value]).T)
    _, alike = distinct_rows(both, unit)
    has_sums = by_value.nnz > 0
    if has_sums and len(distinct_rows(sparse.csr_array(by_value.T))[0]) > 1:
        return list(range(len(pairs)))  # a sum that counts some of them would change
    classes: dict[int, tuple[int, ...]] = {}
    worth: dict[int, tuple[int, ...]] = {}
    for value in {value for pair in pairs for value in pair}:
        here = measured == value
        classes[value] = tuple(np.unique(alike[here]).tolist())
        worth[value] = tuple(np.unique(summed[here]).tolist())
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
