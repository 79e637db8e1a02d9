"""Partners for households that are to be swapped, nearest first."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

#: What a search for pairs returns: row numbers of the two, and where they met.
PAIRS = pl.Schema({"first": pl.Int64, "second": pl.Int64, "reach": pl.String})


def match_pairs(
    candidates: pl.DataFrame,
    key: Sequence[str],
    reaches: Sequence[str],
    *,
    apart: str | None = None,
) -> pl.DataFrame:
    """Pair rows with equal ``key``: within the first of ``reaches``, what is left in the next.

    Each row is used at most once. With ``apart``, partners differ in that column wherever the
    group allows it; pairs that do not are left to the next reach.

    Args:
        candidates: ``row`` (number), ``chance`` (uniform, decides who meets whom), and the columns
            that the other arguments name. Reaches may be null only in none.
        key: Columns in which partners agree.
        reaches: Columns, finest first; each next one contains the last.
        apart: A column in which partners must differ.

    Returns:
        Columns of `PAIRS`; ``reach`` is the column within which the two met.
    """
    made = [PAIRS.to_frame()]
    left = candidates
    for reach in reaches:
        group = [*key, reach]
        pairs = _pair_within(left, group, apart).with_columns(reach=pl.lit(reach))
        made.append(pairs.select(PAIRS.names()).cast(PAIRS))
        used = pl.concat([pairs["first"], pairs["second"]])
        left = left.filter(~pl.col("row").is_in(used.implode()))
    return pl.concat(made)


def _pair_within(candidates: pl.DataFrame, group: list[str], apart: str | None) -> pl.DataFrame:
    """Pairs within groups, as ``first`` and ``second``."""
    order = [*group, "chance"] if apart is None else [*group, apart, "chance"]
    ranked = candidates.sort(order).with_columns(
        at=pl.int_range(pl.len()).over(group), count=pl.len().over(group)
    )
    half = pl.col("count") // 2
    if apart is None:  # neighbours in random order
        ranked = ranked.with_columns(side=pl.col("at") % 2, pair=pl.col("at") // 2)
    else:  # the first half of the places with the second half
        ranked = ranked.with_columns(side=pl.col("at") // half, pair=pl.col("at") % half)
    ranked = ranked.filter(pl.col("at") < 2 * half)
    one, two = (ranked.filter(pl.col("side") == side) for side in (0, 1))
    kept = [*group, "pair", "row"] + ([] if apart is None else [apart])
    joined = one.select(kept).join(two.select(kept), on=[*group, "pair"], suffix="_other")
    if apart is not None:
        joined = joined.filter(pl.col(apart) != pl.col(f"{apart}_other"))
    return joined.select(first="row", second="row_other").sort("first")
