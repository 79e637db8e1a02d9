"""Matching records one to one: Algorithm 1 of the 2010 study, as sorts and joins.

The study walks through two lists of a block and strikes out every pair it finds, first on the
exact keys, then what is left on the binned ones. With a random order within each key, striking
out pairs is the same as joining the first, second, third … record of a key on one side with the
first, second, third … on the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

#: Pass → the columns that both records of a pair must share.
Passes = Mapping[str, Sequence[str]]


def match(
    left: pl.DataFrame, right: pl.DataFrame, passes: Passes, *, order: str = "order"
) -> pl.DataFrame:
    """Pair the records of two files, without replacement (Algorithms 1–4).

    A record that a pass has paired is out of the later passes. A record with a null in a pass's
    columns is not paired in it. The number of pairs depends on the columns alone; which of
    several equal candidates are paired depends on ``order`` alone, never on the order of rows,
    as long as ``order`` has no ties between records that differ.

    Args:
        left: Records with the columns of every pass and ``order``.
        right: Likewise.
        passes: In the order they are made.
        order: Column that ranks equal candidates, lowest first.

    Returns:
        One row per pair: ``left`` and ``right``, row numbers (UInt32) in the two files, and
        ``pass``, its name (Enum, in the order of ``passes``).
    """
    kind = pl.Enum(list(passes))
    pairs = [pl.DataFrame(schema={"left": pl.UInt32, "right": pl.UInt32, "pass": kind})]
    columns = list(dict.fromkeys(name for names in passes.values() for name in names))
    rest_left = left.select(*columns, order).with_row_index("left")
    rest_right = right.select(*columns, order).with_row_index("right")
    for number, (name, keys) in enumerate(passes.items(), start=1):
        matched = _ranked(rest_left, "left", keys, order).join(
            _ranked(rest_right, "right", keys, order), on=[*keys, "_rank"]
        )
        pairs.append(matched.select("left", "right", pl.lit(name, dtype=kind).alias("pass")))
        if number < len(passes):
            rest_left = rest_left.join(matched, on="left", how="anti")
            rest_right = rest_right.join(matched, on="right", how="anti")
    return pl.concat(pairs)


def count_matches(left: pl.DataFrame, right: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """How many pairs one pass makes, which takes no pairing: the smaller of the two counts.

    When the keys of a first pass determine those of a second, the two passes together make as
    many pairs as the second makes alone, so two calls give the counts of `match`.

    Args:
        left: Records with the columns ``keys``.
        right: Likewise.
        keys: The first is what the result is counted by, the geounit.

    Returns:
        The first of ``keys`` and ``pairs`` (Int64), where there are any.
    """
    both = _counted(left, keys).join(_counted(right, keys), on=list(keys), suffix="_right")
    return (
        both.group_by(keys[0])
        .agg(pl.min_horizontal("len", "len_right").sum().cast(pl.Int64).alias("pairs"))
        .sort(keys[0])
    )


def _counted(records: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    return records.select(keys).drop_nulls().group_by(keys).len()


def _ranked(records: pl.DataFrame, row: str, keys: Sequence[str], order: str) -> pl.DataFrame:
    """The records that have the keys, each with its place among those with the same ones."""
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    is_first = pl.any_horizontal(pl.col(key).ne_missing(pl.col(key).shift()) for key in keys)
    first = pl.when(is_first | (place == 0)).then(place).forward_fill()
    return (
        records.drop_nulls(keys)
        .sort(*keys, order)
        .select(row, *keys, (place - first).alias("_rank"))
    )
