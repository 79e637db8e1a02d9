"""What claims rest on: published tables alone, or structural zeros that are assumed as well."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

TABLES = "tables"
ASSUMED = "tables and rules"


def claims_with_foundations(
    claims: pl.DataFrame, tables_alone: pl.DataFrame, key: Sequence[str]
) -> pl.DataFrame:
    """Claims with what each rests on.

    Args:
        claims: Proven under all structural zeros: ``key``, ``count``, ``exact``.
        tables_alone: Proven without those that are assumptions.
        key: The columns that name the group of a claim, null where it does not speak of one.

    Returns:
        ``rests_on`` besides: ``tables`` where the same, or more, is proven without assumptions,
        else ``tables and rules``.
    """
    other = tables_alone.select(*key, _count="count", _exact="exact")
    joined = claims.join(other, on=list(key), how="left", nulls_equal=True, maintain_order="left")
    same = pl.when("exact").then(pl.col("_exact") & (pl.col("_count") == pl.col("count")))
    survives = same.otherwise(pl.col("_count") >= pl.col("count")).fill_null(value=False)
    rests_on = pl.when(survives).then(pl.lit(TABLES)).otherwise(pl.lit(ASSUMED))
    return joined.with_columns(rests_on=rests_on).drop("_count", "_exact")
