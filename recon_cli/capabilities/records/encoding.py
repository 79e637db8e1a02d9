"""Encoding of records as positions of feature values, checked against the release schema."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.errors import VerificationError
from recon_cli.schema import Feature, Level, Release


def encode(
    release: Release,
    records: pl.DataFrame,
    seen_by: Sequence[str | None],
    place: Level | None = None,
) -> tuple[IntArray | None, ...]:
    """Check every column of ``records`` that the schema names, and encode the values.

    Args:
        records: One row per person, as `recon.tabulate` takes them.
        seen_by: For each feature the name of a table that distinguishes its values, or None
            where no table does; nulls are allowed there only.
        place: A level whose geoid a record may have instead of its unit's.

    Returns:
        For each feature the position in ``Feature.values`` of every record's value, or None
        where ``seen_by`` is None.

    Raises:
        VerificationError: Names the column, how many records and the first geoid.
    """
    _check_columns(release, records, place)
    geoids = records[release.geoid_column]
    return tuple(
        _positions(feature, records[feature.name], geoids, table)
        for feature, table in zip(release.features, seen_by, strict=True)
    )


def _check_columns(release: Release, records: pl.DataFrame, place: Level | None) -> None:
    """Refuse missing columns, columns of the wrong kind, and malformed geoids."""
    wanted = [release.geoid_column, *(feature.name for feature in release.features)]
    missing = [name for name in wanted if name not in records.columns]
    if missing:
        raise VerificationError(
            f"records: no column {missing[0]!r} (needed: {', '.join(wanted)}; "
            f"found: {', '.join(name for name in records.columns if name in wanted)})"
        )
    geoids, unit = records[release.geoid_column], release.geography.unit
    if geoids.dtype != pl.String:
        raise VerificationError(
            f"records: column {geoids.name!r} is {geoids.dtype}, expected String"
        )
    wrong = geoids.filter(~unit.has(geoids).fill_null(value=False))
    if place is not None:
        wrong = wrong.filter(~place.has(wrong).fill_null(value=False))
    if len(wrong):
        raise VerificationError(
            f"records: column {geoids.name!r}: {len(wrong):,} records have what is not a geoid of "
            f"level {unit.name!r}, which {unit.form}"
        )


def _positions(
    feature: Feature, found: pl.Series, geoids: pl.Series, seen_by: str | None
) -> IntArray | None:
    column = _plain(found, feature)
    unknown = [
        value
        for value in column.unique().to_list()
        if value is not None and value not in feature.position
    ]
    if unknown:
        wrong = column.is_in(unknown).fill_null(value=False)
        raise VerificationError(
            f"records: column {feature.name!r}: {wrong.sum():,} records, the first in "
            f"{geoids.filter(wrong)[0]}, have what is not a value of the feature "
            f"(such as {', '.join(map(repr, feature.values[:5]))})"
        )
    if seen_by is None:
        return None
    if column.null_count():
        raise VerificationError(
            f"records: column {feature.name!r} is null (not reconstructed) in "
            f"{geoids.filter(column.is_null())[0]}, but table {seen_by!r} distinguishes it "
            f"({column.null_count()} such records)"
        )
    values = pl.Series(feature.values, dtype=column.dtype)
    return column.replace_strict(values, np.arange(len(values)), return_dtype=pl.Int64).to_numpy()


def _plain(column: pl.Series, feature: Feature) -> pl.Series:
    """Cast the column to Boolean, Int64 or String, whichever the feature's values are."""
    found, wanted = column.dtype, _kind(feature)
    if wanted == pl.Int64:
        fits = found.is_integer()
    elif wanted == pl.String:
        fits = isinstance(found, pl.String | pl.Categorical | pl.Enum)
    else:
        fits = found == wanted
    if not fits and found != pl.Null:
        raise VerificationError(
            f"records: column {feature.name!r} is {found}, expected {feature.dtype.__name__}"
        )
    return column.cast(wanted)


def _kind(feature: Feature) -> type[pl.DataType]:
    first = feature.values[0]
    if isinstance(first, bool):
        return pl.Boolean
    return pl.Int64 if isinstance(first, int) else pl.String
