"""Parts of a publication, and the publication without some of them.

Total populations of geounits are no part: they stay known whatever is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from recon_cli.coverage import Coverage, CoveragePattern
from recon_cli.model.statistics import statistic_features
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table

#: Kinds of parts: a table; all tables at a level; the cells that distinguish a feature.
PartKind = Literal["tables", "levels", "features"]


@dataclass(frozen=True)
class Part:
    """Cells that are left out together.

    Attributes:
        name: Name of the table, level or feature.
    """

    kind: PartKind
    name: str


def parts_of(
    release: Release, tables: Iterable[Table], coverage: Coverage, kind: PartKind
) -> tuple[Part, ...]:
    """List the published parts of one kind that contain more than total populations."""
    names: dict[PartKind, list[str]] = {
        "tables": [table.name for table in (*release.tables, *release.statistics)],
        "levels": [level.name for level in release.geography.levels],
        "features": [feature.name for feature in release.features],
    }
    used = tuple(tables)
    every = (Part(kind, name) for name in names[kind])
    whole = {(p.level, name): cells for p in coverage for name, cells in p.cells.items()}
    found = []
    for part in every:
        less = without(release, used, coverage, [part])
        has_counts = {(p.level, n): c for p in less for n, c in p.cells.items()} != whole
        if has_counts or len(statistics_without(release, [part])) < len(release.statistics):
            found.append(part)
    return tuple(found)


def statistics_without(release: Release, left_out: Collection[Part]) -> tuple[Table, ...]:
    """Return the tables of statistics that remain, at some level, without some parts."""
    names = _names(left_out)
    hidden = {release.feature_index[name] for name in names["features"]}
    return tuple(
        table
        for table in release.statistics
        if table.name not in names["tables"]
        and not names["levels"].issuperset(table.levels)
        and hidden.isdisjoint(statistic_features(replace(release, statistics=(table,))))
    )


def without_statistics(
    release: Release, published: Publication, left_out: Collection[Part]
) -> Publication:
    """Remove the statistics of some parts from a publication."""
    kept = [table.name for table in statistics_without(release, left_out)]
    level = release.geography.level_names(pl.col("geoid"))
    is_out = level.is_in(sorted(_names(left_out)["levels"]))
    rows = published.statistics.filter(pl.col("table").is_in(kept) & ~is_out)
    return replace(published, statistics=rows)


def _names(left_out: Collection[Part]) -> dict[PartKind, set[str]]:
    return {kind: {part.name for part in left_out if part.kind == kind} for kind in _KINDS}


def without(
    release: Release, tables: Iterable[Table], coverage: Coverage, left_out: Collection[Part]
) -> Coverage:
    """Remove some parts of some tables from the coverage.

    Args:
        tables: Tables in use; no others remain.
    """
    used = {table.name for table in tables}
    return tuple(_without(release, used, pattern, left_out) for pattern in coverage)


def _without(
    release: Release, used: Collection[str], pattern: CoveragePattern, left_out: Collection[Part]
) -> CoveragePattern:
    names = _names(left_out)
    hidden = {release.feature_index[name] for name in names["features"]}
    total = pattern.total_cell(release)
    is_out = pattern.level in names["levels"]

    def stays(table: str, number: int) -> bool:
        if (table, number) == total:
            return True
        if table not in used or is_out or table in names["tables"]:
            return False
        cell = release.table_by_name[table].cells[number - 1]
        return hidden.isdisjoint(release.distinguished_by([cell]))

    kept = {
        name: tuple(number for number in numbers if stays(name, number))
        for name, numbers in pattern.cells.items()
    }
    return replace(pattern, cells={name: numbers for name, numbers in kept.items() if numbers})


_KINDS: tuple[PartKind, ...] = ("tables", "levels", "features")


def restrict(published: Publication, coverage: Coverage) -> Publication:
    """Restrict counts to a smaller coverage.

    Args:
        coverage: Result of `without` for the publication's coverage.
    """
    cells = [
        (number, table, cell)
        for number, pattern in enumerate(coverage)
        for table, numbers in pattern.cells.items()
        for cell in numbers
    ]
    schema = {"pattern": pl.Int16, "table": pl.String, "cell": pl.Int16}
    kept = pl.DataFrame(cells, schema=schema, orient="row")
    place = published.geounits.select("geoid", pl.col("pattern").cast(pl.Int16))
    counts = published.counts.with_columns(
        pl.col("table").cast(pl.String).alias("_table"), pl.col("cell").cast(pl.Int16)
    )
    counts = (
        counts.join(place, on="geoid", how="left", maintain_order="left")
        .join(
            kept.rename({"table": "_table"}),
            on=["pattern", "_table", "cell"],
            how="semi",
            maintain_order="left",
        )
        .select(pl.col(name).cast(dtype) for name, dtype in published.counts.schema.items())
    )
    return replace(published, counts=counts, coverage=coverage)
