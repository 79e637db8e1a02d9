"""One-to-one matching of records: Algorithm 1 of the 2010 study, as sorts and joins.

The study walks through two lists of a block and strikes out every pair it finds, first on the exact
keys, then the rest on the binned ones. With a random order within each key, striking out pairs is
the same as joining the first, second, third … record of a key on one side with the first, second,
third … on the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl


@dataclass(frozen=True)
class Keys:
    """The columns on which both records of a pair agree.

    Attributes:
        near: A column of integers in which they may differ.
    """

    same: Sequence[str]
    near: str | None = None
    within: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.same) if self.near is None else (*self.same, self.near)


#: Pass → what both records of a pair must have.
Passes = Mapping[str, Keys]


def match(
    left: pl.DataFrame, right: pl.DataFrame, passes: Passes, *, order: str = "order"
) -> pl.DataFrame:
    """Pair the records of two files, without replacement (Algorithms 1–4).

    A record paired in one pass is excluded from later ones. A record with a null in a pass's
    columns is not paired in it. The number of pairs depends on the columns alone; which of several
    equal candidates are paired depends on ``order`` alone, never on the order of rows, as long as
    ``order`` has no ties between records that differ.

    If values may differ, each pass makes as many pairs as possible: in ascending order the lowest
    record is paired with the lowest candidate, and is skipped if there is none.

    Args:
        left: Records with the columns of every pass and ``order``.
        right: Records of the other file.
        passes: In the order they are made.
        order: Column that ranks equal candidates, lowest first.

    Returns:
        One row per pair: ``left`` and ``right``, row numbers (UInt32) in the two files, and
        ``pass``, its name (Enum, in the order of ``passes``).
    """
    kind = pl.Enum(list(passes))
    pairs = [pl.DataFrame(schema={"left": pl.UInt32, "right": pl.UInt32, "pass": kind})]
    columns = list(dict.fromkeys(name for keys in passes.values() for name in keys.columns))
    rest_left = left.select(*columns, order).with_row_index("left")
    rest_right = right.select(*columns, order).with_row_index("right")
    for number, (name, keys) in enumerate(passes.items(), start=1):
        matched = _pairs(rest_left, rest_right, keys, order)
        pairs.append(matched.select("left", "right", pl.lit(name, dtype=kind).alias("pass")))
        if number < len(passes):
            rest_left = rest_left.join(matched, on="left", how="anti")
            rest_right = rest_right.join(matched, on="right", how="anti")
    return pl.concat(pairs)


def count_matches(left: pl.DataFrame, right: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Count the pairs of one pass without pairing: the smaller of the two counts.

    If the keys of a first pass determine those of a second, the two passes together make as many
    pairs as the second makes alone, so two calls give the counts of `match`.

    Args:
        left: Records with the columns ``keys``.
        right: Records of the other file.
        keys: Key columns; the first, the geounit, groups the result.

    Returns:
        The first of ``keys`` and ``pairs`` (Int64), where there are any.
    """
    both = _counted(left, keys).join(_counted(right, keys), on=list(keys), suffix="_right")
    return (
        both.group_by(keys[0])
        .agg(pl.min_horizontal("len", "len_right").sum().cast(pl.Int64).alias("pairs"))
        .sort(keys[0])
    )


def _pairs(left: pl.DataFrame, right: pl.DataFrame, keys: Keys, order: str) -> pl.DataFrame:
    """Return the pairs of one pass: ``left``, ``right``."""
    if keys.near is not None:
        return _near_pairs(left, right, keys, order)
    return _ranked(left, "left", keys.same, order).join(
        _ranked(right, "right", keys.same, order), on=[*keys.same, "_rank"]
    )


def _near_pairs(left: pl.DataFrame, right: pl.DataFrame, keys: Keys, order: str) -> pl.DataFrame:
    """Return the most pairs possible, with two pointers in each group of equal records.

    All groups advance one step at a time: as many steps as the largest group has records.
    """
    columns, near = keys.columns, keys.columns[-1]
    ours, theirs = (side.drop_nulls(columns).sort(*columns, order) for side in (left, right))
    groups = _extents(ours, keys.same).join(
        _extents(theirs, keys.same), on=list(keys.same), suffix="_right", maintain_order="left"
    )
    i, i_end, j, j_end = (
        groups[name].to_numpy() for name in ("start", "end", "start_right", "end_right")
    )
    a, b = (side[near].cast(pl.Int64).to_numpy() for side in (ours, theirs))
    found_left, found_right = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    while len(i):
        gap = a[i] - b[j]
        paired = np.abs(gap) <= keys.within
        found_left.append(i[paired])
        found_right.append(j[paired])
        i, j = i + (paired | (gap < 0)), j + (paired | (gap > 0))
        live = (i < i_end) & (j < j_end)
        i, i_end, j, j_end = i[live], i_end[live], j[live], j_end[live]
    rows = np.concatenate(found_left), np.concatenate(found_right)
    return pl.DataFrame([ours["left"].gather(rows[0]), theirs["right"].gather(rows[1])])


def _extents(ordered: pl.DataFrame, same: Sequence[str]) -> pl.DataFrame:
    """Return where the records of each group start and end: ``same``, ``start``, ``end``."""
    return (
        ordered.with_columns(_row=pl.int_range(pl.len(), dtype=pl.Int64))
        .group_by(list(same), maintain_order=True)
        .agg(start=pl.col("_row").min(), end=pl.col("_row").max() + 1)
    )


def _counted(records: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    return records.select(keys).drop_nulls().group_by(keys).len()


def _ranked(records: pl.DataFrame, row: str, keys: Sequence[str], order: str) -> pl.DataFrame:
    """Return the records that have the keys, each with its rank among those with the same keys."""
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    is_first = pl.any_horizontal(pl.col(key).ne_missing(pl.col(key).shift()) for key in keys)
    first = pl.when(is_first | (place == 0)).then(place).forward_fill()
    return (
        records.drop_nulls(keys)
        .sort(*keys, order)
        .select(row, *keys, (place - first).alias("_rank"))
    )
