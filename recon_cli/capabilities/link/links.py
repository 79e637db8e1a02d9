"""Putative and confirmed links (section 5 of the 2010 study), and their totals.

*Putative*: a record of an attacker file is matched with one of a source on unit and keys; the
attacker gains the source's values. *Confirmed*: the truth has a record with that unit, id, keys and
gained values. Because ids are unique in a unit on both sides, the second match is a look-up.

Which of several equal records are paired is random, but the number of pairs by key and class is
not. So the probability that an attacker's record gets a right link follows from counts: Eq. (ties)
of docs/method.md.

See *putative* and *confirmed* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from recon_cli.capabilities.link.key_encoding import KeyEncoder
from recon_cli.capabilities.link.matching import Keys, count_matches, match
from recon_cli.capabilities.link.passes import Pass, looking_no_farther, places_of
from recon_cli.schema import Level

#: Columns that mark people with the unit's mode, and people who are unique in the unit.
GROUPS = ("modal", "unique")
#: Chances of sources whose gains do not depend on ties: no rows.
NO_CHANCES = pl.DataFrame(schema={"pass": pl.String, "attacker": pl.UInt32, "chance": pl.Float64})


@dataclass(frozen=True)
class TrueColumns:
    """Names of the columns with the truth about attackers' records, for places of one level."""

    place: Level

    @property
    def true(self) -> str:
        """Return the column of whether the truth has the record's person there."""
        return f"true {self.place.name}"

    @property
    def gain(self) -> str:
        """Return the column of the person's gained value; null if unknown."""
        return f"true_gain {self.place.name}"

    @property
    def unit(self) -> str:
        """Return the column of the person's unit; null if unknown."""
        return f"true_unit {self.place.name}"


def attach_truth(attackers: pl.DataFrame, truth: pl.DataFrame, encoder: KeyEncoder) -> pl.DataFrame:
    """Add the truth about every attacker record, found by place and id.

    A record is *true* in a place if the truth has somebody there with the same id whom a pass that
    looks no farther would pair with the record: in units, with the study's passes, somebody with
    the same binned keys. Only a link to a true record can be confirmed. Of several people with one
    id in a larger place the one in the record's own unit counts, else the first.

    Whether a record's person is modal and unique is known by unit and id alone, as in the study
    (Tables 10, 13, 14, 16 and 17), whatever sex and age the attacker assumes.

    Args:
        attackers: ``unit, id`` and the keys of the passes.
        truth: ``unit, id, order, gain, modal, unique`` and those keys, no id twice in a unit.

    Returns:
        The attackers, with ``modal`` and ``unique``, null where the truth has no such person in the
        unit, and the `TrueColumns` of each level that a pass looks in.
    """
    known = truth.select("unit", "id", *GROUPS)
    joined = attackers.join(known, on=["unit", "id"], how="left", maintain_order="left")
    for place in places_of(encoder.passes):
        joined = joined.hstack(_true_columns(place, attackers, truth, encoder))
    return joined


def _true_columns(
    place: Level, attackers: pl.DataFrame, truth: pl.DataFrame, encoder: KeyEncoder
) -> pl.DataFrame:
    passes, number = looking_no_farther(encoder.passes, place), encoder.places(place)
    keys = list(dict.fromkeys(column for each in passes for column in each.key_columns))
    people = truth.select(
        number.gather(truth["unit"]).alias("_place"),
        "id",
        *(pl.col(name).alias(f"_{name}") for name in ("unit", "order", "gain", *keys)),
    )
    ours = attackers.select(number.gather(attackers["unit"]).alias("_place"), "id", "unit", *keys)
    found = ours.with_row_index("_row").join(
        people, on=["_place", "id"], how="left", maintain_order="left"
    )
    if found.height > attackers.height:
        elsewhere = pl.col("_unit") != pl.col("unit")
        found = found.sort("_row", elsewhere, "_unit", "_order").unique(
            "_row", keep="first", maintain_order=True
        )
    true = pl.any_horizontal(_would_pair(each).fill_null(value=False) for each in passes)
    columns = TrueColumns(place)
    return found.select(
        true.alias(columns.true),
        pl.when(true).then("_gain").alias(columns.gain),
        pl.when(true).then("_unit").alias(columns.unit),
    )


def _would_pair(each: Pass) -> pl.Expr:
    """Return whether a record and the person with its id agree as the pass requires."""
    agree = pl.col(each.key) == pl.col(f"_{each.key}")
    if each.number is None:
        return agree
    gap = (pl.col(each.number) - pl.col(f"_{each.number}")).abs()
    return agree & (gap <= each.within)


def confirmed_chances(
    pairs: pl.DataFrame, source: pl.DataFrame, attackers: pl.DataFrame, passes: Sequence[Pass]
) -> pl.DataFrame:
    """Compute the probability that a pass confirms a link of each attacker record: Eq. (ties).

    The probability is over the ties of that pass, whose candidates are the records left by earlier
    passes.

    Args:
        pairs: As from `recon_cli.capabilities.link.links.putative_links`.
        source: Key columns and ``gain``.
        attackers: Key columns, and `TrueColumns`.
        passes: The passes that made the pairs.

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
    """Return ``row``, ``key``, ``class`` (distinguished by the pass within a key) and ``gain``."""
    told_apart = pl.lit(0, pl.Int64) if each.number is None else pl.col(each.number)
    return (
        records.with_row_index(row)
        .drop_nulls(list(each.key_columns))
        .select(row, pl.col(each.key).alias("key"), told_apart.alias("class"), "gain")
    )


def putative_links(
    source: pl.DataFrame, attackers: pl.DataFrame, passes: Sequence[Pass]
) -> pl.DataFrame:
    """Match an attacker file with a source.

    Args:
        source: The key columns of the passes, and ``order``.
        attackers: Records of the attacker; in another order than the source's.

    Returns:
        ``source`` and ``attacker``, row numbers in the two, and ``pass``.
    """
    keys = {each.name: Keys((each.key,), each.number, each.within) for each in passes}
    return match(source, attackers, keys).rename({"left": "source", "right": "attacker"})


def gained_values(
    pairs: pl.DataFrame, gain: pl.Series, attackers: pl.DataFrame, passes: Sequence[Pass]
) -> pl.DataFrame:
    """Return the gained values of the attackers' people, and whether they are true.

    Args:
        pairs: As from `putative_links`.
        gain: The ``gain`` of each pair; sources that differ in nothing else share pairs.
        attackers: ``unit, id, exact, binned, modal, unique`` and the `TrueColumns`.

    Returns:
        One row per pair: ``unit, id, exact, binned, gain, pass, confirmed, modal, unique``, and
        ``true_gain, true_unit`` of the person in the place of the pass, null where the truth has
        none.
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
        chances: As from `recon_cli.capabilities.link.links.confirmed_chances`.
        attackers: ``unit, modal, unique``.

    Returns:
        ``unit, pass, modal, unique, putative, confirmed, same_unit`` (Int32), and the sums
        ``expected, modal_confirmed, proportional_confirmed`` and ``expected_confirmed``, over all
        ways to break ties (Float64; null if unknown).
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


def count_agreement(
    left: pl.DataFrame, right: pl.DataFrame, near: Pass | None = None
) -> pl.DataFrame:
    """Count records of two files that agree on unit, keys and gains (counts of Algorithm 1).

    Args:
        left: ``unit, exact, binned, gain``, and the columns of ``near``.
        right: Records of the other file.
        near: A pass with a number that may be off by one, see `near_pass`.

    Returns:
        ``unit``, and records that agree: ``exact``, in the exact pass; ``near``, the most that can
        in the pass ``near`` (null without it); ``agree``, in the exact or the binned pass.
    """
    counts = [
        count_matches(left, right, ["unit", key, "gain"]).rename({"pairs": name})
        for key, name in (("exact", "exact"), ("binned", "agree"))
    ]
    close = _count_near(left, right, near)
    none = pl.lit(None if near is None else 0, dtype=pl.Int32)
    return (
        close.join(counts[1], on="unit", how="full", coalesce=True)
        .join(counts[0], on="unit", how="left")
        .select(
            "unit",
            pl.col("exact").fill_null(0).cast(pl.Int32),
            pl.col("near").fill_null(none).cast(pl.Int32),
            pl.col("agree").fill_null(0).cast(pl.Int32),
        )
        .sort("unit")
    )


def _count_near(left: pl.DataFrame, right: pl.DataFrame, near: Pass | None) -> pl.DataFrame:
    """Count pairs by unit, ``near``, whose number differs by no more than the pass allows."""
    if near is None or near.number is None:
        return pl.DataFrame(schema={"unit": pl.Int32, "near": pl.Int64})
    keys = Keys((near.key, "gain"), near.number, near.within)
    any_order = pl.lit(0).alias("order")  # how many pairs there are depends on the keys alone
    pairs = match(left.with_columns(any_order), right.with_columns(any_order), {near.name: keys})
    unit = left["unit"].gather(pairs["left"])
    return unit.to_frame().group_by("unit").agg(near=pl.len().cast(pl.Int64))
