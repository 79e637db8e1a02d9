"""Putative and confirmed links (section 5 of the 2010 study), and what they add up to.

*Putative*: a record of an attacker file is matched with one of a source on unit and keys; the
attacker gains the source's values. *Confirmed*: the truth has a record with that unit, id, keys
and gained values. Because ids are unique in a unit on both sides, the second match is a look-up.

See *putative* and *confirmed* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recon_cli.attack.linkage.matching import Keys, count_matches, match
from recon_cli.attack.linkage.passes import Pass, places_of
from recon_cli.attack.linkage.truth import GROUPS, TrueColumns


def putative_links(
    source: pl.DataFrame, attackers: pl.DataFrame, passes: Sequence[Pass]
) -> pl.DataFrame:
    """Match an attacker file with a source.

    Args:
        source: The key columns of the passes, and ``order``.
        attackers: Likewise; another order than the source's.
        passes: In the order they are made.

    Returns:
        ``source`` and ``attacker``, row numbers in the two, and ``pass``.
    """
    keys = {each.name: Keys((each.key,), each.number, each.within) for each in passes}
    return match(source, attackers, keys).rename({"left": "source", "right": "attacker"})


def gained_values(
    pairs: pl.DataFrame, gain: pl.Series, attackers: pl.DataFrame, passes: Sequence[Pass]
) -> pl.DataFrame:
    """What the pairs say of the attackers' people, and whether that is so.

    Args:
        pairs: As from `putative_links`.
        gain: Of each pair the ``gain``; sources that differ in nothing else share pairs.
        attackers: ``unit, id, exact, binned, modal, unique`` and the `TrueColumns`.
        passes: All of them.

    Returns:
        One row per pair: ``unit, id, exact, binned, gain, pass, confirmed, modal, unique``, and
        ``true_gain, true_unit`` of the person in the place of the pass, null where a link is not
        to the truth's.
    """
    people = attackers[pairs["attacker"]]
    linked = people.with_columns(gain.alias("gain"), pairs["pass"])
    truths = {"true": pl.lit(value=False), "true_gain": pl.lit(None), "true_unit": pl.lit(None)}
    for place in places_of(passes):
        columns = TrueColumns(place)
        here = pl.col("pass").is_in([each.name for each in passes if each.place == place])
        for name, column in zip(truths, (columns.true, columns.gain, columns.unit), strict=True):
            truths[name] = pl.when(here).then(column).otherwise(truths[name])
    return linked.with_columns(**truths).select(
        *("unit", "id", "exact", "binned", "gain", "pass"),
        (pl.col("true") & pl.col("true_gain").eq_missing(pl.col("gain"))).alias("confirmed"),
        *GROUPS,
        *("true_gain", "true_unit"),
    )


def count_links(links: pl.DataFrame) -> pl.DataFrame:
    """Count links by unit, modal and unique.

    Args:
        links: As from `gained_values`, perhaps with ``chance`` (Float64), the chance that a guess
            is right.

    Returns:
        ``unit, modal, unique, putative, exact, confirmed`` (Int32; ``exact`` of the pass with that
        name) and ``expected``, the sum of the chances (null without them). Modal and unique are
        null for links to people whom the truth does not have there.
    """
    expected = pl.col("chance").sum() if "chance" in links.columns else pl.lit(None)
    return (
        links.group_by("unit", *GROUPS)
        .agg(
            pl.len().cast(pl.Int32).alias("putative"),
            (pl.col("pass").cast(pl.String) == "exact").sum().cast(pl.Int32).alias("exact"),
            pl.col("confirmed").sum().cast(pl.Int32),
            expected.cast(pl.Float64).alias("expected"),
        )
        .sort("unit", *GROUPS)
    )


def count_links_by_pass(
    links: pl.DataFrame, chances: pl.DataFrame, attackers: pl.DataFrame
) -> pl.DataFrame:
    """Count links by unit, pass, modal and unique.

    Args:
        links: As for `count_links`, with ``same_unit`` (Boolean: confirmed, and the source's record
            is in the person's own unit), and what the guessers would get right of the same links,
            ``modal_confirmed`` and ``proportional_confirmed`` (Float64).
        chances: As from `recon_cli.attack.linkage.ties.confirmed_chances`.
        attackers: ``unit, modal, unique``.

    Returns:
        ``unit, pass, modal, unique, putative, confirmed, same_unit`` (Int32), and the sums
        ``expected, modal_confirmed, proportional_confirmed`` and ``expected_confirmed``, over all
        ways to break ties (Float64; null of what is not known).
    """
    chance = pl.col("chance") if "chance" in links.columns else pl.lit(None, pl.Float64)
    guessed = ("modal_confirmed", "proportional_confirmed")
    made = links.select(
        "unit",
        pl.col("pass").cast(pl.String),
        *GROUPS,
        pl.lit(1).alias("putative"),
        pl.col("confirmed", "same_unit").cast(pl.Int32),
        chance.alias("expected"),
        *guessed,
    )
    could = attackers.select("unit", *GROUPS)[chances["attacker"]].with_columns(
        chances["pass"], chances["chance"].alias("expected_confirmed")
    )
    counts = [pl.col(name).sum().cast(pl.Int32) for name in ("putative", "confirmed", "same_unit")]
    sums = [
        pl.when(pl.col(name).count() > 0).then(pl.col(name).sum())
        for name in ("expected", *guessed, "expected_confirmed")
    ]
    return (
        pl.concat([made, could], how="diagonal")
        .group_by("unit", "pass", *GROUPS)
        .agg(*counts, *sums)
        .sort("unit", "pass", *GROUPS)
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
