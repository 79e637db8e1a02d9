"""How far counts of everybody are from the truth, with their sign: published less true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

from recon_cli.compare.errors import published_totals
from recon_cli.protect.accuracy import SIZES
from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.score.sizes import ALL

#: How many geounits of a level and class of `SIZES` (−1 where nobody lives), of so many true
#: people, are so far off.
DEVIATIONS: Final = pl.Schema(
    {
        "level": pl.String,
        "size": pl.Int8,
        "true": pl.Int64,
        "deviation": pl.Int64,
        "geounits": pl.Int64,
    }
)
_QUANTILES: Final = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
#: How many geounits of a level are so far off in the first draw of a value.
UNIT_ERRORS: Final = pl.Schema(
    {
        "protection": pl.String,
        "value": pl.String,
        "level": pl.String,
        "true": pl.Int64,
        "deviation": pl.Int64,
        "geounits": pl.Int64,
    }
)
#: Quantiles and the mean over geounits and draws, in people; ``value`` is empty of what is not
#: swept. A quantile is the least deviation that so large a share do not exceed.
DISTRIBUTIONS: Final = pl.Schema(
    {
        "protection": pl.String,
        "value": pl.String,
        "level": pl.String,
        "size": pl.String,
        "geounits": pl.Int64,
        "mean": pl.Float64,
        "q05": pl.Float64,
        "q25": pl.Float64,
        "q50": pl.Float64,
        "q75": pl.Float64,
        "q95": pl.Float64,
    }
)


def count_deviations(release: Release, truth: Publication, shown: Publication) -> pl.DataFrame:
    """Deviations of the geounits of one partition that have a number.

    Args:
        truth: The exact counts of every cell.
        shown: What is published in their place.

    Returns:
        Columns of `DEVIATIONS`.
    """
    totals = published_totals(release, truth, shown)
    deviation = (pl.col("shown") - pl.col("true")).alias("deviation")
    counted = totals.group_by("level", "size", "true", deviation).agg(geounits=pl.len())
    return counted.select(DEVIATIONS.names()).cast(DEVIATIONS)


def distribution(
    release: Release, protection: str, value: str, draws: Iterable[pl.DataFrame]
) -> pl.DataFrame:
    """Quantiles over all draws of a protection.

    Args:
        release: Orders levels.
        draws: Columns of `DEVIATIONS`.

    Returns:
        Columns of `DISTRIBUTIONS`, all sizes first.
    """
    every = pl.concat([DEVIATIONS.to_frame(), *draws]).cast({"size": pl.Int64})
    both = pl.concat([every.with_columns(size=pl.lit(-2, pl.Int64)), every])
    count, so_far = pl.col("geounits"), pl.col("geounits").cum_sum()
    quantiles = {
        name: pl.col("deviation").filter(so_far >= share * count.sum()).first()
        for name, share in _QUANTILES.items()
    }
    labels = {-2: ALL, -1: "0", **{at: SIZES.label(at) for at in range(len(SIZES.lowest))}}
    return (
        both.group_by("level", "size", "deviation")
        .agg(count.sum())
        .sort("deviation")
        .group_by("level", "size", maintain_order=True)
        .agg(
            count.sum().alias("_all"),
            mean=(pl.col("deviation") * count).sum() / count.sum(),
            **quantiles,
        )
        .sort(_level_order(release), "size")
        .with_columns(
            protection=pl.lit(protection),
            value=pl.lit(value),
            size=pl.col("size").replace_strict(labels, return_dtype=pl.String),
            geounits=pl.col("_all"),
        )
        .select(DISTRIBUTIONS.names())
        .cast(DISTRIBUTIONS)
    )


def unit_errors(
    release: Release, protection: str, value: str, deviations: pl.DataFrame
) -> pl.DataFrame:
    """Every geounit's error beside its true number of people.

    Args:
        release: Orders levels.
        deviations: Columns of `DEVIATIONS`, of one draw.

    Returns:
        Columns of `UNIT_ERRORS`.
    """
    keys = ["level", "true", "deviation"]
    return (
        deviations.group_by(keys)
        .agg(pl.col("geounits").sum())
        .sort(_level_order(release), "true", "deviation")
        .with_columns(protection=pl.lit(protection), value=pl.lit(value))
        .select(UNIT_ERRORS.names())
        .cast(UNIT_ERRORS)
    )


def _level_order(release: Release) -> pl.Expr:
    levels = {level.name: at for at, level in enumerate(release.geography.levels)}
    return pl.col("level").replace_strict(levels, return_dtype=pl.Int64)


def units_all_below(
    truth: pl.DataFrame, made: pl.DataFrame, place: str, feature: str, edge: float
) -> int:
    """Units with records of which all are below an edge, while some true one there is not.

    Args:
        truth: Columns ``place`` and ``feature``, a row a record.
        made: The same of records that were reconstructed; nothing is said where the feature is
            null.
    """
    grown = truth.filter(pl.col(feature) >= edge)[place].unique()
    young = made.group_by(place).agg((pl.col(feature) < edge).fill_null(value=False).all())
    return young.filter(pl.col(feature), pl.col(place).is_in(grown.implode())).height
