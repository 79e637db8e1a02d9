"""Trivial claims, which one published table states; and claims that nobody has some values.

A group is empty in every solution if all its histogram cells are empty in every solution. Absent
groups are therefore the values on a subset of the columns that no possible cell has. Only minimal
groups are kept, which leave people possible on each smaller subset: all others follow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.coverage import Coverage, CoveragePattern
from recon_cli.model.predicates import Masks
from recon_cli.schema import Recode, Release, Table, count_combinations

#: Most columns of an absence, and of a claim that is tested for being trivial.
_MOST_COLUMNS = 4
#: Predicates times cells that are compared together.
_COMPARISONS = 4_000_000
#: Most values of a subset of the columns that are tested; subsets with more have no claims.
_VALUES = 4_000_000


@dataclass(frozen=True)
class _PublishedCells:
    """The published cells of units with one coverage pattern.

    Attributes:
        cells: Predicates of the cells, table by table.
        leaves: Indices of the cells that contain no other cell of their table.
        starts: For each table the place of its first leaf among the leaves.
        volume: For each cell the number of histogram cells that it counts.
        is_disjoint: For each table whether no two of its leaves overlap.
    """

    cells: tuple[Masks, ...]
    leaves: IntArray
    starts: IntArray
    volume: IntArray
    is_disjoint: BoolArray

    @classmethod
    def of(cls, tables: Sequence[Table], pattern: CoveragePattern) -> _PublishedCells:
        """Select the distinct cells of some tables that count people."""
        cells: list[Masks] = []
        leaves: list[int] = []
        starts, is_disjoint = [], []
        for table in tables:
            of_table = [
                table.cells[number - 1].masks
                for number in pattern.cells.get(table.name, ())
                if table.cells[number - 1].tally is None
            ]
            if not of_table:
                continue
            distinct = list(dict.fromkeys(of_table))
            of_leaves = _leaves(distinct)
            starts.append(len(leaves))
            leaves += [len(cells) + at for at in of_leaves]
            is_disjoint.append(_are_disjoint([distinct[at] for at in of_leaves]))
            cells += distinct
        return cls(
            tuple(cells),
            np.array(leaves, dtype=np.int64),
            np.array(starts, dtype=np.int64),
            np.array([count_combinations(masks) for masks in cells], dtype=np.int64),
            np.array(is_disjoint, dtype=bool),
        )

    def within(self, f: int, masks: Sequence[int]) -> BoolArray:
        """Return (masks × cells): which cells allow only values of one feature inside each mask."""
        of_cell = [cell[f] for cell in self.cells]
        found = {mask: [mask & ~allowed == 0 for allowed in masks] for mask in set(of_cell)}
        within: BoolArray = np.array([found[mask] for mask in of_cell], dtype=bool)
        return within.reshape(len(of_cell), len(masks)).T

    def are_trivial(self, inside: BoolArray, volume: IntArray) -> BoolArray:
        """Test whether each predicate is a cell, or a disjoint union of one table's leaves.

        Args:
            inside: (predicates × cells) which cells imply each predicate.
            volume: Number of histogram cells of each predicate in the domain.
        """
        if not self.cells:
            return np.zeros(len(inside), dtype=bool)
        filled = inside * self.volume
        is_cell = (filled == volume[:, None]).any(axis=1)
        sums = np.add.reduceat(filled[:, self.leaves], self.starts, axis=1)
        is_sum = sums == volume[:, None]
        for at, table in np.argwhere(is_sum & ~self.is_disjoint):
            ends = np.append(self.starts, len(self.leaves))
            leaves = self.leaves[ends[table] : ends[table + 1]]
            is_sum[at, table] = _are_disjoint([self.cells[k] for k in leaves[inside[at, leaves]]])
        trivial: BoolArray = is_cell | is_sum.any(axis=1)
        return trivial


class TrivialGroups:
    """Test of which groups one table of their unit states."""

    def __init__(
        self,
        release: Release,
        tables: tuple[Table, ...],
        coverage: Coverage,
        columns: tuple[str, ...],
    ) -> None:
        self._release = release
        self._tables = tables
        self._coverage = coverage
        self._groups = [release.column_groups(name) for name in columns]
        self._features = [release.feature_index[each.feature] for each in self._groups]
        self._known: dict[int, _KnownPredicates] = {}

    def cells(self, pattern: int) -> tuple[Masks, ...]:
        """Return the predicates of the cells that count people and are published for a pattern."""
        return _PublishedCells.of(self._tables, self._coverage[pattern]).cells

    def flags(self, pattern: IntArray, subset: IntArray, groups: IntArray) -> BoolArray:
        """Test whether each claim is trivial.

        Args:
            pattern: For each claim the coverage pattern of its unit.
            subset: For each claim its columns, as bits.
            groups: (claims × columns) group numbers; those of other columns are ignored.
        """
        flags = np.zeros(len(subset), dtype=bool)
        few = np.flatnonzero(np.bitwise_count(subset) <= _MOST_COLUMNS)
        bit = 1 << np.arange(len(self._groups))
        values = np.where(subset[few, None] & bit > 0, groups[few], -1)
        for number in np.unique(pattern[few]).tolist():
            here = np.flatnonzero(pattern[few] == number)
            if number not in self._known:
                cells = _PublishedCells.of(self._tables, self._coverage[number])
                self._known[number] = _KnownPredicates(
                    self._release, cells, self._groups, self._features
                )
            flags[few[here]] = self._known[number].flags(values[here])
        return flags


class _KnownPredicates:
    """The trivial predicates over some columns, computed once for all units."""

    def __init__(
        self,
        release: Release,
        cells: _PublishedCells,
        groups: Sequence[Recode],
        features: Sequence[int],
    ) -> None:
        """Prepare for units with these published cells."""
        self._cells = cells
        self._features = features
        self._sizes = [mask.bit_count() for mask in release.full]
        # The last row is for claims that do not use the column.
        masks = [(*group.masks, release.full[f]) for group, f in zip(groups, features, strict=True)]
        self._within = [cells.within(f, of) for f, of in zip(features, masks, strict=True)]
        self._values = [
            np.array([[mask >> at & 1 for at in range(self._sizes[f])] for mask in of], dtype=bool)
            for f, of in zip(features, masks, strict=True)
        ]
        self._codes: IntArray = np.empty(0, dtype=np.int64)
        self._flags: BoolArray = np.empty(0, dtype=bool)

    def flags(self, values: IntArray) -> BoolArray:
        """Test whether each row of (claims × columns) group numbers, -1 for none, is trivial."""
        code = np.zeros(len(values), dtype=np.int64)
        for column, of in zip(values.T, self._values, strict=True):
            code = code * len(of) + column + 1
        codes, first, number = np.unique(code, return_index=True, return_inverse=True)
        unknown = ~np.isin(codes, self._codes)
        self._codes = np.concatenate([self._codes, codes[unknown]])
        self._flags = np.concatenate([self._flags, self._look_up(values[first[unknown]])])
        order = np.argsort(self._codes)
        self._codes, self._flags = self._codes[order], self._flags[order]
        flags: BoolArray = self._flags[np.searchsorted(self._codes, codes)][number.ravel()]
        return flags

    def _look_up(self, values: IntArray) -> BoolArray:
        flags = np.zeros(len(values), dtype=bool)
        at_once = max(_COMPARISONS // max(len(self._cells.cells), 1), 1)
        for start in range(0, len(values), at_once):
            some = values[start : start + at_once]
            inside = np.ones((len(some), len(self._cells.cells)), dtype=bool)
            allowed = {f: np.ones((len(some), n), dtype=bool) for f, n in enumerate(self._sizes)}
            for at, f in enumerate(self._features):
                inside &= self._within[at][some[:, at]]
                allowed[f] &= self._values[at][some[:, at]]
            volume = np.prod([each.sum(axis=1) for each in allowed.values()], axis=0)
            flags[start : start + at_once] = self._cells.are_trivial(inside, volume)
        return flags


def _leaves(cells: Sequence[Masks]) -> list[int]:
    """Return the indices of the cells that contain no other cell."""
    return [
        at
        for at, outer in enumerate(cells)
        if not any(
            inner != outer and all(b & ~a == 0 for a, b in zip(outer, inner, strict=True))
            for inner in cells
        )
    ]


def _are_disjoint(cells: Sequence[Masks]) -> bool:
    return all(
        any(a & b == 0 for a, b in zip(one, other, strict=True))
        for one, other in combinations(cells, 2)
    )


@dataclass(frozen=True)
class Absences:
    """Groups of one unit that are empty in every solution.

    Attributes:
        subset: For each group its columns, as bits.
        values: (groups × columns) group numbers; 0 in other columns.
    """

    subset: IntArray
    values: IntArray


@dataclass(frozen=True)
class StatedZeros:
    """Predicates of cells that may be published zeros, in terms of the columns of claims.

    Attributes:
        allowed: For each column (predicates × groups) whether some value of a group is allowed.
        within: For each column (predicates × groups) whether all values of a group are allowed.
        is_full: For each column (predicates) whether all values of its feature are allowed.
        always: Number of leading predicates that are zero by the schema.
        features: The place of each column's feature.
    """

    allowed: tuple[BoolArray, ...]
    within: tuple[BoolArray, ...]
    is_full: tuple[BoolArray, ...]
    always: int
    features: tuple[int, ...]

    @classmethod
    def of(cls, release: Release, columns: Sequence[Recode], cells: Iterable[Masks]) -> StatedZeros:
        """Collect the structural zeros, and cells that are published exactly."""
        zeros = [masks for zero in release.structural_zeros for masks in zero.impossible]
        features = tuple(release.feature_index[each.feature] for each in columns)
        others = [f for f in range(len(release.full)) if f not in features]
        stated = [
            masks
            for masks in dict.fromkeys((*zeros, *cells))
            if all(masks[f] == release.full[f] for f in others)
        ]
        always = sum(masks in set(zeros) for masks in stated)
        allowed, within, is_full = [], [], []
        for each, f in zip(columns, features, strict=True):
            shape = len(stated), len(each.masks)
            allowed.append(_table([bool(g & m[f]) for m in stated for g in each.masks], shape))
            within.append(_table([not g & ~m[f] for m in stated for g in each.masks], shape))
            is_full.append(np.array([m[f] == release.full[f] for m in stated], dtype=bool))
        return cls(tuple(allowed), tuple(within), tuple(is_full), always, features)

    def hold(self, absences: Absences, possible: IntArray) -> BoolArray:
        """Test whether one zero predicate contains the whole group of each absence.

        Args:
            possible: As in `least_absences`.
        """
        is_zero = np.ones(len(self.is_full[0]), dtype=bool)
        met = np.ones((len(is_zero), len(possible)), dtype=bool)
        for allowed, groups in zip(self.allowed, possible.T, strict=True):
            met &= allowed[:, groups]
        is_zero &= ~met.any(axis=1)
        is_zero[: self.always] = True
        inside = np.ones((int(is_zero.sum()), len(absences.subset)), dtype=bool)
        for j, (within, is_full) in enumerate(zip(self.within, self.is_full, strict=True)):
            is_spoken = absences.subset >> j & 1 == 1
            of_group = within[is_zero][:, absences.values[:, j]]
            inside &= np.where(is_spoken, of_group, is_full[is_zero][:, None])
        held: BoolArray = np.logical_or.reduce(inside, axis=0)
        return held


def _table(flags: list[bool], shape: tuple[int, int]) -> BoolArray:
    return np.array(flags, dtype=bool).reshape(shape)


def least_absences(possible: IntArray, labels: Sequence[int], features: Sequence[int]) -> Absences:
    """Find the minimal groups that no possible cell is in: Eq. (absent).

    Args:
        possible: (cells × columns) group numbers of the cells that a solution may have people in.
        labels: Number of groups of each column.
        features: Feature of each column; no absence uses one twice.
    """
    columns = range(len(labels))
    some = [np.unique(column) for column in possible.T]
    codes = np.stack([np.searchsorted(some[j], possible[:, j]) for j in columns], axis=1)
    present: dict[tuple[int, ...], BoolArray] = {}
    subsets: list[int] = []
    found: list[IntArray] = []
    for k in range(1, min(len(labels), _MOST_COLUMNS) + 1):
        for chosen in combinations(columns, k):
            if len({features[j] for j in chosen}) < k:
                continue
            shape = [len(some[j]) for j in chosen]
            parents = [
                found_there
                for at in range(k)
                if (found_there := present.get((*chosen[:at], *chosen[at + 1 :]))) is not None
            ]
            if k == 1:
                missing = np.setdiff1d(np.arange(labels[chosen[0]]), some[chosen[0]])[:, None]
            elif math.prod(shape) > _VALUES or len(parents) < k:
                continue
            else:
                is_absent: BoolArray = np.ones(shape, dtype=bool)
                for at, parent in enumerate(parents):
                    is_absent = is_absent & np.expand_dims(parent, at)
                is_absent[tuple(codes[:, chosen].T)] = False
                places = np.argwhere(is_absent)
                missing = np.stack([some[j][places[:, at]] for at, j in enumerate(chosen)], axis=1)
            is_present = np.zeros(shape, dtype=bool)
            is_present[tuple(codes[:, chosen].T)] = True
            present[chosen] = is_present
            values = np.zeros((len(missing), len(labels)), dtype=np.int64)
            values[:, chosen] = missing
            found.append(values)
            subsets += [sum(1 << j for j in chosen)] * len(missing)
    return Absences(np.array(subsets, dtype=np.int64), np.concatenate(found))
