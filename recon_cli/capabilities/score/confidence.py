"""Calibration of confidence: is a share q of the records with confidence q right?

See *confidence* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

from recon_cli.capabilities.score.intervals import interval, ratio
from recon_cli.capabilities.score.rates import Rules
from recon_cli.capabilities.score.sums import Sums, resample, weighted

#: Columns of the calibration, in percent: a row per truth and tenth of confidence.
CALIBRATION: Final = {
    "truth": pl.String,
    "tenth": pl.Int8,
    **dict.fromkeys(("records", "confidence_pct", "right_pct", "low", "high"), pl.Float64),
    "withheld": pl.Boolean,
}
_MEASURES = ("records", "confidence", "right")


def tenth_of(confidence: pl.Expr) -> pl.Expr:
    """Return the tenth, from 0 to 9 (Int8); 1.0 is in the last."""
    return (confidence * 10 + 1e-9).floor().clip(0, 9).cast(pl.Int8)


def count_tenths(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Count records with a confidence by its tenth: ``tenth``, ``records``.

    Args:
        parts: With a column ``confidence``, partition by partition.
    """
    tenths = pl.DataFrame(schema={"tenth": pl.Int8, "records": pl.UInt32})
    for part in parts:
        known = part.drop_nulls("confidence").select(tenth_of(pl.col("confidence")).alias("tenth"))
        tenths = pl.concat([tenths, known.group_by("tenth").agg(records=pl.len())])
    return tenths.group_by("tenth").agg(pl.col("records").sum()).sort("tenth")


def sum_confidence(
    rows: pl.DataFrame, truth: pl.DataFrame, *, partition: str, resamples: int, seed: int
) -> Sums:
    """Sum one partition by tenth of confidence, with resamples of geounits.

    Records are matched with the truth one to one on all their columns; certain ones are matched
    first, so that a true record never counts twice.

    Args:
        rows: As from `capabilities.confidence.question.measure_confidence`, the geoid first.
        truth: The same columns but ``certain`` and ``confidence``, one row per person.
        partition: Its name; its resamples depend on it alone.
        resamples: Number of resamples (Poisson bootstrap).
    """
    key = [name for name in rows.columns if name not in {"certain", "confidence"}]
    known = rows.filter(pl.col("certain") | pl.col("confidence").is_not_null())
    cells = known.group_by(key).agg(
        pl.col("certain").sum(),
        records=(~pl.col("certain")).sum(),
        share=pl.col("confidence").mean(),
    )
    true = truth.group_by(key).agg(true=pl.len())
    cells = cells.filter(pl.col("records") > 0).join(true, on=key, how="left")
    left = pl.col("true").fill_null(0).cast(pl.Int64) - pl.col("certain").cast(pl.Int64)
    units = cells.select(pl.col(key[0]).unique().sort()).with_row_index("_unit")
    weights = resample(units.height, resamples, seed=seed, partition=partition)
    frame = cells.join(units, on=key[0]).select(
        "_unit",
        "records",
        tenth_of(pl.col("share")).alias("tenth"),
        (pl.col("share") * pl.col("records")).alias("confidence"),
        pl.min_horizontal(left.clip(0), pl.col("records").cast(pl.Int64)).alias("right"),
    )
    return weighted(frame, ("tenth",), _MEASURES, weights)


def calibration(sums: Sums, truth: str, rules: Rules) -> pl.DataFrame:
    """Compare mean confidence with the share that is right, by tenth (`CALIBRATION`).

    Args:
        sums: As from `sum_confidence`.
        rules: Coverage, disclosure control.
    """
    records, right = sums.of("records"), sums.of("right")
    low, high = interval(right, records, rules.kind, rules.coverage)
    frame = sums.keys.with_columns(
        truth=pl.lit(truth),
        records=pl.Series(records[:, 0]),
        confidence_pct=pl.Series(ratio(sums.of("confidence"), records)[:, 0]),
        right_pct=pl.Series(ratio(right, records)[:, 0]),
        low=pl.Series(low, nan_to_null=True),
        high=pl.Series(high, nan_to_null=True),
        withheld=pl.Series(records[:, 0] < rules.control.threshold),
    ).sort("tenth")
    shown = [name for name, dtype in CALIBRATION.items() if dtype == pl.Float64]
    return frame.select(
        pl.when(~pl.col("withheld")).then(name).alias(name) if name in shown else pl.col(name)
        for name in CALIBRATION
    )
