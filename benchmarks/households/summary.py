"""Tables 4 to 7 and Figures 3 to 5 of the study, of measured claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from benchmarks.households.measure import (
    Measured,
    count_false,
    covered,
    published_counts,
    split_exact,
)
from benchmarks.households.study import Sample
from recon_cli.capabilities.claims.surprise import count_records, probability_by_guessing, share_of
from recon_cli.schema import Release

#: Numbers of columns that the study reports.
LONG = (6, 7, 8, 9, 10)
#: Digits of a tract's geoid; nothing of it is the nation.
PLACES = {"tract": pl.col("geoid_block").str.head(11), "nation": pl.lit("")}
_RANKS = 5


def summarise(release: Release, sample: Sample, measured: Measured) -> dict[str, Any]:
    """Everything that the page shows of one sample and mode, as plain numbers."""
    singletons, exact = split_exact(measured.claims)
    truth = sample.chosen
    seconds = measured.seconds.to_numpy()
    nonzero, ones = published_counts(sample.published)
    return {
        "blocks": len(sample.blocks),
        "households": truth.height,
        "published": [nonzero, ones],
        "complete": measured.units.filter(status="complete").height,
        "undecided": int(measured.units["undecided"].sum()),
        "determined": _determined(exact, truth),
        "claims": measured.claims.height,
        "false": count_false(release, measured, truth),
        "seconds": [float(np.median(seconds)), float(seconds.mean()), float(seconds.max())],
        "singletons": covered(release, measured, truth, singletons),
        "any": covered(release, measured, truth, exact),
        "omitted": {k: _omitted(measured, singletons, k) for k in LONG},
        "blocks_with": {k: singletons.filter(k=k)["geoid_block"].n_unique() for k in range(1, 11)},
        "named": {k: _named(measured, singletons.filter(k=k)) for k in LONG},
        "guessing": _surprise(release, sample, measured, singletons),
        "blocks_with_any": {k: exact.filter(k=k)["geoid_block"].n_unique() for k in range(1, 11)},
        "guessing_any": _surprise(release, sample, measured, exact),
    }


def _determined(exact: pl.DataFrame, truth: pl.DataFrame) -> int:
    """Count the blocks whose households all are in claims about every column: one solution."""
    whole = exact.filter(k=LONG[-1]).group_by("geoid_block").agg(pl.col("count").sum())
    sizes = truth.group_by("geoid_block").len("households")
    return (
        whole.join(sizes, on="geoid_block").filter(pl.col("count") == pl.col("households")).height
    )


def _surprise(
    release: Release, sample: Sample, measured: Measured, claims: pl.DataFrame
) -> dict[str, dict[int, list[float]]]:
    return {
        place: _guessing(release, sample, measured, claims, of_unit)
        for place, of_unit in PLACES.items()
    }


def _named(measured: Measured, claims: pl.DataFrame) -> dict[str, float]:
    """For each column the share of the claims that speak of it, in percent; nothing of none."""
    if claims.is_empty():
        return {}
    spoken = claims.select(
        (100 * pl.col(c).is_not_null().mean()).alias(c) for c in measured.columns
    )
    return spoken.row(0, named=True)


def _omitted(measured: Measured, singletons: pl.DataFrame, k: int) -> list[tuple[str, float]]:
    """The sets of columns that singleton claims of k columns leave out most, in percent."""
    part = singletons.filter(k=k)
    if part.is_empty():
        return []
    names = [pl.when(pl.col(c).is_null()).then(pl.lit(c)) for c in measured.columns]
    left_out = pl.concat_str(names, separator=", ", ignore_nulls=True)
    counted = part.group_by(left_out.alias("omitted")).len().sort("len", "omitted", descending=True)
    rows = counted.head(_RANKS).iter_rows()
    return [(omitted or "none", 100 * number / part.height) for omitted, number in rows]


def _guessing(
    release: Release, sample: Sample, measured: Measured, claims: pl.DataFrame, place: pl.Expr
) -> dict[int, list[float]]:
    """Median, 75th and 90th percentile and maximum of the probability by guessing, in percent."""
    nation = count_records(release, sample.nation, measured.columns)
    sizes = sample.chosen.group_by("geoid_block").len("households")
    found: dict[int, list[float]] = {}
    for k in LONG:
        part = claims.filter(k=k).join(sizes, on="geoid_block", how="left", maintain_order="left")
        if part.is_empty():
            continue
        share = share_of(part, nation, measured.columns, place)
        count, size = (part[c].to_numpy().astype(np.float64) for c in ("count", "households"))
        chance = 100 * probability_by_guessing(count, size, share)
        found[k] = [float(x) for x in np.percentile(chance, [50, 75, 90, 100])]
    return found
