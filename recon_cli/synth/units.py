"""Housing units and the ten features that the 2010 unit tables know of them.

Every feature of an occupied unit is computed from its members, so that the two never disagree.
Codes are those of the 2010 Census unit file; 0 always means that the unit is vacant.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from recon_cli.synth.ages import ADULT
from recon_cli.synth.households import RELATIVES, Role
from recon_cli.synth.parameters import Units
from recon_cli.synth.sizes import Integers

ELDER = 65
#: HHSIZE counts to seven and more.
LARGEST = 7
#: Lower ages of the classes 1-9 of THHLDRAGE.
HOLDER_AGES = (15, 25, 35, 45, 55, 60, 65, 75, 85)
#: Ages at which the shares of owners change.
_OWNER_AGES = (15, 25, 30, 35, 40, 45, 50, 55, 60, 65, 75, 85)

FEATURES = (
    "TEN", "VACS", "HHSIZE", "HHT", "HHT2", "THHSPAN", "THHLDRAGE", "THHRACE", "TP18", "TP65",
)  # fmt: skip


def features_of_members(persons: pl.DataFrame) -> pl.DataFrame:
    """The features of occupied units that follow from who age_sex there.

    Args:
        persons: ``household`` (no nulls), ``relationship``, ``male``, ``age``, ``race`` (bits),
            ``hispanic``.

    Returns:
        One row per household, sorted by it: ``household``, ``people``, ``adults`` (18 and over),
        HHSIZE (1-7), HHT (1 married couple, 2 and 3 other family with male or female
        householder, 4 man alone, 5 man with nonrelatives, 6 woman alone, 7 woman with
        nonrelatives), HHT2 (1 and 2 married couple with and without own children under 18, 3
        and 4 unmarried couple likewise, woman: 5 alone, 6 with own children under 18, 7 with
        other relatives, 8 with nonrelatives; 9-12 man likewise), THHSPAN (1 householder not
        Hispanic, 2 Hispanic), THHLDRAGE (1-9, from `HOLDER_AGES`), THHRACE (1-6 one race in the
        order of the bits, 7 two or more), TP18 and TP65 (1 if anybody under 18, 65 and over).
    """
    role = pl.col("relationship")
    relatives = [member.name.lower() for member in RELATIVES]
    first = role == Role.HOUSEHOLDER.name.lower()
    minor = (pl.col("age") < ADULT).any()
    grouped = persons.group_by("household").agg(
        people=pl.len(),
        adults=(pl.col("age") >= ADULT).sum(),
        man=pl.col("male").filter(first).first(),
        holder_age=pl.col("age").filter(first).first(),
        holder_race=pl.col("race").filter(first).first(),
        holder_hispanic=pl.col("hispanic").filter(first).first(),
        married=(role == Role.SPOUSE.name.lower()).any(),
        cohabit=(role == Role.PARTNER.name.lower()).any(),
        kin=role.is_in(relatives).any(),
        own=((role == Role.CHILD.name.lower()) & (pl.col("age") < ADULT)).any(),
        minors=minor,
        elders=(pl.col("age") >= ELDER).any(),
    )
    alone = pl.col("people") == 1
    man, own = pl.col("man"), pl.col("own")
    single = pl.when(alone).then(5).when(own).then(6).when(pl.col("kin")).then(7).otherwise(
        8
    ) + pl.when(man).then(4).otherwise(0)
    unrelated = pl.when(alone).then(4).otherwise(5) + pl.when(man).then(0).otherwise(2)
    races = [pl.when(pl.col("holder_race") == 1 << bit).then(bit + 1) for bit in range(6)]
    return grouped.select(
        "household",
        "people",
        "adults",
        HHSIZE=pl.min_horizontal(pl.col("people"), LARGEST),
        HHT=pl.when("married")
        .then(1)
        .when("kin")
        .then(pl.when(man).then(2).otherwise(3))
        .otherwise(unrelated),
        HHT2=pl.when("married")
        .then(pl.when(own).then(1).otherwise(2))
        .when("cohabit")
        .then(pl.when(own).then(3).otherwise(4))
        .otherwise(single),
        THHSPAN=1 + pl.col("holder_hispanic").cast(pl.Int8),
        THHLDRAGE=pl.sum_horizontal(
            (pl.col("holder_age") >= edge).cast(pl.Int8) for edge in HOLDER_AGES
        ).clip(1),
        THHRACE=pl.coalesce(*races, pl.lit(7)),
        TP18=pl.col("minors").cast(pl.Int8),
        TP65=pl.col("elders").cast(pl.Int8),
        holder_age="holder_age",
    ).sort("household")


def occupied_units(units: Units, persons: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Occupied units with all features; see `features_of_members` for ``persons``.

    Returns:
        TEN is 1 owned with a mortgage, 2 owned free and clear, 3 rented, 4 without rent; VACS 0.
    """
    known = features_of_members(persons)
    age = known["holder_age"].to_numpy()
    at = np.searchsorted(np.array(_OWNER_AGES), age, side="right") - 1
    at = np.maximum(at, 0)
    owns = rng.random(len(at)) < np.array(units.own)[at]
    owes = rng.random(len(at)) < np.array(units.mortgage)[at]
    free = rng.random(len(at)) < units.no_rent
    tenure = np.where(owns, np.where(owes, 1, 2), np.where(free, 4, 3))
    return known.drop("holder_age").with_columns(
        TEN=pl.Series(tenure), VACS=pl.lit(0, dtype=pl.Int64)
    )


def vacant_units(
    units: Units, occupied: Integers, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Vacant units: the position of the block, and VACS of each.

    Args:
        units: Parameters.
        occupied: Occupied units of each block, zero for uninhabited ones.
        rng: Source of chance.

    Returns:
        VACS is 1 for rent, 2 rented and not yet lived in, 3 for sale, 4 sold, 5 seasonal, 6 for
        migrant workers, 7 other.
    """
    rate = units.vacant / (1 - units.vacant)
    empty = rng.random(len(occupied)) < units.vacant_in_uninhabited
    count = np.where(
        occupied > 0,
        rng.poisson(rate * occupied),
        np.where(empty, 1 + rng.poisson(1.0, len(occupied)), 0),
    )
    block = np.repeat(np.arange(len(occupied)), count)
    weights = np.array(units.vacancy) / sum(units.vacancy)
    return block, 1 + rng.choice(len(weights), len(block), p=weights)
