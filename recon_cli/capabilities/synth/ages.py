"""Ages and sexes of the members of households.

Children come first: the youngest's age, then the years between siblings. Parents are older than the
oldest child by a mother's age at birth, partners are close to each other in age. Ages of
householders of one block are correlated through a Gaussian copula, which preserves the national
distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.capabilities.synth.households import (
    CountyHouseholds,
    HouseholdKind,
    Role,
    cumulative_sums,
)
from recon_cli.capabilities.synth.parameters import (
    Ages,
    GeographyParameters,
    GroupQuarters,
    Households,
    Weights,
)

OLDEST = 110
ADULT = 18
#: Upper ends of the groups that follow single years in the table of youngest children.
_YOUNGEST_TAIL = (25, 35, 60)
#: From this block size on, prisons and colleges outnumber small homes.
_BIG = 250


@dataclass(frozen=True)
class AgeSex:
    """Age in years and sex of each person."""

    age: IntArray
    male: BoolArray


def draw_age_sex(
    ages: Ages,
    households: Households,
    homes: CountyHouseholds,
    age_score: FloatArray,
    rng: np.random.Generator,
) -> AgeSex:
    """Draw ages and sexes of every member.

    Args:
        age_score: For each household a standard normal score of its householder's age, alike in
            neighbours.
    """
    place = ndtr(age_score)
    alone_male = _head_sex(homes, households, rng)
    oldest, age = _children(ages, households.twins, homes, place, rng)
    head = _heads(ages, homes, place=place, oldest=oldest, male=alone_male, rng=rng)
    solo = homes.kind == HouseholdKind.ALONE
    step = np.clip((head - ages.first) // ages.step, 0, len(ages.men_alone) - 1).astype(np.int64)
    chance = rng.random(homes.count)
    male_head = np.where(solo, chance < np.array(ages.men_alone)[step], alone_male)
    age[homes.first] = head
    male = rng.random(len(homes.role)) < households.male_children
    male[homes.first] = male_head
    mates = np.flatnonzero(homes.role == Role.NONRELATIVE)
    same = rng.random(len(mates)) < ages.housemates[1]
    male[mates] = male[homes.first[homes.household[mates]]] ^ ~same
    _partners(ages, households, homes, age=age, male=male, rng=rng)
    _relatives(ages, homes, age, rng)
    return AgeSex(np.clip(np.rint(age), 0, OLDEST).astype(np.int64), male)


def quantile(table: Weights, first: int, step: int, place: FloatArray) -> FloatArray:
    """Return quantiles of the ages with weights ``table`` in steps of ``step`` years."""
    weights = np.array(table) / sum(table)
    edges = first + step * np.arange(len(weights) + 1)
    age = np.interp(place, np.concatenate([[0.0], np.cumsum(weights)]), edges)
    return np.asarray(np.floor(age), np.float64)


def _head_sex(
    homes: CountyHouseholds, households: Households, rng: np.random.Generator
) -> BoolArray:
    """Draw whether the householder of a household of several is a man."""
    chance = rng.random(homes.count)
    couple, other = households.head_male
    man = np.where(homes.kind == HouseholdKind.FAMILY, 1 - households.single_mother, other)
    return np.asarray(chance < np.where(homes.kind == HouseholdKind.MARRIED, couple, man), np.bool_)


def _children(
    ages: Ages, twins: float, homes: CountyHouseholds, place: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw the oldest child's age by household (NaN without one), and children's ages by person."""
    child = np.flatnonzero(homes.role == Role.CHILD)
    home = homes.household[child]
    age = np.zeros(len(homes.role))
    oldest = np.full(homes.count, np.nan)
    if len(child) == 0:
        return oldest, age
    first = np.diff(home, prepend=-1) != 0
    gap: FloatArray = 1.0 + rng.poisson(ages.spacing, len(child)).astype(np.float64)
    gap[rng.random(len(child)) < twins] = 0.0
    gap[first] = _youngest(ages, place[home[first]], rng)
    age[child] = np.minimum(cumulative_sums(gap, home), 75)
    oldest[home] = age[child]  # the last of a household stands
    return oldest, age


def _youngest(ages: Ages, place: FloatArray, rng: np.random.Generator) -> FloatArray:
    weights = np.array(ages.youngest) / sum(ages.youngest)
    single = len(weights) - len(_YOUNGEST_TAIL)
    edges = np.array([*range(single + 1), *_YOUNGEST_TAIL])
    alike = ages.children_alike
    own = rng.standard_normal(len(place))
    jitter = ndtr(alike * ndtri(place) + np.sqrt(1 - alike**2) * own)
    age = np.interp(jitter, np.concatenate([[0.0], np.cumsum(weights)]), edges)
    return np.asarray(np.floor(age), np.float64)


def _heads(
    ages: Ages,
    homes: CountyHouseholds,
    *,
    place: FloatArray,
    oldest: FloatArray,
    male: BoolArray,
    rng: np.random.Generator,
) -> FloatArray:
    tables = {
        HouseholdKind.ALONE: ages.alone,
        HouseholdKind.MARRIED: ages.couple,
        HouseholdKind.FAMILY: ages.family,
        HouseholdKind.OTHER: ages.other,
    }
    head = np.zeros(homes.count)
    for kind, table in tables.items():
        rows = homes.kind == kind
        head[rows] = quantile(table, ages.first, ages.step, place[rows])
    mean, sd, low, high = ages.birth
    birth = np.clip(np.rint(rng.normal(mean, sd, homes.count)), low, high)
    older = np.where(male, np.rint(rng.normal(*ages.partners, homes.count)), 0.0)
    parent = np.maximum(oldest + birth + older, oldest + low)
    return np.asarray(np.where(np.isnan(oldest), head, np.fmin(parent, 100)), np.float64)


def _partners(
    ages: Ages,
    households: Households,
    homes: CountyHouseholds,
    *,
    age: FloatArray,
    male: BoolArray,
    rng: np.random.Generator,
) -> None:
    """Draw age and sex of spouses and partners, in place."""
    rows = np.flatnonzero((homes.role == Role.SPOUSE) | (homes.role == Role.PARTNER))
    head = homes.first[homes.household[rows]]
    rate = np.where(homes.role[rows] == Role.SPOUSE, *households.same_sex)
    same = rng.random(len(rows)) < rate
    male[rows] = male[head] ^ ~same
    older = np.rint(rng.normal(*ages.partners, len(rows)))
    age[rows] = np.maximum(age[head] + np.where(male[rows], older, -older), 17)


def _relatives(
    ages: Ages, homes: CountyHouseholds, age: FloatArray, rng: np.random.Generator
) -> None:
    """Draw ages of everybody else, relative to the householder's, in place."""
    head = age[homes.first[homes.household]]
    count = len(age)
    spread = rng.standard_normal(count)
    elder = head + ages.parents[0] + ages.parents[1] * spread
    young = np.floor(rng.random(count) ** 1.3 * 20)
    by_role = {
        Role.PARENT: np.clip(elder, head + 14, 104),
        Role.SIBLING: np.maximum(head + np.rint(5 * spread), 0),
        Role.GRANDCHILD: np.minimum(young, np.maximum(head - 34, 0)),
        Role.OTHER_RELATIVE: np.maximum(head + np.rint(20 * spread) - 8, 0),
        Role.NONRELATIVE: np.maximum(head + np.rint(ages.housemates[0] * spread), 0),
    }
    for role, values in by_role.items():
        rows = homes.role == role
        age[rows] = values[rows]


@dataclass(frozen=True)
class GroupQuartersResidents:
    """People in group quarters, block by block.

    Attributes:
        kind: The position of the kind in `GroupQuarters.names`.
        role: `Role.INSTITUTIONAL` or `Role.NONINSTITUTIONAL`.
        age: Years.
    """

    block: IntArray
    kind: IntArray
    role: IntArray
    age: IntArray
    male: BoolArray


def draw_group_quarters(
    quarters: GroupQuarters,
    geography: GeographyParameters,
    population: IntArray,
    rng: np.random.Generator,
) -> GroupQuartersResidents:
    """Draw the blocks that have group quarters, and the residents.

    Args:
        population: People of each block, in households or not.
    """
    blocks = len(population)
    has = rng.random(blocks) < geography.at_size(quarters.share_of_blocks, population)
    share = rng.uniform(*quarters.share_of_people, blocks)
    count = np.where(has, np.rint(share * population), 0).astype(np.int64)
    kinds = np.empty(blocks, np.int64)
    for weights, rows in (
        (quarters.weights, population < _BIG),
        (quarters.weights_big, population >= _BIG),
    ):
        chances = np.array(weights) / sum(weights)
        kinds[rows] = rng.choice(len(weights), int(rows.sum()), p=chances)
    block = np.repeat(np.arange(blocks), count)
    kind = kinds[block]
    mean, sd, low, high = (np.array(column) for column in zip(*quarters.ages, strict=True))
    age = np.rint(rng.normal(mean[kind], sd[kind]))
    age = np.clip(age, low[kind], np.minimum(high[kind], OLDEST)).astype(np.int64)
    male = rng.random(len(kind)) < np.array(quarters.male)[kind]
    inside = np.array(quarters.institutional)[kind]
    role = np.where(inside, Role.INSTITUTIONAL, Role.NONINSTITUTIONAL).astype(np.int64)
    return GroupQuartersResidents(block, kind, role, age, male)
