"""What the truth says of attackers' records.

See *confirmed* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from recon_cli.attack.linkage.key_encoding import KeyEncoder
from recon_cli.attack.linkage.passes import Pass, looking_no_farther, places_of
from recon_cli.schema import Level

#: Whether the person has the unit's mode, and is unique there.
GROUPS = ("modal", "unique")


@dataclass(frozen=True)
class TrueColumns:
    """Names of the columns with what is true of attackers' records in places of one level."""

    place: Level

    @property
    def true(self) -> str:
        """Whether the truth has the record's person there."""
        return f"true {self.place.name}"

    @property
    def gain(self) -> str:
        """The person's gained value; null where there is none."""
        return f"true_gain {self.place.name}"

    @property
    def unit(self) -> str:
        """The person's unit; likewise."""
        return f"true_unit {self.place.name}"


def attach_truth(attackers: pl.DataFrame, truth: pl.DataFrame, encoder: KeyEncoder) -> pl.DataFrame:
    """Add what the truth says of every attacker record, found by place and id.

    A record is *true* in a place when the truth has somebody there with its id whom one of the
    passes that look no farther would pair with it: in units, with the study's passes, somebody
    with its binned keys. Only a link to a true record can be confirmed. Of several people with
    one id in a larger place the one in the record's own unit counts, else the first.

    Whether a record's person is modal and unique is known by unit and id alone, as the study has
    it (Tables 10, 13, 14, 16 and 17), whatever sex and age the attacker believes.

    Args:
        attackers: ``unit, id`` and the keys of the passes.
        truth: ``unit, id, order, gain, modal, unique`` and those keys, no id twice in a unit.
        encoder: Of the partition, with the passes.

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
    """Whether a record and the person found with its id agree as the pass asks."""
    agree = pl.col(each.key) == pl.col(f"_{each.key}")
    if each.number is None:
        return agree
    gap = (pl.col(each.number) - pl.col(f"_{each.number}")).abs()
    return agree & (gap <= each.within)
