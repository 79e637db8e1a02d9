"""Persons and housing units in the headers and codes of the 2010 demonstration products."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from recon_cli.schema import Release, load_release

#: Of each major type of group quarters one code.
QUARTERS = {
    "none": "000",
    "correctional": "104",
    "juvenile": "202",
    "nursing": "301",
    "other_institution": "405",
    "college": "501",
    "military": "601",
    "other": "997",
}


def persons_as_published(records: pl.DataFrame) -> pl.DataFrame:
    """Write records of `sf1_2010` or `dhc_2020` as a persons' file."""
    code = _codes(load_release("sf1_2010"), "race", 1)
    named = "group_quarters" in records.columns
    quarters = pl.col("group_quarters") if named else pl.lit("none")
    return records.select(
        *_place("3"),
        GQTYPE=quarters.replace_strict(QUARTERS, return_dtype=pl.String),
        QSEX=pl.col("sex").replace_strict({"male": "1", "female": "2"}),
        QAGE=pl.col("age"),
        CENHISP=pl.when("hispanic").then(pl.lit("2")).otherwise(pl.lit("1")),
        CENRACE=pl.col("race").cast(pl.String).replace_strict(code, return_dtype=pl.String),
    )


def units_as_published(records: pl.DataFrame) -> pl.DataFrame:
    """Write records of `dhc_2020_households` as a units' file, with a group quarters at its end."""
    release = load_release("dhc_2020_households")
    numbered = {
        "TEN": "tenure",
        "VACS": "vacancy",
        "HHSIZE": "household_size",
        "HHT": "household_type",
        "HHT2": "detailed_type",
        "THHLDRAGE": "householder_age",
        "THHSPAN": "householder_origin",
        "THHRACE": "householder_race",
    }
    oldest = release.features[release.feature_index["oldest"]].values
    flags = {"TP60": oldest[1:], "TP65": oldest[2:], "TP75": oldest[3:]}
    units = records.select(
        *_place("2"),
        GQTYPE=pl.lit("000"),
        **{
            header: pl.col(name)
            .cast(pl.String)
            .replace_strict(_codes(release, name, 0), return_dtype=pl.String)
            for header, name in numbered.items()
        },
        TP18=(pl.col("minors") != "nobody_under_18").cast(pl.Int8).cast(pl.String),
        **{
            header: pl.col("oldest").is_in(values).cast(pl.Int8).cast(pl.String)
            for header, values in flags.items()
        },
        PAC=pl.when(pl.col("vacancy") != "occupied")
        .then(pl.lit("0"))
        .when(pl.col("children") == "children")
        .then(pl.lit("2"))
        .otherwise(pl.lit("4")),
        PAOC=pl.lit("4"),
    )
    quarters = units.tail(1).with_columns(RTYPE=pl.lit("4"), GQTYPE=pl.lit("501"))
    return pl.concat([units, quarters])


def _place(record_type: str) -> Iterator[pl.Expr]:
    place = pl.col("geoid_block")
    yield pl.lit("20230403").alias("VINTAGE")
    yield place.str.slice(0, 2).alias("TABBLKST")
    yield place.str.slice(2, 3).alias("TABBLKCOU")
    yield place.str.slice(5, 6).alias("TABTRACTCE")
    yield place.str.slice(11, 1).alias("TABBLKGRPCE")
    yield place.str.slice(11, 4).alias("TABBLK")
    yield pl.lit(record_type).alias("RTYPE")


def _codes(release: Release, feature: str, first: int) -> dict[str, str]:
    values = release.features[release.feature_index[feature]].values
    width = len(str(first + len(values) - 1))
    return {str(value): f"{number:0{width}}" for number, value in enumerate(values, first)}
