"""How likely a claim would be by guessing, from the shares of a place around its unit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.special import gammaln

from recon_cli.schema import Release


def with_labels(release: Release, records: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Records with the unit's geoid and the columns that claims speak of.

    Args:
        release: The schema.
        records: One row per record, with every feature.
        columns: Features or partition recodes.
    """
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


def matching(
    claims: pl.DataFrame, people: pl.DataFrame, columns: Sequence[str], geoid: str, digits: int
) -> pl.Series:
    """For each claim the number of people in a place with the values that it speaks of.

    Args:
        claims: ``geoid`` and ``columns``, null where a claim does not speak of one.
        people: Of `with_labels`.
        columns: The columns of claims.
        geoid: The column with the unit's geoid.
        digits: Of the geoid of the place; 0 for everybody.
    """
    place = pl.col(geoid).str.head(digits).alias("_place")
    asked = claims.select(place, *columns).with_row_index("_row")
    spoken = asked.with_columns(_subset=subset_of(columns))
    placed, parts = people.with_columns(place), []
    for (subset,), part in spoken.group_by("_subset"):
        key = ["_place", *(c for at, c in enumerate(columns) if int(str(subset)) >> at & 1)]
        counted = placed.group_by(key).agg(_found=pl.len())
        parts.append(part.join(counted, on=key, how="left").select("_row", "_found"))
    if not parts:
        return pl.Series([], dtype=pl.Int64)
    found = pl.concat(parts).sort("_row")["_found"]
    return found.fill_null(0).cast(pl.Int64)


def subset_of(columns: Sequence[str]) -> pl.Expr:
    """The columns that a claim speaks of, as bits."""
    bits = [pl.col(name).is_not_null().cast(pl.Int64) * 2**at for at, name in enumerate(columns)]
    return pl.sum_horizontal(bits)


def probability_by_guessing(count: pl.Series, people: pl.Series, share: pl.Series) -> pl.Series:
    """That exactly so many of a unit's people have some values, each with the same chance.

    The binomial probability C(N, m) pᵐ (1 − p)ᴺ⁻ᵐ.

    Args:
        count: m of each claim.
        people: N, in the claim's unit.
        share: p, in the place around it.
    """
    m, n, p = (x.to_numpy().astype(np.float64) for x in (count, people, share))
    ways = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        some = np.where(m > 0, m * np.log(p), 0.0)
        rest = np.where(n > m, (n - m) * np.log1p(-p), 0.0)
    return pl.Series("p", np.exp(ways + some + rest))
