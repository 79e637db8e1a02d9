"""What rules for microdata ask of each record, reconstructed or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from recon_cli.attack.linkage.key_encoding import column_codes
from recon_cli.schema import Release


def tag_records(
    release: Release,
    records: pl.DataFrame,
    *,
    unique: Mapping[str, Sequence[str]],
    geography: int = 100_000,
    zero: pl.Series | None = None,
) -> pl.DataFrame:
    """Records with a flag for each question of a rule for microdata.

    Args:
        release: The schema.
        records: The unit's geoid, and the features or what stands for them.
        unique: Name → features and recodes: whether a record is alone with its values in its unit.
        geography: People that a place must have.
        zero: Geoids of units with a proof of zero solution variability.

    Returns:
        The records, with ``unique_NAME``, ``below_geography`` and, if it is known,
        ``zero_variability`` (Boolean).

    Raises:
        SourceError: A column is missing, or has a value that the schema does not know.
    """
    place = pl.col(release.geoid_column)
    flags = [(pl.len().over(place) < geography).alias("below_geography")]
    if zero is not None:
        flags.append(place.is_in(zero.implode()).alias("zero_variability"))
    keys = {
        column: column_codes(release, records, column, "records").alias(f"_{column}")
        for column in dict.fromkeys(column for columns in unique.values() for column in columns)
    }
    flags += [
        (pl.len().over(place, *(f"_{column}" for column in columns)) == 1).alias(f"unique_{name}")
        for name, columns in unique.items()
    ]
    return (
        records.with_columns(keys.values())
        .with_columns(flags)
        .drop(key.name for key in keys.values())
    )
