"""Every solution of a tiny release, by plain search: the oracle for everything exact.

Knows the schema and the published counts only. A solution is a multiset of
(unit geoid, feature values) at the finest grain, values included that no table tells apart.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from recon_cli.publication import Publication
from recon_cli.schema import Release, Table, Value

Record = tuple[str, tuple[Value, ...]]
Solution = frozenset[tuple[Record, int]]


class TooManyError(Exception):
    """The release is not tiny: more states or solutions than the limit."""


@dataclass(frozen=True)
class Row:
    """One published count: which cell of which geounit, which records count, and how often."""

    cell: tuple[str, str, int]
    weights: dict[int, int]
    count: int


def published_rows(
    release: Release, published: Publication, tables: tuple[Table, ...], domain: list[Record]
) -> list[Row]:
    """One row for every published cell of every geounit, zeros included."""
    counts = {(g, t, c): n for g, t, c, n in published.counts.iter_rows()}
    places = [
        [f.position[v] for f, v in zip(release.features, values, strict=True)]
        for _, values in domain
    ]
    counted = {
        masks: [
            i
            for i, at in enumerate(places)
            if all(m >> place & 1 for m, place in zip(masks, at, strict=True))
        ]
        for masks in {cell.masks for table in tables for cell in table.cells}
    }
    rows = []
    for geoid, pattern in published.geounits.select("geoid", "pattern").iter_rows():
        cells = published.coverage[pattern].cells
        for table in tables:
            for number in cells.get(table.name, ()):
                cell = table.cells[number - 1]
                tallied = cell.tally
                weights = {
                    i: 1 if tallied is None else int(domain[i][1][tallied]).bit_count()
                    for i in counted[cell.masks]
                    if domain[i][0].startswith(geoid)
                }
                key = geoid, table.name, number
                rows.append(Row(key, weights, counts.get(key, 0)))
    return rows


def solutions(
    release: Release, published: Publication, tables: tuple[Table, ...], limit: int = 20_000
) -> set[Solution]:
    """All multisets of records with exactly the published counts.

    Records that no published cell mentions are left out: nothing bounds their number.

    Raises:
        TooManyError: More than ``limit`` states or solutions.
    """
    unit = release.geography.unit.name
    units = published.geounits.filter(pl.col("level") == unit)["geoid"].to_list()
    values = list(itertools.product(*(feature.values for feature in release.features)))
    domain = list(itertools.product(units, values))
    rows = published_rows(release, published, tables, domain)
    closed = {i for row in rows if row.count == 0 for i in row.weights}
    used = [i for i in {i for row in rows for i in row.weights} if i not in closed]
    rows = [row for row in rows if row.count]
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

    return set(search(tuple(row.count for row in rows)))


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
    groups = [release.column_groups(name) for name in release.histogram]
    counts: Counter[Record] = Counter()
    for (unit, values), n in solution:
        labels = []
        for group in groups:
            f = release.feature_index[group.feature]
            at = release.features[f].position[values[f]]
            labels.append(
                next(x for x, m in zip(group.labels, group.masks, strict=True) if m >> at & 1)
            )
        counts[unit, tuple(labels)] += n
    return counts


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
    domain = list(itertools.product([name for name in names if name.startswith(region)], values))
    here = pl.col("geoid").str.starts_with(region)
    part = Publication(published.geounits.filter(here), published.counts, published.coverage)
    rows = published_rows(release, part, tables, domain)
    counts = np.array([row.count for row in rows], dtype=np.int64)
    weights = np.array([[row.weights.get(i, 0) for i in range(len(domain))] for row in rows])
    kinds = np.unique(weights.T, axis=0)
    kinds = kinds[kinds.any(axis=1)]
    each = int(counts.max(initial=0)) + 1
    if each ** len(kinds) > limit:
        raise TooManyError
    people = np.indices((each,) * len(kinds)).reshape(len(kinds), each ** len(kinds)).T
    changes = people @ kinds - counts
    totals = np.abs(changes).sum(axis=1)
    least = np.unique(changes[totals == totals.min()], axis=0)
    return [
        Counter({rows[i].cell: int(change[i]) for i in np.flatnonzero(change).tolist()})
        for change in least
    ]
