"""Claims that can be read off one published table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from recon_cli.model.grain import IntArray
from recon_cli.model.margins import Masks
from recon_cli.publication import Coverage, CoveragePattern
from recon_cli.schema import Release, Table

BoolArray = npt.NDArray[np.bool_]

#: More columns than a claim that is tested for being trivial has.
_TRIVIAL_COLUMNS = 5


class TrivialClaims:
    """Which predicates are published cells of a unit, or disjoint unions of one table's cells."""

    def __init__(self, release: Release, tables: Sequence[Table], pattern: CoveragePattern) -> None:
        """For the units of one coverage pattern."""
        self._full = release.full
        by_table = [
            [
                table.cells[number - 1].masks
                for number in pattern.cells.get(table.name, ())
                if table.cells[number - 1].tally is None
            ]
            for table in tables
        ]
        self._cells = {masks for cells in by_table for masks in cells}
        leaves = [_leaves(cells) for cells in by_table]
        self._leaves = [masks for cells in leaves for masks in cells]
        self._table = np.repeat(np.arange(len(leaves)), [len(cells) for cells in leaves])
        self._volume = np.array([_volume(masks) for masks in self._leaves], dtype=np.int64)
        self._inside: dict[tuple[int, int], BoolArray] = {}
        self._known: dict[Masks, bool] = {}

    def is_trivial(self, predicate: Masks) -> bool:
        """Whether the count of a predicate is published, or a sum of one table's cells."""
        if predicate not in self._known:
            self._known[predicate] = predicate in self._cells or self._is_union(predicate)
        return self._known[predicate]

    def _is_union(self, predicate: Masks) -> bool:
        inside = np.ones(len(self._leaves), dtype=bool)
        for f, (mask, full) in enumerate(zip(predicate, self._full, strict=True)):
            if mask != full:
                inside &= self._within(f, mask)
        volume = np.bincount(self._table[inside], self._volume[inside])
        for table in np.flatnonzero(volume == _volume(predicate)).tolist():
            members = np.flatnonzero(inside & (self._table == table)).tolist()
            if _are_disjoint([self._leaves[member] for member in members]):
                return True
        return False

    def _within(self, f: int, mask: int) -> BoolArray:
        """Which leaves allow only values of one feature that are in ``mask``."""
        if (f, mask) not in self._inside:
            within = [masks[f] & ~mask == 0 for masks in self._leaves]
            self._inside[f, mask] = np.array(within, dtype=bool)
        return self._inside[f, mask]


class TrivialGroups:
    """Which groups can be read off one table of their unit."""

    def __init__(
        self,
        release: Release,
        tables: tuple[Table, ...],
        coverage: Coverage,
        columns: tuple[str, ...],
    ) -> None:
        """Of the groups of some columns."""
        self._release = release
        self._tables = tables
        self._coverage = coverage
        self._groups = [release.column_groups(name) for name in columns]
        self._features = [release.feature_index[each.feature] for each in self._groups]
        self._of_pattern: dict[int, TrivialClaims] = {}

    def flags(self, pattern: IntArray, subset: IntArray, groups: IntArray) -> BoolArray:
        """For each claim whether it is trivial.

        Args:
            pattern: The coverage pattern of its unit.
            subset: Its columns, as bits.
            groups: (claims × columns) its values; those of other columns are ignored.
        """
        flags = np.zeros(len(subset), dtype=bool)
        few = np.flatnonzero(np.bitwise_count(subset) < _TRIVIAL_COLUMNS)
        bit = 1 << np.arange(len(self._groups))
        values = np.where(subset[few, None] & bit > 0, groups[few] + 1, 0)
        code = pattern[few]
        for column, group in zip(values.T, self._groups, strict=True):
            code = code * (len(group.masks) + 1) + column
        _, first, number = np.unique(code, return_index=True, return_inverse=True)
        found = [self._is_trivial(int(pattern[few[at]]), (values[at] - 1).tolist()) for at in first]
        flags[few] = np.array(found, dtype=bool)[number.ravel()]
        return flags

    def _is_trivial(self, pattern: int, values: list[int]) -> bool:
        masks = list(self._release.full)
        for at in (at for at, value in enumerate(values) if value >= 0):
            masks[self._features[at]] &= self._groups[at].masks[values[at]]
        if pattern not in self._of_pattern:
            self._of_pattern[pattern] = TrivialClaims(
                self._release, self._tables, self._coverage[pattern]
            )
        return self._of_pattern[pattern].is_trivial(tuple(masks))


def _leaves(cells: Sequence[Masks]) -> list[Masks]:
    """The cells of a table that contain no other of its cells."""
    distinct = list(dict.fromkeys(cells))
    return [
        outer
        for outer in distinct
        if not any(
            inner != outer and all(b & ~a == 0 for a, b in zip(outer, inner, strict=True))
            for inner in distinct
        )
    ]


def _are_disjoint(cells: Sequence[Masks]) -> bool:
    return all(
        any(a & b == 0 for a, b in zip(one, other, strict=True))
        for one, other in combinations(cells, 2)
    )


def _volume(masks: Masks) -> int:
    return math.prod(mask.bit_count() for mask in masks)
