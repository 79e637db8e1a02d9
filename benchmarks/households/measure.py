"""Claims of each block for itself: what they cost, and whom they cover."""

from __future__ import annotations

import time
from dataclasses import dataclass

import polars as pl

from benchmarks.households.study import Sample
from recon_cli.api.reconstruction import inside
from recon_cli.ask.question import RegionData
from recon_cli.capabilities.claims.options import Claims
from recon_cli.capabilities.claims.question import ClaimPlans
from recon_cli.capabilities.claims.surprise import count_records, matching, subset_of, with_labels
from recon_cli.capabilities.reconstruct.question import reconstruct_plan
from recon_cli.model.planning import make_plan
from recon_cli.publication import Publication
from recon_cli.schema import Release

OPTIONS = Claims(seed=1, unit_seconds=10.0)


@dataclass(frozen=True)
class Measured:
    """The claims of a sample under one choice of structural zeros.

    Attributes:
        columns: The columns of claims.
        claims: Of all blocks.
        units: One row per block.
        seconds: CPU seconds of each block, reconstruction and claims, plans aside.
    """

    columns: tuple[str, ...]
    claims: pl.DataFrame
    units: pl.DataFrame
    seconds: pl.Series


def measure(release: Release, sample: Sample) -> Measured:
    """Find the claims of every block for itself, on one core."""
    published = sample.published
    records = make_plan(release, release.tables, published.coverage)
    claimed = ClaimPlans.of(release, release.tables, published.coverage, is_exact=True)
    plans = ClaimPlans(claimed.assuming, None, claimed.trivial)
    seconds: list[float] = []
    claims, units = [], []
    columns: tuple[str, ...] = ()
    for block in sample.blocks:
        started = time.process_time()
        part = inside(release, published, block)
        microdata = reconstruct_plan(records, part, seed=1).microdata
        found = plans.find(RegionData(part, microdata), OPTIONS)
        seconds.append(time.process_time() - started)
        claims.append(found.claims)
        units.append(found.units)
        columns = found.columns
    cpu = pl.Series("seconds", seconds, dtype=pl.Float64)
    return Measured(columns, pl.concat(claims), pl.concat(units), cpu)


def count_false(release: Release, measured: Measured, truth: pl.DataFrame) -> int:
    """Claims that are not true of the true households."""
    counted = count_records(release, truth, measured.columns)
    found = matching(measured.claims, counted, measured.columns, pl.col("geoid_block"))
    exact, count = measured.claims["exact"], measured.claims["count"].cast(pl.Int64)
    wrong = (exact & (found != count)) | (~exact & (found < count))
    return int(wrong.sum())


def covered(
    release: Release, measured: Measured, truth: pl.DataFrame, claims: pl.DataFrame
) -> dict[int, int]:
    """For each number of columns the true households that some of the claims are about."""
    columns = measured.columns
    people = with_labels(release, truth, columns).with_row_index("_household")
    found: dict[int, set[int]] = {k: set() for k in range(1, len(columns) + 1)}
    masks = claims.with_columns(_subset=subset_of(columns))
    for (subset,), part in masks.group_by("_subset"):
        spoken = [name for at, name in enumerate(columns) if int(str(subset)) >> at & 1]
        about = people.join(part.select("geoid_block", *spoken), on=["geoid_block", *spoken])
        found[len(spoken)].update(about["_household"].to_list())
    return {k: len(households) for k, households in found.items()}


def split_exact(claims: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Singleton claims, and all exact ones."""
    return claims.filter("singleton"), claims.filter("exact")


def published_counts(published: Publication) -> tuple[float, float]:
    """Non-zero published counts of a block, and ones among them, on average."""
    blocks = published.counts["geoid"].n_unique()
    ones = published.counts.filter(count=1).height
    return published.counts.height / blocks, ones / blocks
