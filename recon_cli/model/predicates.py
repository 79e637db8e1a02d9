"""Relations between predicates: containment and disjointness.

A predicate is a mask of each feature of the release, in order: the values that count.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from recon_cli.arrays import BoolArray, IntArray

Masks = tuple[int, ...]

#: Number of rows whose relations to all rows are in memory at a time.
_SLAB = 64


@dataclass(frozen=True)
class _MasksOfFeature:
    """The few distinct masks of one feature.

    Attributes:
        at: For each predicate the index of its mask.
        bits: (distinct masks × bytes) their values, eight to a byte.
    """

    at: IntArray
    bits: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, column: Sequence[int]) -> _MasksOfFeature:
        """Pack the masks of all predicates."""
        place = {mask: i for i, mask in enumerate(dict.fromkeys(column))}
        size = max(place).bit_length() // 8 + 1
        packed = b"".join(mask.to_bytes(size, "little") for mask in place)
        bits = np.frombuffer(packed, dtype=np.uint8).reshape(len(place), size)
        return cls(np.array([place[mask] for mask in column]), bits)

    @cached_property
    def inside(self) -> npt.NDArray[np.uint8]:
        """Return a packed (distinct masks × predicates) table: which predicates lie in the mask."""
        within = np.array([~(self.bits & ~mask).any(axis=1) for mask in self.bits])
        return np.packbits(within[:, self.at], axis=1)

    @cached_property
    def apart(self) -> BoolArray:
        """Return a (distinct masks × distinct masks) table: whether two share no value."""
        return np.array([~(self.bits & mask).any(axis=1) for mask in self.bits])


class PredicatePairs:
    """Relations between predicates, computed from the distinct masks of each feature."""

    def __init__(self, rows: Sequence[Masks]) -> None:
        self._size = len(rows)
        self._features = [_MasksOfFeature.of(column) for column in zip(*rows, strict=True)]

    def inside(self, slab: slice) -> BoolArray:
        """Return a (slab × rows) table: whether row j is inside row i of the slab."""
        table = np.full((slab.stop - slab.start, -(-self._size // 8)), 255, dtype=np.uint8)
        for feature in self._features:
            table &= feature.inside[feature.at[slab]]
        return np.unpackbits(table, axis=1, count=self._size).view(bool)

    def apart(self, rows: IntArray, others: IntArray) -> BoolArray:
        """Return a (rows × others) table: whether no record can satisfy both."""
        table = np.zeros((len(rows), len(others)), dtype=bool)
        for feature in self._features:
            table |= feature.apart[feature.at[rows]][:, feature.at[others]]
        return table

    def first_disjoint(self, rows: IntArray) -> IntArray:
        """Pick indices of ``rows`` in order, each disjoint from all picked before."""
        picked: list[int] = []
        left = np.ones(len(rows), dtype=bool)
        while left.any():
            slab = np.flatnonzero(left)[:_SLAB]
            table = self.apart(rows[slab], rows)
            if table[:, slab].sum() == len(slab) * (len(slab) - 1):  # as mostly: all of them
                picked += slab.tolist()
                left &= table.all(axis=0)
                left[slab] = False
                continue
            for place, apart in zip(slab.tolist(), table, strict=True):
                if left[place]:
                    picked.append(place)
                    left &= apart
                    left[place] = False
        return np.array(picked, dtype=np.int64)


def all_disjoint(rows: Sequence[Masks]) -> bool:
    """Test whether no record can satisfy two of the predicates.

    >>> all_disjoint([(0b01, 0b11), (0b10, 0b11)]), all_disjoint([(0b01, 0b11), (0b11, 0b10)])
    (True, False)
    """
    if any(_share_no_value(column) for column in zip(*rows, strict=True)):
        return True
    pairs, every = PredicatePairs(rows), np.arange(len(rows))
    apart = sum(int(pairs.apart(every, every[slab]).sum()) for slab in slabs(len(rows)))
    return apart == len(rows) * (len(rows) - 1)


def _share_no_value(masks: Sequence[int]) -> bool:
    """Test whether the masks of one feature are disjoint."""
    union = functools.reduce(operator.or_, masks)
    return union.bit_count() == sum(mask.bit_count() for mask in masks)


def slabs(rows: int) -> Iterator[slice]:
    """Yield ranges of rows: a table of all pairs of thousands of rows would take 100 MB."""
    return (slice(start, min(start + _SLAB, rows)) for start in range(0, rows, _SLAB))
