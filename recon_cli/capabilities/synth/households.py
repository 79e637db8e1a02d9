"""Households: their sizes, kinds and members."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.capabilities.synth.parameters import Households


class HouseholdKind(IntEnum):
    """Kinds of household."""

    ALONE = 0
    MARRIED = 1
    FAMILY = 2
    OTHER = 3


class Role(IntEnum):
    """Relationship to the householder; `RELATIONSHIPS` has the words."""

    HOUSEHOLDER = 0
    SPOUSE = 1
    PARTNER = 2
    CHILD = 3
    PARENT = 4
    SIBLING = 5
    GRANDCHILD = 6
    OTHER_RELATIVE = 7
    NONRELATIVE = 8
    INSTITUTIONAL = 9
    NONINSTITUTIONAL = 10


RELATIONSHIPS = tuple(role.name.lower() for role in Role)
RELATIVES = (
    Role.SPOUSE,
    Role.CHILD,
    Role.PARENT,
    Role.SIBLING,
    Role.GRANDCHILD,
    Role.OTHER_RELATIVE,
)


@dataclass(frozen=True)
class CountyHouseholds:
    """The households of a county, block by block, and their members, household by household.

    Attributes:
        block: For each household the position of its block.
        size: For each household its people.
        kind: For each household its `HouseholdKind`.
        first: For each household the row of its first member, the householder.
        household: For each person the household.
        role: For each person a `Role`.
    """

    block: IntArray
    size: IntArray
    kind: IntArray
    first: IntArray
    household: IntArray
    role: IntArray

    @property
    def count(self) -> int:
        return len(self.size)

    def second(self, role: Role) -> BoolArray:
        """Test whether the second member has a role."""
        has = self.size > 1
        second = self.role[np.where(has, self.first + 1, self.first)]
        return np.asarray(has & (second == role), np.bool_)


def draw_households(
    parameters: Households, people: IntArray, rng: np.random.Generator
) -> CountyHouseholds:
    """Divide the household population of each block into households with members.

    Args:
        parameters: Sizes, kinds and members.
        people: For each block, how many live in households.
    """
    block, size = _divide(parameters, people, rng)
    kind = _kinds(parameters, block, size, len(people), rng)
    first = np.cumsum(size) - size
    home = np.repeat(np.arange(len(size)), size)
    role = _roles(parameters, kind=kind, size=size, first=first, home=home, rng=rng)
    return CountyHouseholds(block, size, kind, first, home, role)


def _divide(
    parameters: Households, people: IntArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return block and size of each household; one that would straddle two blocks is cut."""
    shares = np.array(parameters.sizes) / sum(parameters.sizes)
    total = int(people.sum())
    if total == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    drawn = 1 + rng.choice(len(shares), total, p=shares)
    ends = np.cumsum(drawn[: int(np.searchsorted(np.cumsum(drawn), total)) + 1])
    borders = np.cumsum(people)
    ends = np.union1d(ends[ends < total], borders[people > 0])
    size = np.diff(ends, prepend=0)
    return np.searchsorted(borders, ends, side="left"), size


def _kinds(
    parameters: Households,
    block: IntArray,
    size: IntArray,
    blocks: int,
    rng: np.random.Generator,
) -> IntArray:
    """Draw the kind of each household; neighbours tend to be of one kind."""
    largest = len(parameters.married) + 1
    at = np.clip(size, 2, largest) - 2
    married = np.array(parameters.married)[at]
    family = married + np.array(parameters.family)[at]
    common = parameters.alike
    local = np.sqrt(common) * rng.standard_normal(blocks)[block]
    chance = ndtr(local + np.sqrt(1 - common) * rng.standard_normal(len(size)))
    several = np.where(
        chance < married,
        HouseholdKind.MARRIED,
        np.where(chance < family, HouseholdKind.FAMILY, HouseholdKind.OTHER),
    )
    return np.where(size == 1, HouseholdKind.ALONE, several).astype(np.int64)


def _roles(
    parameters: Households,
    *,
    kind: IntArray,
    size: IntArray,
    first: IntArray,
    home: IntArray,
    rng: np.random.Generator,
) -> IntArray:
    others = np.array(parameters.others) / sum(parameters.others)
    chance = rng.random(len(home))
    further = Role.PARENT + rng.choice(len(others), len(home), p=others)
    role = np.where(chance < parameters.own_child, Role.CHILD, further)
    of_other = kind[home] == HouseholdKind.OTHER
    role[of_other] = Role.NONRELATIVE
    role[first] = Role.HOUSEHOLDER
    couple = rng.random(len(size))
    second = first + 1
    role[second[kind == HouseholdKind.MARRIED]] = Role.SPOUSE
    cohabit = (kind == HouseholdKind.FAMILY) & (size > 2) & (couple < parameters.partner)
    cohabit |= (kind == HouseholdKind.OTHER) & (size == 2) & (couple < parameters.partner_other)
    role[second[cohabit]] = Role.PARTNER
    _ensure_family(role, kind, first, cohabit)
    return role.astype(np.int64)


def _ensure_family(role: IntArray, kind: IntArray, first: IntArray, cohabit: BoolArray) -> None:
    """Make sure that a family without a married couple has a relative: a child, if need be."""
    families = np.flatnonzero(kind == HouseholdKind.FAMILY)
    spot = first[families] + 1 + cohabit[families]
    role[spot[role[spot] == Role.NONRELATIVE]] = Role.CHILD


def cumulative_sums(values: FloatArray | IntArray, group: IntArray) -> npt.NDArray[np.float64]:
    """Return cumulative sums within runs of equal ``group``.

    >>> cumulative_sums(np.array([1, 2, 3, 4]), np.array([0, 0, 1, 1])).tolist()
    [1.0, 3.0, 3.0, 7.0]
    """
    total = np.cumsum(values, dtype=np.float64)
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1 if len(group) else 0))
    before = total[starts] - np.asarray(values, np.float64)[starts]
    lengths = np.diff(np.append(starts, len(group)))
    return total - np.repeat(before, lengths)
