"""All groups of people that a choice of columns and of values on them defines, unit by unit.

A *group* is the set of a unit's histogram cells with given values on some of the columns. A claim
that at least one person is in a group can be read off any solution, so that only groups with
somebody in the known solution are kept: those of its *held* cells.

See *group* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from recon_cli.attack.variability.histogram import HistogramCells
from recon_cli.model.grain import IntArray

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Groups:
    """The groups of a batch over every subset of the columns, the empty one included.

    Subset ``s`` has column ``j`` if bit ``j`` of ``s`` is set. Groups are numbered by subset.

    Attributes:
        held: The histogram cells with somebody in the known solution, rising.
        of_held: (subsets × held cells) the group that each is in.
        subset: For each group its subset.
        place: For each group the place of one of its cells in `held`.
        unit: For each group its unit.
    """

    held: IntArray
    of_held: IntArray
    subset: IntArray
    place: IntArray
    unit: IntArray

    @property
    def columns(self) -> int:
        """Number of columns."""
        return int(self.of_held.shape[0]).bit_length() - 1

    @property
    def cell(self) -> IntArray:
        """For each group one of its histogram cells."""
        return self.held[self.place]

    @cached_property
    def size(self) -> IntArray:
        """For each group the number of its columns."""
        return np.bitwise_count(self.subset).astype(np.int64)

    @cached_property
    def by_unit(self) -> tuple[IntArray, IntArray]:
        """The groups ordered by unit, and where the groups of each unit begin."""
        order = np.argsort(self.unit, kind="stable").astype(np.int64)
        units = np.arange(int(self.unit.max(initial=-1)) + 2)
        return order, np.searchsorted(self.unit[order], units).astype(np.int64)

    def of_unit(self, unit: int) -> IntArray:
        """The groups of one unit."""
        order, starts = self.by_unit
        return order[starts[unit] : starts[unit + 1]] if unit + 1 < len(starts) else order[:0]

    def sums(self, of_held: IntArray) -> IntArray:
        """For each group the sum of a number of each held cell."""
        weights = np.broadcast_to(of_held, self.of_held.shape).ravel()
        totals = np.bincount(self.of_held.ravel(), weights, len(self.subset))
        return totals.astype(np.int64)

    def without(self, groups: IntArray, column: int) -> IntArray:
        """For each of some groups with a column, the group with the same values without it."""
        subset = self.subset[groups] & ~(1 << column)
        parent: IntArray = self.of_held[subset, self.place[groups]]
        return parent

    def covers(self, is_chosen: BoolArray) -> BoolArray:
        """For each held cell whether it is in a chosen group."""
        covered: BoolArray = np.logical_or.reduce(is_chosen[self.of_held], axis=0)
        return covered

    def members(self, groups: IntArray, histogram: HistogramCells, cells: slice) -> BoolArray:
        """(groups × cells) whether each of some histogram cells is in each group of their unit."""
        values = histogram.groups[cells]
        members = np.empty((len(groups), len(values)), dtype=bool)
        order = np.argsort(self.place[groups], kind="stable")
        _, starts = np.unique(self.place[groups][order], return_index=True)
        for mine in np.split(order, starts[1:]) if len(order) else ():
            same = values == histogram.groups[self.held[self.place[groups[mine[0]]]]]
            members[mine] = _within_subsets(same)[self.subset[groups[mine]]]
        return members


def make_groups(histogram: HistogramCells, held: IntArray) -> Groups:
    """Every group of a batch.

    Args:
        histogram: The histogram cells of the batch; its columns are the claims'.
        held: Those with somebody in the known solution, rising.
    """
    values, unit = histogram.groups[held], histogram.unit[held]
    cells, columns = values.shape
    of_held = np.zeros((1 << columns, cells), dtype=np.int64)
    subsets, first = [], []
    groups = 0
    local = np.zeros((1 << columns, cells), dtype=np.int64)
    for subset in range(1 << columns):
        key = unit
        if subset:
            # The same subset without its highest column is numbered already.
            column = subset.bit_length() - 1
            width = int(values[:, column].max(initial=0)) + 1
            key = local[subset ^ (1 << column)] * width + values[:, column]
        place, local[subset] = _number(key)
        of_held[subset] = local[subset] + groups
        groups += len(place)
        subsets.append(np.full(len(place), subset, dtype=np.int64))
        first.append(place)
    place = np.concatenate(first)
    return Groups(held, of_held, np.concatenate(subsets), place, unit[place])


def _number(keys: IntArray) -> tuple[IntArray, IntArray]:
    """The place of one cell of each distinct key, by rising key, and each cell's number.

    As `np.unique`, without sorting: keys are small.
    """
    place = np.full(int(keys.max(initial=-1)) + 1, -1, dtype=np.int64)
    place[keys] = np.arange(len(keys))
    number = np.cumsum(place >= 0) - 1
    return place[place >= 0], number[keys]


def _within_subsets(same: BoolArray) -> BoolArray:
    """(subsets × cells) whether a cell has the same value on all columns of each subset.

    Args:
        same: (cells × columns) whether it has the same value on each.
    """
    within = np.ones((1, len(same)), dtype=bool)
    for column in same.T:
        within = np.concatenate([within, within & column])
    return within


def distinct_rows(rows: npt.NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """The place of one of each distinct row, and for each row which of them it is.

    As `np.unique`, which compares rows byte by byte: here their fingerprints are sorted, and that
    equal ones are equal rows is looked at.
    """
    packed = np.packbits(rows, axis=1)
    packed = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    words = np.ascontiguousarray(packed).view(np.uint64)
    odd = np.random.default_rng(0).integers(0, 2**63, words.shape[1], dtype=np.uint64) * 2 + 1
    mixed = (words ^ words >> np.uint64(29)) * odd  # wraps around
    fingerprint = (mixed ^ mixed >> np.uint64(32)).sum(axis=1, dtype=np.uint64)
    _, first, of_row = np.unique(fingerprint, return_index=True, return_inverse=True)
    of_row = of_row.ravel()
    if not np.array_equal(words[first][of_row], words):
        _, first, of_row = np.unique(words, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), of_row.ravel().astype(np.int64)
