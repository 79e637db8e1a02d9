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

import polars as pl

from recon_cli.publication import Publication
from recon_cli.schema import Release, Table, Value

Record = tuple[str, tuple[Value, ...]]
Solution = frozenset[tuple[Record, int]]


class TooManyError(Exception):
    """The release is not tiny: more states or solutions than the limit."""


@dataclass(frozen=True)
class Row:
    """One published count: which records count, and how often."""

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
                rows.append(Row(weights, counts.get((geoid, table.name, number), 0)))
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
