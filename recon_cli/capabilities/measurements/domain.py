"""Histograms of geounits: cells are the combinations that a strategy can distinguish."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.capabilities.measurements.strategy import Query, Strategy
from recon_cli.capabilities.records.encoding import encode
from recon_cli.errors import ConfigError
from recon_cli.schema import Cell, Recode, Release, bits


@dataclass(frozen=True, eq=False)
class Histogram:
    """The people of one geounit by histogram cell.

    Attributes:
        cells: Histogram cells with people, sorted.
    """

    cells: IntArray
    people: IntArray

    def at(self, cells: IntArray) -> IntArray:
        if not len(self.cells):
            return np.zeros(len(cells), dtype=np.int64)
        place = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
        found: IntArray = np.where(self.cells[place] == cells, self.people[place], 0)
        return found


#: Nobody lives there.
NOBODY: Final = Histogram(np.zeros(0, np.int64), np.zeros(0, np.int64))


def add_up(place: IntArray, cells: IntArray, people: IntArray, geounits: int) -> list[Histogram]:
    """Make histograms of geounits from entries.

    Args:
        place: (entries,) number of each entry's geounit, from 0.
        cells: (entries,) histogram cell of each entry.
        people: (entries,) people of each entry.
    """
    order = np.lexsort((cells, place))
    place, cells, people = place[order], cells[order], people[order]
    is_first = np.ones(len(cells), dtype=bool)
    is_first[1:] = (np.diff(place) != 0) | (np.diff(cells) != 0)
    starts = np.flatnonzero(is_first)
    sums = np.add.reduceat(people, starts) if len(starts) else people
    ends = np.searchsorted(place[starts], np.arange(1, geounits))
    parts = zip(np.split(cells[starts], ends), np.split(sums, ends), strict=True)
    return [Histogram(each[count > 0], count[count > 0]) for each, count in parts]


def merge(histograms: Sequence[Histogram], place: IntArray, geounits: int) -> list[Histogram]:
    """Merge histograms into coarser geounits, whose indices are ``place``."""
    owner = np.repeat(place, [len(each.cells) for each in histograms])
    cells = np.concatenate([each.cells for each in histograms])
    people = np.concatenate([each.people for each in histograms])
    return add_up(owner, cells, people, geounits)


@dataclass(frozen=True, eq=False)
class Domain:
    """The histogram cells of a strategy, numbered; the last feature changes fastest.

    Attributes:
        classes: For each feature (values,) the class of each value: values that no query tells
            apart share one.
    """

    release: Release
    classes: tuple[IntArray, ...]

    @classmethod
    def of(cls, release: Release, strategy: Strategy) -> Domain:
        """Build the cells that the queries of a strategy distinguish together.

        Raises:
            ConfigError: A query is a table, whose cells overlap.
        """
        queries = strategy.queries.values()
        for query in queries:
            if query.table is not None:
                raise ConfigError(
                    f"strategy {strategy.name!r}: query {query.name!r} is a table; top-down needs "
                    "combinations of columns"
                )
        return cls.of_queries(release, queries)

    @classmethod
    def of_queries(
        cls, release: Release, queries: Iterable[Query], coarser: Domain | None = None
    ) -> Domain:
        """Build the cells that combinations of columns, and another domain, distinguish."""
        zeros = [np.zeros(len(feature.values), dtype=np.int64) for feature in release.features]
        seen = [[zero] for zero in zeros]
        if coarser is not None:
            for f, classes_of in enumerate(coarser.classes):
                seen[f].append(classes_of)
        for query in queries:
            for column in query.columns:
                seen[release.feature_index[column.feature]].append(_groups(column, release))
        classes = [
            _in_order(np.unique(np.stack(each), axis=1, return_inverse=True)[1]) for each in seen
        ]
        return cls(release, tuple(classes))

    @classmethod
    def of_cells(cls, release: Release, published: Iterable[Cell]) -> Domain:
        """Build the cells that published ones distinguish together."""
        cells = list(published)
        classes = []
        for f, feature in enumerate(release.features):
            rows = [np.zeros(len(feature.values), dtype=np.int64)]
            for mask in {cell.masks[f] for cell in cells}:
                row = np.zeros(len(feature.values), dtype=np.int64)
                row[list(bits(mask))] = 1
                rows.append(row)
            if any(cell.tally == f for cell in cells):
                rows.append(np.array([int(value).bit_count() for value in feature.values]))
            classes.append(_in_order(np.unique(np.stack(rows), axis=1, return_inverse=True)[1]))
        return cls(release, tuple(classes))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of classes of each feature."""
        return tuple(int(each.max()) + 1 for each in self.classes)

    @property
    def size(self) -> int:
        """Return the number of cells."""
        return math.prod(self.sizes)

    @property
    def blurred(self) -> tuple[str, ...]:
        """Return the features of which some values share a class."""
        features = self.release.features
        return tuple(
            feature.name
            for feature, size in zip(features, self.sizes, strict=True)
            if size < len(feature.values)
        )

    def cells(self, records: pl.DataFrame) -> IntArray:
        """Return the (records,) cell of each record."""
        wanted = ["the histogram" if size > 1 else None for size in self.sizes]
        found = np.zeros(len(records), dtype=np.int64)
        coded = encode(self.release, records, wanted)
        for size, classes, values in zip(self.sizes, self.classes, coded, strict=True):
            if values is not None:
                found = found * size + classes[values]
        return found

    def groups(self, query: Query, cells: IntArray) -> IntArray:
        """Return the (cells,) cell of a query that counts each."""
        found = np.zeros(len(cells), dtype=np.int64)
        if query.columns:
            parts = np.unravel_index(cells, self.sizes)
            for column in query.columns:
                f = self.release.feature_index[column.feature]
                of_class = np.zeros(self.sizes[f], dtype=np.int64)
                of_class[self.classes[f]] = _groups(column, self.release)
                found = found * len(column.masks) + of_class[parts[f]]
        return found

    def tells_apart(self, query: Query) -> bool:
        """Test whether no cell is in two groups of a query."""
        release = self.release
        return all(
            len(np.unique(np.stack([self.classes[f], _groups(column, release)]), axis=1).T)
            == self.sizes[f]
            for column in query.columns
            for f in [release.feature_index[column.feature]]
        )

    def possible(self) -> IntArray:
        """Return the cells that are not structural zeros: some record in them is possible."""
        ruled_out = np.zeros(self.sizes, dtype=bool)
        for zero in self.release.structural_zeros:
            for masks in zero.impossible:
                whole = [self._within(f, mask) for f, mask in enumerate(masks)]
                ruled_out[np.ix_(*whole)] = True
        return np.flatnonzero(~ruled_out)

    def _within(self, f: int, mask: int) -> IntArray:
        """Return the classes of a feature all of whose values have their bit set."""
        left_out = ~mask & self.release.features[f].full
        found: IntArray = np.setdiff1d(self.classes[f], self.classes[f][list(bits(left_out))])
        return found

    def classes_in(self, f: int, mask: int) -> IntArray:
        """Return the classes of a feature's values whose bit is set."""
        return np.unique(self.classes[f][list(bits(mask))])

    def picked(self, f: int, cells: IntArray) -> IntArray:
        """Return the (cells,) number of options of each cell's class of a multi-select feature."""
        values = self.release.features[f].values
        of_class = np.zeros(self.sizes[f], dtype=np.int64)
        of_class[self.classes[f]] = [int(value).bit_count() for value in values]
        found: IntArray = of_class[np.unravel_index(cells, self.sizes)[f]]
        return found

    def coarser(self, other: Domain, cells: IntArray) -> IntArray:
        """Return the (cells,) cell of the coarser domain ``other`` that contains each."""
        found = np.zeros(len(cells), dtype=np.int64)
        parts = np.unravel_index(cells, self.sizes)
        for f, size in enumerate(other.sizes):
            of_class = np.zeros(self.sizes[f], dtype=np.int64)
            of_class[self.classes[f]] = other.classes[f]
            found = found * size + of_class[parts[f]]
        return found

    def refines(self, other: Domain) -> bool:
        """Test whether every distinction of ``other`` is made here."""
        return all(
            len(np.unique(np.stack([fine, coarse]), axis=1).T) == int(fine.max()) + 1
            for fine, coarse in zip(self.classes, other.classes, strict=True)
        )

    def records(self, geoids: pl.Series, cells: IntArray, people: IntArray) -> pl.DataFrame:
        """Make person records.

        Args:
            geoids: Geoid of the unit, for each entry.
            cells: Histogram cell of each entry.
            people: Number of people of each entry.

        Returns:
            The unit's geoid and the features, by entry. Where values share a class, the first of
            them; null where all of a feature do.
        """
        names = [feature.name for feature in self.release.features]
        return self._write(geoids, cells, people, names)

    def microdata(self, geoids: pl.Series, cells: IntArray, people: IntArray) -> pl.DataFrame:
        """Make `records` with the release's microdata columns, recodes too."""
        return self._write(geoids, cells, people, self.release.microdata)

    def _write(
        self, geoids: pl.Series, cells: IntArray, people: IntArray, names: Sequence[str]
    ) -> pl.DataFrame:
        release = self.release
        each = np.repeat(np.arange(len(cells)), people)
        columns = [geoids.gather(each).alias(release.geoid_column)]
        parts = np.unravel_index(cells[each], self.sizes)
        for name in names:
            column = release.column_groups(name)
            f = release.feature_index[column.feature]
            labels = pl.Series(name, column.labels, dtype=column.dtype)
            first = np.unique(self.classes[f], return_index=True)[1]
            value = labels.gather(_groups(column, release)[first[parts[f]]])
            is_seen = self.sizes[f] > 1 or len(self.classes[f]) == 1
            columns.append(value if is_seen else pl.Series(name, [None] * len(each), labels.dtype))
        return pl.DataFrame(columns)


def _in_order(classes: IntArray) -> IntArray:
    """Number classes in the order of their first values."""
    flat = classes.ravel()
    _, first, place = np.unique(flat, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    found: IntArray = rank[place].astype(np.int64)
    return found


def _groups(column: Recode, release: Release) -> IntArray:
    """Return the (values,) group of each value of a column's feature; read-only."""
    feature = release.features[release.feature_index[column.feature]]
    return _groups_of(column.masks, len(feature.values))


@cache
def _groups_of(masks: tuple[int, ...], values: int) -> IntArray:
    found = np.zeros(values, dtype=np.int64)
    for group, mask in enumerate(masks):
        found[list(bits(mask))] = group
    return found
