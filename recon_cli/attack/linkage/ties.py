"""Links counted over all ways to break ties.

Which of several equal records are paired is chance; how many records with one value of a key are
paired with how many with another is not. So the chance that an attacker's record gets a link that
is right follows from counts, Eq. (ties) of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recon_cli.attack.linkage.passes import Pass
from recon_cli.attack.linkage.truth import TrueColumns

#: Of sources whose gains do not depend on ties.
NO_CHANCES = pl.DataFrame(schema={"pass": pl.String, "attacker": pl.UInt32, "chance": pl.Float64})


def confirmed_chances(
    pairs: pl.DataFrame, source: pl.DataFrame, attackers: pl.DataFrame, passes: Sequence[Pass]
) -> pl.DataFrame:
    """The chance of every attacker record that a pass confirms a link to it: Eq. (ties).

    Over the ties of that pass; who is left for it is as the earlier passes left it.

    Args:
        pairs: As from `recon_cli.attack.linkage.links.putative_links`.
        source: Key columns and ``gain``.
        attackers: Key columns, and `TrueColumns`.
        passes: Those that made the pairs.

    Returns:
        ``pass``, ``attacker`` (row number) and ``chance`` (Float64, above 0).
    """
    frames = [NO_CHANCES]
    for number, each in enumerate(passes):
        before = pairs.filter(pl.col("pass").to_physical() < number)
        made = pairs.filter(pl.col("pass").to_physical() == number)
        true_gain = pl.col(TrueColumns(each.place).gain).alias("gain")
        ours = _classed(source.select(*each.key_columns, "gain"), each, "source")
        theirs = _classed(attackers.select(*each.key_columns, true_gain), each, "attacker")
        ends = [
            made.join(side, on=row, how="left", maintain_order="left")
            for row, side in (("source", ours), ("attacker", theirs))
        ]
        paired = pl.DataFrame(
            [ends[0]["key"], ends[0]["class"], ends[1]["class"].alias("class_right")]
        )
        left = ours.join(before, on="source", how="anti")
        right = theirs.join(before, on="attacker", how="anti")
        chances = (
            right.rename({"class": "class_right"})
            .with_columns(of_right=pl.len().over("key", "class_right"))
            .drop_nulls("gain")
            .join(
                paired.group_by("key", "class", "class_right").agg(pairs=pl.len()),
                on=["key", "class_right"],
            )
            .join(left.group_by("key", "class").agg(of_left=pl.len()), on=["key", "class"])
            .join(left.group_by("key", "class", "gain").len(), on=["key", "class", "gain"])
            .group_by("attacker")
            .agg(
                chance=(
                    pl.col("pairs") * pl.col("len") / (pl.col("of_left") * pl.col("of_right"))
                ).sum()
            )
        )
        frames.append(
            chances.sort("attacker").select(pl.lit(each.name).alias("pass"), "attacker", "chance")
        )
    return pl.concat(frames)


def _classed(records: pl.DataFrame, each: Pass, row: str) -> pl.DataFrame:
    """``row``, ``key``, ``class`` (what the pass tells apart within a key) and ``gain``."""
    told_apart = pl.lit(0, pl.Int64) if each.number is None else pl.col(each.number)
    return (
        records.with_row_index(row)
        .drop_nulls(list(each.key_columns))
        .select(row, pl.col(each.key).alias("key"), told_apart.alias("class"), "gain")
    )
