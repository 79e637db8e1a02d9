"""Putative and confirmed links (section 5 of the 2010 study), and what they add up to.

*Putative*: a record of an attacker file is matched with one of a source on unit and keys; the
attacker gains the source's values. *Confirmed*: the truth has a record with that unit, id, keys
and gained values. Because ids are unique in a unit on both sides, the second match is a look-up.

See *putative* and *confirmed* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recon_cli.attack.linkage.matching import count_matches, match

PASSES = {"exact": ["exact"], "binned": ["binned"]}

#: How tallies are broken down: whether the person has the unit's mode, and is unique there.
GROUPS = ("modal", "unique")


def putative_links(source: pl.DataFrame, attackers: pl.DataFrame) -> pl.DataFrame:
    """Match an attacker file with a source.

    Args:
        source: ``exact, binned, order``.
        attackers: Likewise; another order than the source's.

    Returns:
        ``source`` and ``attacker``, row numbers in the two, and ``pass``.
    """
    return match(source, attackers, PASSES).rename({"left": "source", "right": "attacker"})


def gained_values(pairs: pl.DataFrame, gains: pl.Series, attackers: pl.DataFrame) -> pl.DataFrame:
    """What the pairs say of the attackers' people, and whether that is so.

    Args:
        pairs: As from `putative_links`.
        gains: The source's ``gain`` by row; sources that differ in nothing else share pairs.
        attackers: ``unit, id, exact, binned, true, true_gain, modal, unique``.

    Returns:
        One row per pair: ``unit, id, exact, binned, gain, pass, confirmed, modal, unique``.
    """
    people = attackers.select("unit", "id", "exact", "binned", "true", "true_gain", *GROUPS)[
        pairs["attacker"]
    ]
    return (
        people.with_columns(gains.gather(pairs["source"]).alias("gain"), pairs["pass"])
        .with_columns(
            (pl.col("true") & pl.col("true_gain").eq_missing(pl.col("gain"))).alias("confirmed")
        )
        .drop("true", "true_gain")
    )


def count_links(links: pl.DataFrame) -> pl.DataFrame:
    """Count links by unit, modal and unique.

    Args:
        links: As from `gained_values`, perhaps with ``chance`` (Float64), the chance that a guess
            is right.

    Returns:
        ``unit, modal, unique, putative, exact, confirmed`` (Int32) and ``expected``, the sum of
        the chances (null without them). Modal and unique are null for links to people whom the
        truth does not have there.
    """
    expected = pl.col("chance").sum() if "chance" in links.columns else pl.lit(None)
    return (
        links.group_by("unit", *GROUPS)
        .agg(
            pl.len().cast(pl.Int32).alias("putative"),
            (pl.col("pass") == "exact").sum().cast(pl.Int32).alias("exact"),
            pl.col("confirmed").sum().cast(pl.Int32),
            expected.cast(pl.Float64).alias("expected"),
        )
        .sort("unit", *GROUPS)
    )


def count_agreement(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    """How many records of two files agree on unit, keys and gains (Algorithm 1's counts).

    Args:
        left: ``unit, exact, binned, gain``.
        right: Likewise.

    Returns:
        ``unit``, ``exact``: agreeing in the exact pass, ``agree``: in that or the binned pass.
    """
    counts = [
        count_matches(left, right, ["unit", key, "gain"]).rename({"pairs": name})
        for key, name in (("exact", "exact"), ("binned", "agree"))
    ]
    return (
        counts[1]
        .join(counts[0], on="unit", how="left")
        .select("unit", pl.col("exact").fill_null(0).cast(pl.Int32), pl.col("agree").cast(pl.Int32))
    )


def count_records(records: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """``by`` and ``records`` (Int32), sorted."""
    return records.group_by(by).agg(pl.len().cast(pl.Int32).alias("records")).sort(by)
