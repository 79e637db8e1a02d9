"""How far protected counts are from the true ones, by level and size of the true count."""

from __future__ import annotations

from typing import Final

import polars as pl

#: Greatest true count of each size class, and its name.
SIZES: Final = ((2, "1-2"), (9, "3-9"), (99, "10-99"), (2**31 - 1, "100+"))

ACCURACY = pl.Schema(
    {
        "level": pl.String,
        "size": pl.String,
        "cells": pl.Int64,
        "suppressed": pl.Int64,
        "changed": pl.Int64,
        "false_zeros": pl.Int64,
        "mae": pl.Float64,
        "rmse": pl.Float64,
        "bias": pl.Float64,
        "mape": pl.Float64,
    }
)


def count_accuracy(protected: pl.DataFrame) -> pl.DataFrame:
    """Measures of error over the cells whose true count is above zero.

    Args:
        protected: Columns ``level, count, true`` of `recon_cli.protect.counts.PROTECTED`.

    Returns:
        Columns of `ACCURACY`, by level as they come and size class, ``all`` last. ``mae``,
        ``rmse``, ``bias`` (mean error) and ``mape`` (mean share of the true count, percent) are of
        the cells that are not suppressed; null where all are.
    """
    size = pl.lit(SIZES[-1][1])
    for most, name in reversed(SIZES[:-1]):
        size = pl.when(pl.col("true") <= most).then(pl.lit(name)).otherwise(size)
    error = (pl.col("count") - pl.col("true")).cast(pl.Float64)
    measured = protected.with_columns(size=size, error=error)
    both = pl.concat([measured, measured.with_columns(size=pl.lit("all"))])
    order = pl.Enum([*(name for _, name in SIZES), "all"])
    levels = pl.Enum(protected["level"].unique(maintain_order=True))
    frame = both.group_by("level", "size").agg(
        cells=pl.len(),
        suppressed=pl.col("count").null_count(),
        changed=(pl.col("error") != 0).sum(),
        false_zeros=(pl.col("count") == 0).sum(),
        mae=pl.col("error").abs().mean(),
        rmse=pl.col("error").pow(2).mean().sqrt(),
        bias=pl.col("error").mean(),
        mape=100 * (pl.col("error").abs() / pl.col("true")).mean(),
    )
    ordered = frame.with_columns(pl.col("level").cast(levels), pl.col("size").cast(order))
    return ordered.sort("level", "size").select(ACCURACY.names()).cast(ACCURACY)
