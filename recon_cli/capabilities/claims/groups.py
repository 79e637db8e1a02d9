"""Groups of people defined by columns and values on them, unit by unit.

A *group* is the set of a unit's histogram cells with given values on some of the columns. A claim
that at least one person is in a group must hold in the known solution, too. So only groups with a
*held* cell are kept: a cell that has people in that solution.

See *group*, *identity disclosure*, *attribute disclosure* and *inferential disclosure* in
docs/glossary.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.solvar.histogram import HistogramCells
from recon_cli.coverage import Coverage
from recon_cli.errors import ConfigError
from recon_cli.model.statistics import averaged_features, statistic_features
from recon_cli.schema import Release, Table

#: Subsets of the columns, as bits.
Subsets = npt.NDArray[np.unsignedinteger[Any]]

#: Most keys of subsets that are processed together.
_KEYS = 4_000_000
#: Kinds of disclosure by increasing strength: each contains those before.
KINDS = ("identity", "attribute", "inferential")


def claim_columns(release: Release, tables: Sequence[Table], coverage: Coverage) -> tuple[str, ...]:
    """Return the columns of claims, including those that the schema's ``histogram`` omits.

    These are the histogram columns of each feature that a published cell of ``tables``, or a
    printed statistic, distinguishes; if cells distinguish a feature without a histogram column, the
    coarsest of its microdata columns. If a unit's own cells distinguish values that these columns
    merge, the feature itself is added.
    """
    counted = release.distinguished_by(
        cell for pattern in coverage for _, cell in pattern.published_cells(tables)
    )
    in_histogram = {release.column_groups(name).feature for name in release.histogram}
    seen = counted | {
        f for f in statistic_features(release) if release.features[f].name in in_histogram
    }
    columns: list[str] = []
    for f in sorted(seen):
        name = release.features[f].name
        of_feature = [c for c in release.histogram if release.column_groups(c).feature == name]
        if not of_feature:
            others = [c for c in release.microdata if release.column_groups(c).feature == name]
            of_feature = [min(others, key=lambda c: len(release.column_groups(c).labels))]
        columns += dict.fromkeys(of_feature)
    unit = release.geography.unit.name
    own = (pattern for pattern in coverage if pattern.level == unit)
    cells = (cell for pattern in own for _, cell in pattern.published_cells(tables))
    for name in release.joined_by(columns, cells):
        if name not in {release.features[f].name for f in seen}:
            continue
        last = max(at for at, c in enumerate(columns) if release.column_groups(c).feature == name)
        columns.insert(last + 1, name)
    return tuple(columns)


def unasked_features(
    release: Release, tables: Sequence[Table], coverage: Coverage
) -> tuple[str, ...]:
    """Return the features that coarser tables or statistics distinguish more finely than claims."""
    cells = (cell for pattern in coverage for _, cell in pattern.published_cells(tables))
    columns = claim_columns(release, tables, coverage)
    joined = release.joined_by(columns, cells)
    valued = {release.features[f].name for f in averaged_features(release)}
    return (*joined, *sorted(valued - {*columns, *joined}))


def require_columns(release: Release, tables: Sequence[Table], coverage: Coverage) -> None:
    """Refuse tables that distinguish no column: they contain only totals.

    Raises:
        ConfigError: Nothing could be claimed.
    """
    if not claim_columns(release, tables, coverage):
        names = ", ".join(table.name for table in tables)
        raise ConfigError(
            f"claims: no published cell of {names} tells any column of {release.name!r} apart, so "
            "nothing can be claimed; use further tables"
        )


@dataclass(frozen=True)
class Groups:
    """The groups of a batch over every subset of the columns, the empty one included.

    Subset ``s`` has column ``j`` if bit ``j`` of ``s`` is set. Groups are numbered by subset.

    Attributes:
        held: The histogram cells with somebody in the known solution, sorted.
        of_held: (subsets × held cells) the group of each held cell.
        place: For each group the place of one of its cells in `held`.
    """

    held: IntArray
    of_held: IntArray
    subset: IntArray
    place: IntArray
    unit: IntArray

    @property
    def columns(self) -> int:
        return int(self.of_held.shape[0]).bit_length() - 1

    @property
    def cell(self) -> IntArray:
        """Return one histogram cell of each group."""
        return self.held[self.place]

    @cached_property
    def size(self) -> IntArray:
        """Return the number of columns of each group."""
        return np.bitwise_count(self.subset).astype(np.int64)

    @cached_property
    def by_unit(self) -> tuple[IntArray, IntArray]:
        """Return the groups sorted by unit, and where the groups of each unit begin."""
        order = np.argsort(self.unit, kind="stable").astype(np.int64)
        units = np.arange(int(self.unit.max(initial=-1)) + 2)
        return order, np.searchsorted(self.unit[order], units).astype(np.int64)

    def of_unit(self, unit: int) -> IntArray:
        order, starts = self.by_unit
        return order[starts[unit] : starts[unit + 1]] if unit + 1 < len(starts) else order[:0]

    def sums(self, of_held: IntArray) -> IntArray:
        """Sum numbers of held cells over each group."""
        weights = np.broadcast_to(of_held, self.of_held.shape).ravel()
        totals = np.bincount(self.of_held.ravel(), weights, len(self.subset))
        return totals.astype(np.int64)

    def without(self, groups: IntArray, column: int) -> IntArray:
        """Return the groups with the same values except on ``column``."""
        subset = self.subset[groups] & ~(1 << column)
        parent: IntArray = self.of_held[subset, self.place[groups]]
        return parent

    def covers(self, is_chosen: BoolArray) -> BoolArray:
        """Test for each held cell whether it is in a chosen group."""
        covered: BoolArray = np.logical_or.reduce(is_chosen[self.of_held], axis=0)
        return covered

    def in_unit(
        self, unit: int, histogram: HistogramCells, others: HistogramCells | None = None
    ) -> UnitGroups:
        """Return the groups of one unit over its cells in ``histogram``, or in ``others``."""
        among = histogram if others is None else others
        groups = self.of_unit(unit)
        places, of_group = np.unique(self.place[groups], return_inverse=True)
        cells = slice(*np.searchsorted(among.unit, [unit, unit + 1]).tolist())
        alike = np.zeros((len(places), cells.stop - cells.start), dtype=_subsets(self.columns))
        held = histogram.groups[self.held[places]]
        for column, (own, values) in enumerate(zip(held.T, among.groups[cells].T, strict=True)):
            same = own[:, None] == values
            alike |= same.astype(alike.dtype) << column
        subset = self.subset[groups].astype(alike.dtype)
        return UnitGroups(groups, cells, subset, of_group.ravel().astype(np.int64), alike)


@dataclass(frozen=True)
class UnitGroups:
    """The groups of one unit.

    Attributes:
        held: For each group one of its held cells.
        alike: (held cells × cells) the columns on which both have the same values, as bits.
    """

    groups: IntArray
    cells: slice
    subset: Subsets
    held: IntArray
    alike: Subsets

    def members(self, which: IntArray) -> BoolArray:
        """Return (groups × cells): whether each cell is in each of some groups."""
        members = np.empty((len(which), self.alike.shape[1]), dtype=bool)
        at_once = max(_KEYS // max(self.alike.shape[1], 1), 1)
        for start in range(0, len(which), at_once):
            some = which[start : start + at_once]
            subset = self.subset[some, None]
            members[start : start + at_once] = self.alike[self.held[some]] & subset == subset
        return members

    def sums(self, n: IntArray) -> IntArray:
        """Sum numbers of cells over each group.

        Cells that agree on some columns agree on every subset of them: the sums accumulate over the
        supersets of each subset, one column at a time.
        """
        some = np.flatnonzero(n)
        first = np.arange(len(self.alike))[:, None] << self._columns
        key = self.alike[:, some] + first
        weights = np.broadcast_to(n[some], key.shape).ravel()
        sums = np.bincount(key.ravel(), weights, len(self.alike) << self._columns)
        for column in range(self._columns):
            pairs = sums.reshape(sums.size >> column + 1, 2, 1 << column)
            pairs[:, 0] += pairs[:, 1]
        of_group: IntArray = sums[first.ravel()[self.held] + self.subset].astype(np.int64)
        return of_group

    def unions(self, chosen: BoolArray) -> BoolArray:
        """Return (choices × cells): which cells are in any chosen group.

        Args:
            chosen: (choices × groups) which groups.
        """
        within = np.zeros((len(chosen), len(self.alike), 1 << self._columns), dtype=bool)
        choice, group = np.nonzero(chosen)
        within[choice, self.held[group], self.subset[group]] = True
        for column in range(self._columns):
            pairs = within.reshape(within.size >> column + 1, 2, 1 << column)
            pairs[:, 1] |= pairs[:, 0]
        unions = np.zeros((len(chosen), self.alike.shape[1]), dtype=bool)
        for held, alike in enumerate(self.alike):
            unions |= within[:, held, alike]
        return unions

    @property
    def _columns(self) -> int:
        return int(self.subset.max(initial=0)).bit_length()


def make_groups(histogram: HistogramCells, held: IntArray) -> Groups:
    """Make every group of a batch.

    Args:
        histogram: The histogram cells of the batch, over the columns of claims.
        held: The cells with people in the known solution, sorted.
    """
    values, unit = histogram.groups[held], histogram.unit[held]
    local = _numbered(unit[None])
    for column in values.T:
        # Each subset without the column is numbered already.
        width = int(column.max(initial=0)) + 1
        local = np.concatenate([local, _numbered(local * width + column)])
    counts = local.max(axis=1, initial=-1) + 1
    of_held = local + (np.cumsum(counts) - counts)[:, None]
    place = np.empty(int(counts.sum()), dtype=np.int64)
    place[of_held.ravel()] = np.tile(np.arange(len(held)), len(local))
    subset = np.repeat(np.arange(len(local)), counts)
    return Groups(held, of_held, subset, place, unit[place])


def _numbered(keys: IntArray) -> IntArray:
    """Number each cell's key among the sorted keys of its subset, as (subsets × cells).

    Like `np.unique` of each row, but without sorting: keys are small.
    """
    rows, cells = keys.shape
    numbers = np.empty((rows, cells), dtype=np.int64)
    width = int(keys.max(initial=-1)) + 1
    at_once = max(_KEYS // max(width, 1), 1)
    for start in range(0, rows, at_once):
        some = keys[start : start + at_once]
        row = np.arange(len(some))[:, None]
        is_used = np.zeros((len(some), width), dtype=bool)
        is_used[row, some] = True
        numbers[start : start + at_once] = (np.cumsum(is_used, axis=1, dtype=np.int32) - 1)[
            row, some
        ]
    return numbers


def _subsets(columns: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest integer type with this many bits."""
    return np.uint16 if columns <= 16 else np.uint64


def distinct_rows(rows: npt.NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Return the index of one instance of each distinct row, and for each row its number there.

    Like `np.unique`, which compares rows byte by byte; here their hashes are sorted, and rows with
    equal hashes are compared.

    >>> first, which = distinct_rows(np.array([[True, False], [True, False], [False, True]]))
    >>> len(first), (which[0] == which[1]).item(), (which[0] == which[2]).item()
    (2, True, False)
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


def disclosing_groups(
    groups: Groups,
    lower: IntArray,
    upper: IntArray,
    share: float,
    is_defined: Callable[[IntArray, int], BoolArray],
) -> dict[str, BoolArray]:
    """Test for each kind of disclosure which groups determine another column: Eq. (alike).

    A group whose size is verified discloses another column if, in every solution, enough of its
    people share one value of that column. *Identity*: the group is one person. *Attribute*: all
    people of a group of any size share it. *Inferential*: at least ``share`` of the group does.

    Args:
        lower: For each group its proven least size.
        upper: For each group its proven greatest size.
        share: The least proven share at which a value counts as inferred, above 0, at most 1.
        is_defined: Tests which groups determine a column's value by definition.
    """
    found = {kind: np.zeros(len(lower), dtype=bool) for kind in KINDS}
    exact = (lower == upper) & (lower > 0)
    enough = _shares_of(upper, share)
    for column in range(groups.columns):
        finer = np.flatnonzero((groups.subset >> column & 1 == 1) & (lower > 0))
        group = groups.without(finer, column)
        is_asked = exact[group] & ~is_defined(group, column)
        finer, group = finer[is_asked], group[is_asked]
        alike = group[lower[finer] == upper[group]]
        found["attribute"][alike] = True
        found["identity"][alike[upper[alike] == 1]] = True
        found["inferential"][group[lower[finer] >= enough[group]]] = True
    return found


def disclosed_groups(groups: Groups, disclosing: dict[str, BoolArray]) -> BoolArray:
    """Return (kinds × columns × groups): whether a few known columns determine another."""
    known = np.arange(groups.columns)
    few: BoolArray = groups.size <= known[:, None]
    return np.stack([disclosing[kind] & few for kind in KINDS])


def _shares_of(people: IntArray, share: float) -> IntArray:
    """Return the least number of people that makes up a share of each number, computed exactly."""
    written = Fraction(str(share))
    numbers, of_each = np.unique(people, return_inverse=True)
    least = np.array([math.ceil(written * int(number)) for number in numbers], dtype=np.int64)
    return least[of_each.ravel()]
