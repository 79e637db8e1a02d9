"""Primary suppression: the cells that are too small, or that too few people dominate.

See *primary suppression* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from recon_cli.protect.contributions import largest_contributions
from recon_cli.schema import Release, Table


@dataclass(frozen=True)
class PrimaryRules:
    """What makes a cell sensitive.

    Attributes:
        below: Counts under it are.
        zeros_hidden: Whether counts of zero are suppressed with them; else they are published.
        value: A column of the records that the others look at.
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
    """Which counts are sensitive.

    Args:
        counts: ``geoid, table, cell, count``: true counts above zero.
        records: What they were counted from; only values need them.
        tables: Those that are published.

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
