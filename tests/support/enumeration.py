"""Every solution of a tiny release, by plain search: the oracle for everything exact.

Knows the schema and the published counts only. A solution is a multiset of
(unit geoid, feature values) at the finest grain, values included that no table tells apart.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recon_cli.frames import OPEN
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table, Value, bits

Record = tuple[str, tuple[Value, ...]]
Solution = frozenset[tuple[Record, int]]


class TooManyError(Exception):
    """The release is not tiny: more states or solutions than the limit."""


@dataclass(frozen=True)
class Row:
    """One published count: which cell, which records count, and how often; and its two ends."""

    cell: tuple[str, str, int]
    weights: dict[int, int]
    low: int
    high: int


def published_rows(
    release: Release, published: Publication, tables: tuple[Table, ...], domain: list[Record]
) -> list[Row]:
    """One row for every published cell of every geounit, zeros included."""
    ends = _ends(published)
    holds = _predicates(release, domain)
    counted = {
        masks: holds(masks) for masks in {cell.masks for table in tables for cell in table.cells}
    }
    units = pl.Series([unit for unit, _ in domain], dtype=pl.String)
    places = {
        level.name: np.array(level.enclosing(units).fill_null("").to_list(), dtype=str)
        for level in release.geography.levels
    }
    rows = []
    for geoid, level, pattern in published.geounits.select("geoid", "level", "pattern").rows():
        cells = published.coverage[pattern].cells
        here = places[level] == geoid
        for table in tables:
            for number in cells.get(table.name, ()):
                cell = table.cells[number - 1]
                tallied = cell.tally
                weights = {
                    i: 1 if tallied is None else int(domain[i][1][tallied]).bit_count()
                    for i in np.flatnonzero(counted[cell.masks] & here).tolist()
                }
                key = geoid, table.name, number
                zero = published.protection.ends_of_zero(table.name, level)
                rows.append(Row(key, weights, *ends.get(key, zero)))
    return rows + _structural_zeros(release, holds)


def _predicates(
    release: Release, domain: list[Record]
) -> Callable[[tuple[int, ...]], NDArray[np.bool_]]:
    """Which records of the domain hold by masks: one bit of a mask per value of its feature."""
    places = [
        np.array([feature.position[values[f]] for _, values in domain], dtype=np.intp)
        for f, feature in enumerate(release.features)
    ]

    @cache
    def by_value(f: int, mask: int) -> NDArray[np.bool_]:
        size = len(release.features[f].values)
        return np.array([bool(mask >> value & 1) for value in range(size)])[places[f]]

    def holds(masks: tuple[int, ...]) -> NDArray[np.bool_]:
        each = [by_value(f, mask) for f, mask in zip(range(len(places)), masks, strict=True)]
        held: NDArray[np.bool_] = np.logical_and.reduce(each, axis=0)
        return held

    return holds


def _structural_zeros(
    release: Release, holds: Callable[[tuple[int, ...]], NDArray[np.bool_]]
) -> list[Row]:
    """A row of no people for each predicate that holds of no record."""
    return [
        Row(
            ("", "structural zero", number),
            dict.fromkeys(np.flatnonzero(holds(masks)).tolist(), 1),
            0,
            0,
        )
        for number, masks in enumerate(release.impossible)
    ]


def _ends(published: Publication) -> dict[tuple[str, str, int], tuple[int, int]]:
    """Geoid, table and cell of each stored count → its least and greatest."""
    counts = published.counts
    if published.is_exact:
        counts = counts.with_columns(low="count", high="count")
    rows = counts.select("geoid", "table", "cell", "low", pl.col("high").fill_null(OPEN)).rows()
    return {(geoid, table, cell): (low, high) for geoid, table, cell, low, high in rows}


def solutions(
    release: Release,
    published: Publication,
    tables: tuple[Table, ...],
    limit: int = 20_000,
    cap: int | None = None,
) -> set[Solution]:
    """All multisets of records with the published counts, or with counts in their intervals.

    Records that no published cell mentions are left out: nothing bounds their number. Of others
    that nothing bounds there are up to ``cap``; without it there may be none.

    Raises:
        TooManyError: More than ``limit`` states or solutions.
    """
    domain = all_records(release, published)
    return _solutions(domain, published_rows(release, published, tables, domain), limit, cap)


def all_records(release: Release, published: Publication) -> list[Record]:
    """Every record that somebody can have, in every unit."""
    unit = release.geography.unit.name
    units = published.geounits.filter(pl.col("level") == unit)["geoid"].to_list()
    values = list(itertools.product(*(feature.values for feature in release.features)))
    return list(itertools.product(units, values))


def is_bounded(domain: list[Record], rows: list[Row]) -> bool:
    """Whether every record is counted by a row with an upper end."""
    bounded = {i for row in rows if row.high < OPEN for i in row.weights}
    return len(bounded) == len(domain)


def unbounded_records(
    release: Release, published: Publication, tables: tuple[Table, ...]
) -> set[Record]:
    """The records that no published cell and no structural zero mentions: any number may live."""
    domain = all_records(release, published)
    mentioned = {
        i
        for row in published_rows(release, published, tables, domain)
        for i, weight in row.weights.items()
        if weight
    }
    return {record for i, record in enumerate(domain) if i not in mentioned}


def _solutions(
    domain: list[Record], rows: list[Row], limit: int, cap: int | None = None
) -> set[Solution]:
    if any(row.low > row.high for row in rows):
        return set()
    closed = {i for row in rows if row.high == 0 for i in row.weights}
    used = [i for i in {i for row in rows for i in row.weights} if i not in closed]
    rows = [row for row in rows if row.high]
    if all(row.low == row.high for row in rows):
        return _exactly(domain, rows, used, limit)
    return _between(domain, rows, used, limit, cap)


def _exactly(domain: list[Record], rows: list[Row], used: list[int], limit: int) -> set[Solution]:
    """One record after the other, as long as some row lacks people."""
    entries = {
        i: [(r, row.weights[i]) for r, row in enumerate(rows) if i in row.weights] for i in used
    }

    @lru_cache(maxsize=limit)
    def search(rest: tuple[int, ...]) -> frozenset[Solution]:
        if search.cache_info().misses > limit:
            raise TooManyError
        open_rows = [r for r, count in enumerate(rest) if count]
        if not open_rows:
            return frozenset([frozenset()])
        # Any record set must serve this row, so branching on it misses nothing.
        choices = [
            [i for i in rows[r].weights if i in entries and fits(i, rest)] for r in open_rows
        ]
        found: set[Solution] = set()
        for i in min(choices, key=len):
            left = list(rest)
            for r, weight in entries[i]:
                left[r] -= weight
            for tail in search(tuple(left)):
                people = Counter(dict(tail))
                people[domain[i]] += 1
                found.add(frozenset(people.items()))
            if len(found) > limit:
                raise TooManyError
        return frozenset(found)

    def fits(i: int, rest: tuple[int, ...]) -> bool:
        return all(rest[r] >= weight for r, weight in entries[i])

    return set(search(tuple(row.high for row in rows)))


def _between(
    domain: list[Record], rows: list[Row], used: list[int], limit: int, cap: int | None
) -> set[Solution]:
    """Every number of people in every cell, one cell after the other, between the ends of rows."""
    order = sorted(used, key=lambda i: min(row.high for row in rows if i in row.weights))
    last = [max((order.index(i) for i in row.weights if i in order), default=-1) for row in rows]
    if any(row.low > 0 and end < 0 for row, end in zip(rows, last, strict=True)):
        return set()
    found: set[Solution] = set()
    states = 0
    counted_in = [
        [(r, row.weights[i]) for r, row in enumerate(rows) if row.weights.get(i)] for i in order
    ]
    ending = [[r for r, end in enumerate(last) if end == at] for at in range(len(order))]

    def search(at: int, have: list[int], people: tuple[tuple[Record, int], ...]) -> None:
        nonlocal states
        states += 1
        if states > 20 * limit or len(found) > limit:
            raise TooManyError
        if at == len(order):
            found.add(frozenset(people))
            return
        most = min((rows[r].high - have[r]) // weight for r, weight in counted_in[at])
        if most > limit:
            if cap is None:
                raise TooManyError
            most = cap
        for number in range(most + 1):
            now = have.copy()
            for r, weight in counted_in[at]:
                now[r] += number * weight
            if all(rows[r].low <= now[r] for r in ending[at]):
                added = ((domain[order[at]], number),) if number else ()
                search(at + 1, now, (*people, *added))

    search(0, [0] * len(rows), ())
    return found


def relaxed_solutions(
    release: Release, published: Publication, limit: int = 20_000
) -> dict[str, set[Solution]]:
    """For each unit what its own tables allow and coarser cells have room for.

    Raises:
        TooManyError: More than ``limit`` states or solutions.
    """
    unit = release.geography.unit.name
    values = list(itertools.product(*(feature.values for feature in release.features)))
    allowed = {}
    for geoid in published.geounits.filter(pl.col("level") == unit)["geoid"]:
        domain = [(geoid, value) for value in values]
        rows = published_rows(release, published, release.tables, domain)
        own = [row if row.cell[0] == geoid else replace(row, low=0) for row in rows]
        allowed[geoid] = _solutions(domain, own, limit)
    return allowed


def record_counts(release: Release, microdata: pl.DataFrame) -> Counter[Any]:
    """A reconstruction as a multiset of records; null features stay None."""
    names = [feature.name for feature in release.features]
    rows = microdata.select(release.geoid_column, *names).iter_rows()
    return Counter((geoid, tuple(values)) for geoid, *values in rows)


def is_solution(found: Counter[Any], solution: Solution) -> bool:
    """Whether a reconstruction is this solution, features that no table sees aside."""
    shown = {i for _, values in found for i, value in enumerate(values) if value is not None}
    projected: Counter[Any] = Counter()
    for (unit, values), n in solution:
        kept = tuple(v if i in shown else None for i, v in enumerate(values))
        projected[unit, kept] += n
    return found == projected


def check_claims(
    release: Release, microdata: pl.DataFrame, blocks: pl.DataFrame, every: set[Solution]
) -> None:
    """Unique means one histogram in all solutions; certain records are in all of them."""
    histograms: list[Counter[Record]] = [histogram(release, solution) for solution in every]
    for geoid, status in blocks.select(release.geoid_column, "status").iter_rows():
        if status == "unique":
            shapes = {frozenset((k, n) for k, n in h.items() if k[0] == geoid) for h in histograms}
            assert len(shapes) == 1
    sure = microdata.filter("certain").select(release.geoid_column, *release.histogram)
    for (geoid, *labels), n in Counter(sure.iter_rows()).items():
        assert min(h[geoid, tuple(labels)] for h in histograms) >= n


def histogram(release: Release, solution: Solution) -> Counter[Record]:
    label = labeller(release, release.histogram)
    counts: Counter[Record] = Counter()
    for (unit, values), n in solution:
        counts[unit, label(values)] += n
    return counts


def labeller(
    release: Release, columns: tuple[str, ...]
) -> Callable[[tuple[Value, ...]], tuple[Value, ...]]:
    """What columns of records, recodes too, show of a record's features."""
    shown = []
    for groups in map(release.column_groups, columns):
        f = release.feature_index[groups.feature]
        groups_of = zip(groups.labels, groups.masks, strict=True)
        label = {release.features[f].values[at]: x for x, mask in groups_of for at in bits(mask)}
        shown.append((f, label))
    return lambda values: tuple(label[values[f]] for f, label in shown)


def least_changes(
    release: Release,
    published: Publication,
    tables: tuple[Table, ...],
    region: str,
    limit: int = 300_000,
) -> list[Counter[tuple[str, str, int]]]:
    """The least changes of the counts of a region that make them possible: step by published cell.

    Every number of people of every kind is tried, up to the greatest count: with more, each count
    that they are in would be less wrong without one of them.

    Raises:
        TooManyError: More than ``limit`` populations.
    """
    unit = release.geography.unit.name
    names = published.geounits.filter(pl.col("level") == unit)["geoid"].to_list()
    values = list(itertools.product(*(feature.values for feature in release.features)))
    inside = release.geography.inside
    domain = list(itertools.product([name for name in names if inside(name, region)], values))
    here = inside(pl.col("geoid"), region)
    part = replace(published, geounits=published.geounits.filter(here))
    rows = published_rows(release, part, tables, domain)
    low = np.array([row.low for row in rows], dtype=np.int64)
    high = np.array([row.high for row in rows], dtype=np.int64)
    weights = np.array([[row.weights.get(i, 0) for i in range(len(domain))] for row in rows])
    kinds = np.unique(weights.T, axis=0)
    kinds = kinds[kinds.any(axis=1)]
    each = int(np.where(high < OPEN, high, low).max(initial=0)) + 1
    if each ** len(kinds) > limit:
        raise TooManyError
    people = np.indices((each,) * len(kinds)).reshape(len(kinds), each ** len(kinds)).T
    counts = people @ kinds
    changes = counts - np.clip(counts, low, high)
    totals = np.abs(changes).sum(axis=1)
    least = np.unique(changes[totals == totals.min()], axis=0)
    return [
        Counter({rows[i].cell: int(change[i]) for i in np.flatnonzero(change).tolist()})
        for change in least
    ]
