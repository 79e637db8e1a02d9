"""Housing units and their features in the tables of 2010 and 2020.

Every feature of an occupied unit is computed from its members, so that the two always agree. Names
are those of the packaged schemas of households; the Census unit file's column is given with each.
Person keys are here, too: who has one, who is duplicated in a block, and which record the key
refers to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.capabilities.synth.ages import ADULT
from recon_cli.capabilities.synth.households import RELATIVES, CountyHouseholds, Role
from recon_cli.capabilities.synth.parameters import Nation, PersonKeys, Units
from recon_cli.seeding import digest_seed

#: From this age on a child goes to school.
SCHOOL = 6
#: Household sizes are counted to seven and more.
LARGEST = 7
#: Lower ages at which the shares of owners change.
_OWNER_AGES = (15, 25, 30, 35, 40, 45, 50, 55, 60, 65, 75, 85)
#: VACS
VACANCY = (
    "occupied", "for_rent", "rented_not_occupied", "for_sale", "sold_not_occupied", "seasonal",
    "migrant_workers", "other_vacant",
)  # fmt: skip
#: TEN; the first for a vacant unit, as in what follows.
TENURE = ("none", "owned_with_mortgage", "owned_free_and_clear", "rented", "no_rent")
#: HHT
TYPES = (
    "none", "married_couple", "other_family_of_man", "other_family_of_woman", "man_alone",
    "man_with_nonrelatives", "woman_alone", "woman_with_nonrelatives",
)  # fmt: skip
#: HHT2; own children are those under 18.
DETAILED_TYPES = (
    "none", "married_with_own_children", "married_without_own_children",
    "cohabiting_with_own_children", "cohabiting_without_own_children", "woman_living_alone",
    "woman_with_own_children", "woman_with_relatives", "woman_without_relatives",
    "man_living_alone", "man_with_own_children", "man_with_relatives", "man_without_relatives",
)  # fmt: skip
#: THHSPAN
ORIGINS = ("none", "not_hispanic", "hispanic")
#: THHLDRAGE, and the lower ages of its classes.
AGES = (
    "none", "15-24", "25-34", "35-44", "45-54", "55-59", "60-64", "65-74", "75-84", "85+",
)  # fmt: skip
HOLDER_AGES = (15, 25, 35, 45, 55, 60, 65, 75, 85)
#: THHRACE
RACES = ("none", "white", "black", "aian", "asian", "nhpi", "sor", "several_races")
#: TP18 and the ages of those under 18.
MINORS = ("nobody_under_18", "only_under_6", "only_6_to_17", "under_6_and_6_to_17")
#: TP60, TP65 and TP75, and the lower ages of the classes.
OLDEST = ("nobody_60_or_over", "oldest_60_to_64", "oldest_65_to_74", "oldest_75_or_over")
OLDEST_AGES = (60, 65, 75)
#: PAC: people under 18 but the householder and his spouse or partner.
CHILDREN = ("no_children", "children")
#: PAOC and PARC: own children, and all that are related; of the householder.
OWN_CHILDREN = (
    "no_own_children", "own_only_under_6", "own_only_6_to_17", "own_under_6_and_6_to_17",
)  # fmt: skip
RELATED_CHILDREN = (
    "no_related_children", "related_only_under_6", "related_only_6_to_17",
    "related_under_6_and_6_to_17",
)  # fmt: skip
NONRELATIVES = ("no_nonrelatives", "nonrelatives")
#: Feature → its words by code; none where it is a number.
FEATURES: dict[str, tuple[str, ...]] = {
    "vacancy": VACANCY,
    "tenure": TENURE,
    "household_size": (),
    "household_type": TYPES,
    "detailed_type": DETAILED_TYPES,
    "householder_origin": ORIGINS,
    "householder_age": AGES,
    "householder_race": RACES,
    "minors": MINORS,
    "oldest": OLDEST,
    "children": CHILDREN,
    "own_children": OWN_CHILDREN,
    "related_children": RELATED_CHILDREN,
    "nonrelatives": NONRELATIVES,
}
#: A prime above the number of people in any nation: keys are a permutation of what is below it.
KEYS = 999_999_937
#: Columns that a repeated household shares with its original.
_COPIED = ("male", "age", "race", "hispanic", "role", "relationship")


def features_of_members(persons: pl.DataFrame) -> pl.DataFrame:
    """Compute the features of occupied units from their members, as codes.

    Args:
        persons: ``household`` (no nulls), ``relationship``, ``male``, ``age``, ``race`` (bits),
            ``hispanic``.

    Returns:
        One row per household, sorted by it: ``household``, ``people``, ``adults`` (18 and over),
        ``holder_age``, and for each feature in `FEATURES`, except ``vacancy`` and ``tenure``, the
        place of its word.
    """
    role = pl.col("relationship")
    first = _has_role(Role.HOUSEHOLDER)
    couple = _has_role(Role.HOUSEHOLDER, Role.SPOUSE, Role.PARTNER)
    kin = _has_role(*RELATIVES)
    grouped = persons.group_by("household").agg(
        people=pl.len(),
        adults=(pl.col("age") >= ADULT).sum(),
        oldest_age=pl.col("age").max(),
        man=pl.col("male").filter(first).first(),
        holder_age=pl.col("age").filter(first).first(),
        holder_race=pl.col("race").filter(first).first(),
        holder_hispanic=pl.col("hispanic").filter(first).first(),
        married=_has_role(Role.SPOUSE).any(),
        cohabit=_has_role(Role.PARTNER).any(),
        kin=kin.any(),
        minors=_ages_of_minors(pl.lit(value=True)),
        own_children=_ages_of_minors(role == Role.CHILD.name.lower()),
        related_children=_ages_of_minors(kin & ~_has_role(Role.SPOUSE)),
        children=((pl.col("age") < ADULT) & ~couple).any().cast(pl.Int64),
        nonrelatives=_has_role(Role.PARTNER, Role.NONRELATIVE).any().cast(pl.Int64),
    )
    return grouped.select(
        "household",
        "people",
        "adults",
        "holder_age",
        household_size=pl.min_horizontal(pl.col("people"), LARGEST),
        household_type=_household_type(),
        detailed_type=_detailed_type(),
        householder_origin=1 + pl.col("holder_hispanic").cast(pl.Int8),
        householder_age=_class_of("holder_age", HOLDER_AGES).clip(1),
        householder_race=_race_class(),
        minors="minors",
        oldest=_class_of("oldest_age", OLDEST_AGES),
        children="children",
        own_children="own_children",
        related_children="related_children",
        nonrelatives="nonrelatives",
    ).sort("household")


def living_of_members() -> pl.Expr:
    """Return how each person of a household lives: alone, in a family, or with nonrelatives."""
    kin = _has_role(*RELATIVES).any().over("household")
    alone = pl.when(pl.len().over("household") == 1).then(pl.lit("alone"))
    return (
        pl.when(kin).then(pl.lit("family")).otherwise(alone.otherwise(pl.lit("with_nonrelatives")))
    )


def _has_role(*roles: Role) -> pl.Expr:
    return pl.col("relationship").is_in([role.name.lower() for role in roles])


def _ages_of_minors(among: pl.Expr) -> pl.Expr:
    """Return 0 for nobody, 1 under 6 only, 2 from 6 to 17 only, 3 both."""
    age = pl.col("age")
    small = (among & (age < SCHOOL)).any().cast(pl.Int64)
    large = (among & (age >= SCHOOL) & (age < ADULT)).any().cast(pl.Int64)
    return small + 2 * large


def _class_of(age: str, edges: Sequence[int]) -> pl.Expr:
    return pl.sum_horizontal((pl.col(age) >= edge).cast(pl.Int8) for edge in edges)


def _household_type() -> pl.Expr:
    alone, man = pl.col("people") == 1, pl.col("man")
    unrelated = pl.when(alone).then(4).otherwise(5) + pl.when(man).then(0).otherwise(2)
    family = pl.when(man).then(2).otherwise(3)
    return pl.when("married").then(1).when("kin").then(family).otherwise(unrelated)


def _detailed_type() -> pl.Expr:
    own = pl.col("own_children") > 0
    alone = pl.when(pl.col("people") == 1).then(5)
    single = alone.when(own).then(6).when(pl.col("kin")).then(7).otherwise(8)
    return (
        pl.when("married")
        .then(pl.when(own).then(1).otherwise(2))
        .when("cohabit")
        .then(pl.when(own).then(3).otherwise(4))
        .otherwise(single + pl.when(pl.col("man")).then(4).otherwise(0))
    )


def _race_class() -> pl.Expr:
    races = [pl.when(pl.col("holder_race") == 1 << bit).then(bit + 1) for bit in range(6)]
    return pl.coalesce(*races, pl.lit(7))


def in_words(units: pl.DataFrame) -> pl.DataFrame:
    """Replace the codes of each feature by its labels."""
    return units.with_columns(
        pl.Series(name, words, dtype=pl.String).gather(units[name]).alias(name)
        for name, words in FEATURES.items()
        if words
    )


def occupied_units(units: Units, persons: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Compute all features of occupied units; see `features_of_members` for ``persons``.

    Returns:
        All features as codes.
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
        tenure=pl.Series(tenure), vacancy=pl.lit(0, dtype=pl.Int64)
    )


def vacant_units(
    units: Units, occupied: IntArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw vacant units: the position of the block, and the reason of each vacancy.

    Args:
        occupied: Occupied units of each block, zero for uninhabited ones.

    Returns:
        The latter is a place in `VACANCY`, above 0.
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


def duplicate_sources(
    linkage: PersonKeys, homes: CountyHouseholds, persons: int, rng: np.random.Generator
) -> IntArray:
    """Draw for each person the row that their record copies: their own, for nearly all.

    A whole household can appear twice in its block, replacing a neighbour of the same size.

    Args:
        homes: Households; their members are the first rows.
        persons: Number of persons, group quarters included.
    """
    source = np.arange(persons)
    order = np.lexsort((rng.random(homes.count), homes.size, homes.block))
    one, two = order[:-1], order[1:]
    alike = (homes.block[one] == homes.block[two]) & (homes.size[one] == homes.size[two])
    chosen = alike & (rng.random(len(one)) < linkage.duplicates)
    chosen[1:] &= ~chosen[:-1]  # an original is not itself a repetition
    shift = np.zeros(homes.count, np.int64)
    shift[two[chosen]] = homes.first[one[chosen]] - homes.first[two[chosen]]
    source[: len(homes.household)] += shift[homes.household]
    return source


def duplicate_households(persons: pl.DataFrame, source: IntArray) -> pl.DataFrame:
    """Give duplicated households the answers of their originals."""
    return persons.with_columns(persons[name].gather(source) for name in _COPIED)


def assign_person_keys(
    nation: Nation,
    persons: pl.DataFrame,
    *,
    source: IntArray,
    first_person: int,
    seed: int,
    rng: np.random.Generator,
) -> pl.DataFrame:
    """Add ``pik``, ``data_defined``, ``r_keep`` and ``r``.

    Args:
        persons: With ``block`` and ``size``, the population of the block.
        source: From `duplicate_sources`.
        first_person: Number of people in the nation before these.

    Returns:
        The frame with ``pik`` (null without a key; unique in the nation except for repeated
        households), ``data_defined`` (the record has a key and the smallest ``r_keep`` of the
        block's records with that key), and two uniform numbers: ``r_keep`` decides among
        repetitions, ``r`` orders records when they are linked.
    """
    count = len(persons)
    has = rng.random(count) < nation.geography.at_size(
        nation.linkage.pik, persons["size"].to_numpy()
    )
    factor = 1 + digest_seed(seed, "synth", "piks", "factor") % (KEYS - 1)
    offset = digest_seed(seed, "synth", "piks", "offset") % KEYS
    pik = ((first_person + np.arange(count)) * factor + offset) % KEYS
    keyed = persons.with_columns(
        pik=pl.when(pl.Series(has[source])).then(pl.Series(pik[source])),
        r_keep=pl.Series(rng.random(count)),
        r=pl.Series(rng.random(count)),
    )
    repeated = pl.Series(np.bincount(source, minlength=count)[source] > 1)
    twins = (
        keyed.lazy()
        .with_row_index("row")
        .filter(repeated & pl.col("pik").is_not_null())
        .sort("r_keep")
        .filter(~pl.struct("block", "pik").is_first_distinct())
        .select("row")
        .collect()["row"]
        .to_numpy()
    )
    defined = has[source]
    defined[twins] = False
    return keyed.with_columns(data_defined=pl.Series(defined))
