"""Published counts of one partition as arrays: who is whose parent, and what was published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.errors import SourceError
from recon_cli.model.grain import IntArray
from recon_cli.model.plan import Plan
from recon_cli.published import Published

#: Records of a partition are held in memory, some hundred bytes each.
_MOST_PEOPLE = 50_000_000


@dataclass(frozen=True)
class Counts:
    """One partition's counts, indexed by the row numbers of its geounits.

    Attributes:
        geoids: The geounits' geoids, by level and geoid.
        population: Their published populations, null where unknown.
        pattern: The geounits' coverage patterns.
        units: Row numbers of the units (the finest level), ordered by region.
        region: For each of `units` the number of its region, rising.
        region_geoids: The regions' geoids.
        parent: Level name → for each of `units` the row number of the geounit it lies in, or −1.
        matrix: Sparse (geounits × the plan's `columns`) of published counts.
    """

    geoids: pl.Series
    population: pl.Series
    pattern: IntArray
    units: IntArray
    region: IntArray
    region_geoids: pl.Series
    parent: dict[str, IntArray]
    matrix: sparse.csr_array

    def dense(self, columns: IntArray, geounits: IntArray) -> IntArray:
        """Published counts (geounits × some columns)."""
        return self.matrix[geounits][:, columns].toarray()


def arrange_counts(plan: Plan, published: Published) -> Counts:
    """Index a partition's counts.

    Raises:
        SourceError: A unit lies in no geounit of a level whose tables are in use, or a count
            belongs to no geounit.
    """
    geography = plan.release.geography
    geounits = published.geounits.sort("level", "geoid").with_row_index("row")
    units = geounits.filter(pl.col("level") == geography.unit.name)
    if len(geounits) and not len(units):
        raise SourceError(
            f"no {geography.unit.name} among the {len(geounits)} geounits: people are placed in "
            f"{geography.unit.name}s, so the release must list them"
        )
    parent: dict[str, IntArray] = {}
    for level in geography.levels:
        at_level = geounits.filter(pl.col("level") == level.name)
        parent[level.name] = (
            units.select(prefix=pl.col("geoid").str.head(level.digits))
            .join(at_level, left_on="prefix", right_on="geoid", how="left", maintain_order="left")
            .get_column("row")
            .cast(pl.Int64)
            .fill_null(-1)
            .to_numpy()
        )
    peopled = units["geoid"].is_in(published.counts["geoid"].unique().implode())
    _require_parents(plan, units, peopled, parent)
    prefix = units["geoid"].str.head(plan.release.region.digits)
    region_geoids = prefix.unique().sort()
    region = region_geoids.search_sorted(prefix).to_numpy().astype(np.int64)
    order = np.argsort(region, kind="stable")
    matrix = _matrix(plan, geounits, published.counts)
    if matrix.nnz and int(matrix.data.max()) > _MOST_PEOPLE:
        row = int(matrix.tocoo().row[int(matrix.data.argmax())])
        raise SourceError(
            f"geoid {geounits['geoid'][row]}: a count of {int(matrix.data.max()):,}; one "
            f"partition holds at most {_MOST_PEOPLE:,} people, so choose a finer partition level"
        )
    _require_units(plan, geounits, parent, matrix)
    return Counts(
        geoids=geounits["geoid"],
        population=geounits["population"],
        pattern=geounits["pattern"].cast(pl.Int64).to_numpy(),
        units=units["row"].cast(pl.Int64).to_numpy()[order],
        region=region[order],
        region_geoids=region_geoids,
        parent={name: rows[order] for name, rows in parent.items()},
        matrix=matrix,
    )


def _require_parents(
    plan: Plan, units: pl.DataFrame, peopled: pl.Series, parent: dict[str, IntArray]
) -> None:
    """Refuse units with people whose coarser geounit, with rows of its own, is not listed."""
    for level in sorted({pattern.level for pattern in plan.patterns if pattern.masks}):
        orphans = units.filter(peopled & pl.Series(parent[level] == -1))
        if len(orphans):
            unit = plan.release.geography.unit.name
            geoid = orphans["geoid"][0]
            digits = plan.release.geography.by_name[level].digits
            tables = [table.name for table in plan.tables if level in table.levels]
            raise SourceError(
                f"{unit} {geoid}: its {level} {geoid[:digits]} is not in the release, but the "
                f"tables in use are published by {level} ({', '.join(tables[:6])}"
                f"{', …' if len(tables) > 6 else ''}); {len(orphans)} such {unit}(s)"
            )


def _require_units(
    plan: Plan, geounits: pl.DataFrame, parent: dict[str, IntArray], matrix: sparse.csr_array
) -> None:
    """Refuse coarse geounits with people and no unit to place them in."""
    has_people = np.diff(matrix.indptr) > 0
    unit = plan.release.geography.unit.name
    for level in sorted({pattern.level for pattern in plan.patterns} - {unit}):
        empty = has_people & (geounits["level"] == level).to_numpy()
        empty[parent[level][parent[level] >= 0]] = False
        if empty.any():
            geoid = geounits["geoid"][int(np.flatnonzero(empty)[0])]
            raise SourceError(
                f"{level} {geoid}: people are published, but none of its {unit}s is in the "
                f"release; {int(empty.sum())} such {level}(s)"
            )


def _matrix(plan: Plan, geounits: pl.DataFrame, counts: pl.DataFrame) -> sparse.csr_array:
    columns = plan.columns
    index = pl.DataFrame(
        {
            "table": [table for table, _ in columns],
            "cell": pl.Series([cell for _, cell in columns], dtype=counts.schema["cell"]),
            "column": pl.Series(range(len(columns)), dtype=pl.Int32),
        }
    )
    placed = counts.join(index, on=["table", "cell"], how="inner").join(
        geounits.select("geoid", "row"), on="geoid", how="left"
    )
    lost = placed.filter(pl.col("row").is_null())
    if len(lost):
        raise SourceError(
            f"table {lost['table'][0]} cell {lost['cell'][0]}: "
            f"geoid {lost['geoid'][0]} is not among the geounits of {plan.release.name}"
        )
    entries = (placed["row"].to_numpy(), placed["column"].to_numpy())
    matrix = sparse.csr_array(
        (placed["count"].cast(pl.Int64).to_numpy(), entries),
        shape=(len(geounits), len(columns)),
    )
    if matrix.nnz != len(placed):
        twice = placed.filter(placed.select("row", "column").is_duplicated()).row(0, named=True)
        raise SourceError(
            f"geoid {twice['geoid']} table {twice['table']} cell {twice['cell']}: counted twice"
        )
    return matrix
