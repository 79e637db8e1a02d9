"""Group quarters: who lives in them, and where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.synth.ages import OLDEST
from recon_cli.synth.households import Role
from recon_cli.synth.parameters import GeographyParameters, GroupQuarters

#: From this block size on, prisons and colleges outnumber small homes.
_BIG = 250


@dataclass(frozen=True)
class GroupQuartersResidents:
    """People in group quarters, block by block.

    Attributes:
        block: The position of the block.
        kind: The position of the kind in `GroupQuarters.names`.
        role: `Role.INSTITUTIONAL` or `Role.NONINSTITUTIONAL`.
        age: Years.
        male: Sex.
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
        quarters: Parameters.
        population: People of each block, in households or not.
        rng: Source of chance.
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
