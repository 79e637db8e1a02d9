"""The study's ideal experiment: a person out, the swap drawn again, published, attacked.

Households move by numbers of their own, so without a person few others move otherwise; what does
change is part of what the person's answer does to the publication.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from recon_cli.attack.leave_one_out.again import Publish, ScratchAttack, left_out
from recon_cli.attack.options import LeaveOneOutOptions
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table

_COMPARED = ("chance", "settled", "certain")


@dataclass(frozen=True)
class SwappedPublication:
    """How records are swapped, and what is published of them.

    Attributes:
        draw: People → which households move where; the same for the same people.
        move: People and that → people with their new units, in the same order.
        publish: What is published of people that were moved, each region by itself.
    """

    draw: Callable[[pl.DataFrame], pl.DataFrame]
    move: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]
    publish: Publish


def attack_swapped(
    release: Release,
    tables: Sequence[Table],
    persons: pl.DataFrame,
    swap: SwappedPublication,
    options: LeaveOneOutOptions,
) -> pl.DataFrame:
    """What is concluded about people at their true address, before a swap moved some of them.

    Args:
        persons: The confidential records: the unit's geoid, ``household``, the features.
        swap: The swap, and the publication.
        options: How to attack; ``share`` and ``within`` say who is left out.

    Returns:
        As `recon_cli.attack.leave_one_out.partition.leave_out_with_plan`, a row for each distinct
        record of a ``household``; without the person the swap is drawn again. Besides
        ``chance_fixed``, ``settled_fixed`` and ``certain_fixed``, without the person and with the
        pairs that were drawn with everybody, and ``units_changed`` (Int32), units whose swapped
        records differ where the swap is drawn again.

    Raises:
        ConfigError: Nothing is gained from these tables.
    """
    place = pl.col(release.geoid_column)
    names = [release.geoid_column, *(feature.name for feature in release.features)]
    pairs = swap.draw(persons)
    swapped = swap.move(persons, pairs)
    attack = ScratchAttack.of(release, tables, persons, swap.publish(swapped), options)
    changed: list[int] = []

    def without(row: int) -> Sequence[Publication]:
        """Of the person's region alone: nothing else is attacked."""
        region = release.region.enclosing(str(persons[release.geoid_column][row]))
        here = release.geography.inside(place, region)
        others = left_out(persons, row)
        again = swap.move(others, swap.draw(others))
        changed.append(_units_changed(swapped.select(names), again.select(names)))
        kept = swap.move(others, pairs).filter(here)
        again = again.filter(here)
        redrawn = swap.publish(again)
        return redrawn, redrawn if again.equals(kept) else swap.publish(kept)

    people = attack.people("household")
    redrawn, fixed = attack.compare(people, without)
    is_partial = (redrawn["status"] == "complete") & (fixed["status"] == "partial")
    return redrawn.with_columns(
        people["household"],
        *(fixed[f"{name}_without"].alias(f"{name}_fixed") for name in _COMPARED),
        status=pl.when(is_partial).then(pl.lit("partial")).otherwise("status"),
        units_changed=pl.Series(changed, dtype=pl.Int32),
    )


def _units_changed(before: pl.DataFrame, after: pl.DataFrame) -> int:
    """How many units have other records."""
    counts = [each.group_by(each.columns).len() for each in (before, after)]
    names = [*before.columns, "len"]
    differ = [
        one.join(other, on=names, how="anti", nulls_equal=True)
        for one, other in (counts, counts[::-1])
    ]
    return pl.concat(differ)[before.columns[0]].n_unique()
