"""Partners for households that are to be swapped, nearest first.

Who meets whom is settled by one number of chance for each household: of those that may meet, the
two whose numbers are closest. So a household more or less changes the partners of few others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
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

    Each row is used at most once. With ``apart``, partners differ in that column; a group is left
    to the next reach when all that remain in it are equal there.

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
        pairs = _pair_within(left, [*key, reach], apart).with_columns(reach=pl.lit(reach))
        made.append(pairs.select(PAIRS.names()).cast(PAIRS))
        used = pl.concat([pairs["first"], pairs["second"]])
        left = left.filter(~pl.col("row").is_in(used.implode()))
    return pl.concat(made)


def _pair_within(candidates: pl.DataFrame, group: list[str], apart: str | None) -> pl.DataFrame:
    """Pairs within groups, as ``first`` and ``second``: the closest, then those left, and so on."""
    ordered = candidates.sort([*group, "chance", "row"])
    row, chance = ordered["row"].to_numpy(), ordered["chance"].to_numpy()
    groups = ordered.select(pl.struct(group).rle_id()).to_series().to_numpy()
    other = row if apart is None else ordered[apart].rank("dense").to_numpy()
    first, second = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    left = np.arange(len(ordered))
    while len(left) > 1:
        one, two = left[:-1], left[1:]
        may_meet = (groups[one] == groups[two]) & (other[one] != other[two])
        if not may_meet.any():
            break
        distance = np.where(may_meet, chance[two] - chance[one], np.inf)
        closer_before = np.concatenate([[np.inf], distance[:-1]]) <= distance
        closer_after = np.concatenate([distance[1:], [np.inf]]) < distance
        meet = np.flatnonzero(may_meet & ~closer_before & ~closer_after)
        first.append(row[left[meet]])
        second.append(row[left[meet + 1]])
        left = np.delete(left, np.concatenate([meet, meet + 1]))
    frame = pl.DataFrame({"first": np.concatenate(first), "second": np.concatenate(second)})
    return frame.sort("first")
