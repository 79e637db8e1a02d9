"""Flags of records for rules on microdata, reconstructed or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from recon_cli.capabilities.link.key_encoding import column_codes
from recon_cli.errors import SourceError
from recon_cli.schema import Release

#: The people that a place, and a value in the country, must have: the bureau's own thresholds.
PLACE, CATEGORY = 100_000, 10_000


def tag_records(
    release: Release,
    records: pl.DataFrame,
    *,
    unique: Mapping[str, Sequence[str]],
    geography: int = PLACE,
    zero: pl.Series | None = None,
    certain: pl.DataFrame | None = None,
    totals: Sequence[pl.DataFrame] = (),
    category: int | Sequence[int] = CATEGORY,
) -> pl.DataFrame:
    """Add a flag to records for each question of a rule on microdata.

    Args:
        records: The unit's geoid, and the features or columns that stand for them.
        unique: Name → features and recodes: whether a record is alone with its values in its unit.
        geography: Least number of people of a place.
        zero: Geoids of units with a proof of zero solution variability.
        certain: Records in every solution: the unit's geoid and only the features or recodes that
            are proven. If more records have the same values, the first are flagged.
        totals: For each category its features or recodes and ``count``, the people of the country
            with these values.
        category: Least number of people of the country with a value: one number, or one for each.

    Returns:
        The records, with ``unique_NAME``, ``below_geography`` and, where it is known,
        ``zero_variability``, ``certain`` and ``below_category`` (Boolean): of any of the
        categories. Flags that the records came with are replaced.

    Raises:
        SourceError: A column is missing, or has a value that the schema does not know, or totals
            do not have.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> tagged = recon.tag_records(release, patients, unique={"who": ["gender", "insurance"]})
    >>> tagged["unique_who"].to_list()
    [True, True, False, False]
    """
    place = pl.col(release.geoid_column)
    flags = [(pl.len().over(place) < geography).alias("below_geography")]
    if zero is not None:
        flags.append(place.is_in(zero.implode()).alias("zero_variability"))
    if certain is not None:
        flags.append(pl.lit(_certain(release, records, certain)))
    if totals:
        least = [category] * len(totals) if isinstance(category, int) else category
        few = [
            are_rare(release, records, of, people) for of, people in zip(totals, least, strict=True)
        ]
        flags.append(pl.any_horizontal(*(pl.lit(each) for each in few)).alias("below_category"))
    keys = _codes(
        release, records, dict.fromkeys(name for columns in unique.values() for name in columns)
    )
    flags += [
        (pl.len().over(place, *(f"_{column}" for column in columns)) == 1).alias(f"unique_{name}")
        for name, columns in unique.items()
    ]
    return records.with_columns(keys).with_columns(flags).drop(each.name for each in keys)


def are_rare(
    release: Release, records: pl.DataFrame, totals: pl.DataFrame, at_least: int
) -> pl.Series:
    """Test which records have values that too few people in the country have.

    Args:
        totals: Features or recodes, and ``count``; rows with the same values add up.
        at_least: Number of people that is enough.

    Raises:
        SourceError: Values of a record have no row, or a column is not as the schema says.
    """
    columns = [name for name in totals.columns if name != "count"]
    key = [f"_{name}" for name in columns]
    codes = pl.DataFrame(_codes(release, records, columns))
    people = pl.DataFrame(_codes(release, totals, columns)).with_columns(totals["count"])
    sums = people.group_by(key).agg(pl.col("count").sum())
    found = codes.join(sums, on=key, how="left", maintain_order="left", nulls_equal=True)["count"]
    if found.null_count():
        first = codes.row(found.is_null().arg_max() or 0, named=True)
        labels = {name: (*release.column_groups(name).labels, None) for name in columns}
        value = ", ".join(
            f"{name} {labels[name][-1 if first[f'_{name}'] is None else first[f'_{name}']]}"
            for name in columns
        )
        raise SourceError(f"totals: no row for {value}; write one, with 0 if nobody has it")
    return found < at_least


def _certain(release: Release, records: pl.DataFrame, certain: pl.DataFrame) -> pl.Series:
    """Flag, for each place and values, as many records as are proven, the first ones."""
    place = release.geoid_column
    columns = [name for name in certain.columns if name != place]
    key = [place, *(f"_{name}" for name in columns)]
    proven = pl.DataFrame([certain[place], *_codes(release, certain, columns)])
    counted = proven.group_by(key).agg(proven=pl.len())
    mine = pl.DataFrame([records[place], *_codes(release, records, columns)])
    return (
        mine.with_columns(number=pl.int_range(pl.len()).over(key))
        .join(counted, on=key, how="left", maintain_order="left")
        .select(certain=(pl.col("number") < pl.col("proven")).fill_null(value=False))["certain"]
    )


def _codes(release: Release, records: pl.DataFrame, columns: Iterable[str]) -> list[pl.Series]:
    """Return ``_NAME`` for each column: the number of each record's value."""
    return [column_codes(release, records, name, "records").alias(f"_{name}") for name in columns]
