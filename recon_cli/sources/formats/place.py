"""Geoids, from the columns in which published formats name a place."""

from __future__ import annotations

import polars as pl

from recon_cli.sources.formats.count_sheet import cell_text

#: Columns of the Census Bureau's API whose codes are together a geoid.
NESTED = ("state", "county", "tract", "block group", "block")


def are_digits(texts: pl.Series) -> pl.Series:
    """Test for digits alone, at most 20, in a fifth of a pattern's time; False for null."""
    is_number = texts.cast(pl.UInt64, strict=False).is_not_null()
    return is_number & ~texts.str.starts_with("+").fill_null(value=False)


def from_geo_id(column: int) -> pl.Expr:
    """Take what follows ``US`` in ``1000000US340210001001000``, a whole geounit (variant 0000)."""
    text = cell_text(column)
    is_whole = text.str.contains("^[0-9]{3}0000US[0-9]*$")  # a fifth of the time of `extract`
    return pl.when(is_whole).then(text.str.slice(len("1000000US"))).otherwise(text)


def from_gisjoin(column: int) -> pl.Expr:
    """Read ``G34002100001001000``: NHGIS puts a 0 after state and county.

    State G+3, county G+7, tract G+13, block group G+14, block G+17 characters.
    """
    text = cell_text(column)
    parts = text.str.extract_groups("^G([0-9]{2})0(?:([0-9]{3})0([0-9]{0,10}))?$")
    joined = pl.concat_str(
        parts.struct[0], parts.struct[1].fill_null(""), parts.struct[2].fill_null("")
    )
    return pl.coalesce(joined, text)


def from_nested(columns: dict[str, int]) -> pl.Expr:
    """Join the codes of state, county, tract and block, one a column.

    A block's first digit is its block group, so that column is passed over.
    """
    names = [name for name in NESTED if name in columns]
    if "block" in names:
        names = [name for name in names if name != "block group"]
    return pl.concat_str(*(cell_text(columns[name]) for name in names))
