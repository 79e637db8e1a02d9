"""Primary suppression: the cells that are too small, or that too few people dominate.

See *primary suppression* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.capabilities.records.encoding import encode
from recon_cli.errors import ConfigError
from recon_cli.schema import Cell, Release, Table


@dataclass(frozen=True)
class PrimaryRules:
    """The rules by which a cell is sensitive.

    Attributes:
        below: Counts below this number are sensitive.
        zeros_hidden: Whether counts of zero are suppressed, too; else they are published.
        value: Column of the records with the values for `dominance` and `p_percent`.
        dominance: ``(n, k)``: a cell is sensitive if its n largest contributors have more than k
            percent of its total.
        p_percent: A cell is sensitive if the second largest contributor can estimate the largest
            within p percent: the others together have less than p percent of the largest.

    Raises:
        ValueError: When made: rules that need values without any.
    """

    below: int
    zeros_hidden: bool = False
    value: str | None = None
    dominance: tuple[int, float] | None = None
    p_percent: float | None = None

    def __post_init__(self) -> None:
        needs_value = self.dominance is not None or self.p_percent is not None
        if needs_value != (self.value is not None):
            raise ValueError("dominance and p_percent go with a value column, and it with them")


def primary_cells(
    release: Release,
    counts: pl.DataFrame,
    records: pl.DataFrame | None,
    rules: PrimaryRules,
    tables: Sequence[Table],
) -> pl.Series:
    """Test which counts are sensitive.

    Args:
        counts: ``geoid, table, cell, count``: true counts above zero.
        records: Records behind the counts; only values need them.
        tables: Published tables.

    Returns:
        A truth value for each of ``counts``.

    Raises:
        ConfigError: The records lack the value column, or there are no records.
        VerificationError: The records do not fit the schema.
    """
    small = counts["count"] < rules.below
    if rules.value is None or records is None:
        return small
    n, k = rules.dominance or (1, 100.0)
    largest = largest_contributions(release, records, rules.value, tables, n)
    joined = counts.select("geoid", "table", "cell").join(
        largest, on=["geoid", "table", "cell"], how="left", maintain_order="left"
    )
    dominated = pl.lit(value=False)
    if rules.dominance is not None:
        dominated = dominated | (100 * pl.col("largest") > k * pl.col("total"))
    if rules.p_percent is not None:
        others = pl.col("total") - pl.col("first") - pl.col("second")
        dominated = dominated | (100 * others < rules.p_percent * pl.col("first"))
    return small | joined.select(dominated.fill_null(value=False)).to_series()


#: A row per cell with records: the sum of the values, the two largest, and the sum of the n
#: largest.
CONTRIBUTIONS: Final = pl.Schema(
    {
        "geoid": pl.String,
        "table": pl.String,
        "cell": pl.Int16,
        "total": pl.Float64,
        "first": pl.Float64,
        "second": pl.Float64,
        "largest": pl.Float64,
    }
)


def largest_contributions(
    release: Release, records: pl.DataFrame, value: str, tables: Sequence[Table], n: int
) -> pl.DataFrame:
    """Sum the largest contributions to each cell's total.

    Args:
        records: As `recon.tabulate` takes them, and a column of values.
        value: The name of that column.
        tables: Published tables.
        n: Number of contributors in ``largest``.

    Returns:
        Columns of `CONTRIBUTIONS`.

    Raises:
        ConfigError: There is no such column, or a value is missing or negative.
        VerificationError: The records do not fit the schema.
    """
    values = _values(records, value)
    order = np.argsort(-values, kind="stable")
    seen_by: list[str | None] = [tables[0].name if tables else None] * len(release.features)
    positions = [None if p is None else p[order] for p in encode(release, records, seen_by)]
    geoids, values = records[release.geoid_column].gather(order), values[order]
    frames = [CONTRIBUTIONS.to_frame()]
    for level in release.geography.levels:
        units = level.enclosing(geoids)
        names = units.unique().sort()
        unit = units.replace_strict(names, np.arange(len(names)), return_dtype=pl.Int64).to_numpy()
        for table in tables:
            if level.name in table.levels:
                for cell in table.cells:
                    at = np.flatnonzero(_inside(release, cell, positions, len(values)))
                    sums = _sums(unit[at], values[at], len(names), n)
                    frames.append(_frame(names, table.name, cell.number, sums))
    return pl.concat(frames)


def _values(records: pl.DataFrame, value: str) -> FloatArray:
    if value not in records.columns:
        raise ConfigError(
            f"records have no column {value!r} (columns: {', '.join(records.columns)})"
        )
    if not records[value].dtype.is_numeric():
        raise ConfigError(f"column {value!r} of the records: numbers are expected")
    values: FloatArray = records[value].cast(pl.Float64).to_numpy()
    if not (values >= 0).all():
        raise ConfigError(f"column {value!r} of the records: every value must be at least 0")
    return values


def _inside(
    release: Release, cell: Cell, positions: Sequence[IntArray | None], height: int
) -> BoolArray:
    """Test which records a cell counts."""
    inside = np.ones(height, dtype=bool)
    for mask, feature, at in zip(cell.masks, release.features, positions, strict=True):
        if mask != feature.full and at is not None:
            allowed = np.array([bool(mask >> i & 1) for i in range(len(feature.values))])
            inside &= allowed[at]
    return inside


def _sums(unit: IntArray, values: FloatArray, units: int, n: int) -> FloatArray:
    """Return (units × total, first, second, n largest), of values in descending order."""
    by_unit = np.argsort(unit, kind="stable")
    unit, values = unit[by_unit], values[by_unit]
    starts = np.searchsorted(unit, unit)
    rank = np.arange(len(unit)) - starts
    chosen = (rank >= 0, rank == 0, rank == 1, rank < n)
    return np.stack([np.bincount(unit[k], values[k], units) for k in chosen], axis=1)


def _frame(names: pl.Series, table: str, cell: int, sums: FloatArray) -> pl.DataFrame:
    some = np.flatnonzero(sums[:, 0] > 0)
    return pl.DataFrame(
        {
            "geoid": names.gather(some),
            "table": pl.Series([table]).new_from_index(0, len(some)),
            "cell": pl.Series([cell], dtype=pl.Int16).new_from_index(0, len(some)),
            **{
                name: sums[some, k]
                for k, name in enumerate(("total", "first", "second", "largest"))
            },
        },
        schema=CONTRIBUTIONS,
    )
