"""All groups of people that a choice of columns and of values on them defines, unit by unit.

A *group* is the set of a unit's histogram cells with given values on some of the columns. A claim
that at least one person is in a group can be read off any solution, so that only groups with
somebody in the known solution are kept apart.

See *group* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from recon_cli.attack.variability.histogram import Histogram
from recon_cli.model.grain import IntArray


@dataclass(frozen=True)
class Groups:
    """The groups of a batch over every subset of the columns, the empty one included.

    Subset ``s`` has column ``j`` if bit ``j`` of ``s`` is set. Groups are numbered by subset.

    Attributes:
        of_cell: (subsets × histogram cells) the group that each cell is in.
        subset: For each group its subset.
        cell: For each group one of its histogram cells.
        unit: For each group its unit.
    """

    of_cell: IntArray
    subset: IntArray
    cell: IntArray
    unit: IntArray

    @property
    def columns(self) -> int:
        """Number of columns."""
        return int(self.of_cell.shape[0]).bit_length() - 1

    @cached_property
    def size(self) -> IntArray:
        """For each group the number of its columns."""
        return np.bitwise_count(self.subset).astype(np.int64)

    def sums(self, of_cell: IntArray) -> IntArray:
        """For each group the sum of a number of each histogram cell."""
        weights = np.broadcast_to(of_cell, self.of_cell.shape).ravel()
        totals = np.bincount(self.of_cell.ravel(), weights, len(self.subset))
        return totals.astype(np.int64)

    def without(self, groups: IntArray, column: int) -> IntArray:
        """For each of some groups with a column, the group with the same values without it."""
        subset = self.subset[groups] & ~(1 << column)
        parent: IntArray = self.of_cell[subset, self.cell[groups]]
        return parent

    def covers(self, is_chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """For each histogram cell whether it is in a chosen group."""
        covered: npt.NDArray[np.bool_] = np.logical_or.reduce(is_chosen[self.of_cell], axis=0)
        return covered


def make_groups(histogram: Histogram) -> Groups:
    """Every group of a batch.

    Args:
        histogram: The histogram cells of the batch; its columns are the claims'.
    """
    cells, columns = histogram.groups.shape
    of_cell = np.zeros((1 << columns, cells), dtype=np.int64)
    subsets, first = [], []
    groups = 0
    local = np.zeros((1 << columns, cells), dtype=np.int64)
    for subset in range(1 << columns):
        if subset:
            # The same subset without its highest column is numbered already.
            column = subset.bit_length() - 1
            values = histogram.groups[:, column]
            width = int(values.max(initial=0)) + 1
            key = local[subset ^ (1 << column)] * width + values
        else:
            key = histogram.unit
        _, cell, number = np.unique(key, return_index=True, return_inverse=True)
        local[subset] = number.ravel()
        of_cell[subset] = local[subset] + groups
        groups += len(cell)
        subsets.append(np.full(len(cell), subset, dtype=np.int64))
        first.append(cell.astype(np.int64))
    cell = np.concatenate(first)
    return Groups(of_cell, np.concatenate(subsets), cell, histogram.unit[cell])
