"""Surprise: the probability of a claim by guessing, from the shares of values around its unit.

See *surprise* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray
from recon_cli.schema import Release


def count_records(release: Release, records: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Count the records of each unit by their values on the columns of claims.

    Args:
        records: One row per record, with every feature.
        columns: Features or partition recodes.

    Returns:
        The unit's geoid, ``columns`` and ``records``.
    """
    labelled = with_labels(release, records, columns)
    return labelled.group_by(release.geoid_column, *columns).agg(records=pl.len())


def with_labels(release: Release, records: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Select the unit's geoid and the columns of claims from records."""
    labelled = []
    for name in columns:
        group = release.column_groups(name)
        feature = release.features[release.feature_index[group.feature]]
        label = {
            value: next(
                at for at, mask in zip(group.labels, group.masks, strict=True) if mask >> bit & 1
            )
            for bit, value in enumerate(feature.values)
        }
        old = pl.Series(list(label), dtype=feature.dtype)
        new = pl.Series(list(label.values()), dtype=group.dtype)
        labelled.append(pl.col(feature.name).replace_strict(old, new, default=None).alias(name))
    return records.select(release.geoid_column, *labelled)


def with_surprise(
    release: Release,
    claims: pl.DataFrame,
    units: pl.DataFrame,
    here: pl.DataFrame,
    everybody: pl.DataFrame,
) -> pl.DataFrame:
    """Add the probability of each claim by guessing: Eq. (guess).

    Args:
        claims: Claims from `recon_cli.capabilities.claims.question.VerifiedClaims`.
        here: Counts of all records of the regions of these units, from `count_records`.
        everybody: Counts of all records of the publication, from `count_records`.

    Returns:
        ``claims`` with ``p_region``, null where a unit is a region of its own, and ``p_all``.
    """
    geoid, region = release.geoid_column, release.region
    columns = [name for name in everybody.columns if name not in {geoid, "records"}]
    of_unit = units.select(geoid, "population")
    placed = claims.select(geoid, "count").join(
        of_unit, on=geoid, how="left", maintain_order="left"
    )
    count, people = (placed[c].to_numpy().astype(np.float64) for c in ("count", "population"))
    chances, unit = {}, pl.col(geoid)
    for name, counted, place in (
        ("p_region", here, region.enclosing(unit) if region != release.geography.unit else None),
        ("p_all", everybody, pl.lit("")),
    ):
        if place is None:
            chances[name] = pl.Series(name, [None] * claims.height, dtype=pl.Float64)
            continue
        share = share_of(claims, counted, columns, place)
        exactly = probability_by_guessing(count, people, share)
        at_least = probability_of_at_least(count, people, share)
        chances[name] = pl.Series(name, np.where(claims["exact"].to_numpy(), exactly, at_least))
    return claims.with_columns(**chances)


def share_of(
    claims: pl.DataFrame, counted: pl.DataFrame, columns: Sequence[str], place: pl.Expr
) -> FloatArray:
    """Return for each claim the share of a place's records with its values.

    Args:
        claims: The unit's geoid and ``columns``, null where a claim does not use one.
        counted: Counts from `count_records`.
        place: The geoid of the place around each row's unit.
    """
    place = place.alias("_place")
    everybody = counted.group_by(place).agg(_all=pl.col("records").sum())
    total = claims.select(place).join(everybody, on="_place", how="left", maintain_order="left")
    found = matching(claims, counted, columns, place).to_numpy()
    share: FloatArray = found / total["_all"].fill_null(1).to_numpy()
    return share


def matching(
    claims: pl.DataFrame, counted: pl.DataFrame, columns: Sequence[str], place: pl.Expr
) -> pl.Series:
    """Return for each claim the number of records in a place with its values; see `share_of`."""
    place = place.alias("_place")
    asked = claims.select(place, *columns).with_row_index("_row")
    spoken = asked.with_columns(_subset=subset_of(columns))
    placed = counted.group_by(place, *columns).agg(pl.col("records").sum())
    parts = []
    for (subset,), part in spoken.group_by("_subset"):
        key = ["_place", *(c for at, c in enumerate(columns) if int(str(subset)) >> at & 1)]
        found = placed.group_by(key).agg(_found=pl.col("records").sum())
        parts.append(part.join(found, on=key, how="left").select("_row", "_found"))
    if not parts:
        return pl.Series([], dtype=pl.Int64)
    return pl.concat(parts).sort("_row")["_found"].fill_null(0).cast(pl.Int64)


def subset_of(columns: Sequence[str]) -> pl.Expr:
    """Return the columns of a claim, as bits."""
    bits = [pl.col(name).is_not_null().cast(pl.Int64) * 2**at for at, name in enumerate(columns)]
    return pl.sum_horizontal(bits)


def probability_by_guessing(count: FloatArray, people: FloatArray, share: FloatArray) -> FloatArray:
    """Compute the probability that exactly this many people have some values, each independently.

    The binomial probability C(N, m) pᵐ (1 − p)ᴺ⁻ᵐ: Eq. (guess).

    Args:
        count: m of each claim.
        people: N, the people of the claim's unit.
        share: p, the share of the values in the place around the unit.

    >>> probability_by_guessing(np.array([2.0]), np.array([2.0]), np.array([0.5])).tolist()
    [0.25]
    """
    from scipy.special import gammaln, xlog1py, xlogy  # slow to load

    ways = gammaln(people + 1) - gammaln(count + 1) - gammaln(people - count + 1)
    chance: FloatArray = np.exp(ways + xlogy(count, share) + xlog1py(people - count, -share))
    return chance


def probability_of_at_least(count: FloatArray, people: FloatArray, share: FloatArray) -> FloatArray:
    """Compute the probability of at least ``count`` ≥ 1 people; see `probability_by_guessing`.

    >>> probability_of_at_least(np.array([1.0]), np.array([2.0]), np.array([0.5])).round(6).tolist()
    [0.75]
    """
    from scipy.special import betainc  # slow to load

    return np.asarray(betainc(count, people - count + 1, share), dtype=np.float64)
