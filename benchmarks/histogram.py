"""People by unit and histogram cell: the grain at which answers are compared."""

from __future__ import annotations

import polars as pl

from recon_cli.schema import Release


def histogram(release: Release, records: pl.DataFrame) -> pl.DataFrame:
    """How many records each histogram cell of each unit has.

    Args:
        release: The schema.
        records: The unit's geoid and a column for each feature.

    Returns:
        The geoid, the release's histogram columns and ``people``, sorted.
    """
    keys = [release.geoid_column, *release.histogram]
    columns = [pl.col(release.geoid_column)]
    for name in release.histogram:
        groups = release.column_groups(name)
        values = release.features[release.feature_index[groups.feature]].values
        label = {
            value: label
            for label, mask in zip(groups.labels, groups.masks, strict=True)
            for at, value in enumerate(values)
            if mask >> at & 1
        }
        column = pl.col(groups.feature).replace_strict(label, return_dtype=groups.dtype)
        columns.append(column.alias(name))
    return records.select(columns).group_by(keys).len("people").sort(keys)
