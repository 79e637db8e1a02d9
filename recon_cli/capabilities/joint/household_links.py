"""Links of a joint release, applied to one household and its members.

A link that adds up sizes states membership: the records of its first part are *members*, those of
its second part *households*. Each link between the two holds for every household with its own
members, as it does for a whole place: the household has one householder, in the groups where it is
counted, as many members as its size states, and no member of an excluded age.

See *composition* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.joint.links import LinkCodes
from recon_cli.capabilities.joint.release import JointRelease, Link, LinkKind
from recon_cli.errors import ConfigError

#: Upper bound of members where there is none.
MANY = np.iinfo(np.int32).max


@dataclass(frozen=True)
class HouseholdLinks:
    """The links of a joint release, grouped by what they connect.

    Attributes:
        members: Numbers of the parts whose records are members of households.
        households: Numbers of the parts whose records are households.
        between: Numbers of the links from members to households.
        same: Numbers of the links between two parts whose records are the same ones.
    """

    joint: JointRelease
    members: tuple[int, ...]
    households: tuple[int, ...]
    between: tuple[int, ...]
    same: tuple[int, ...]

    @classmethod
    def of(cls, joint: JointRelease) -> HouseholdLinks:
        """Group the links of a joint release.

        Raises:
            ConfigError: No link adds up sizes of the first two parts, or a part is of neither kind.
        """
        sums = [link.parts for link in joint.links if link.kind is LinkKind.SUM]
        members, households = (tuple(sorted({each[side] for each in sums})) for side in (0, 1))
        every = sorted((*members, *households))
        if every != list(range(len(joint.names))) or 0 not in members or 1 not in households:
            raise ConfigError(
                f"joint.compositions: links {joint.name!r} do not say who belongs to whom: a `sum` "
                f"from the records of {joint.names[0]!r} to those of {joint.names[1]!r} is needed, "
                "and for every further part one with it, always on the same side"
            )
        numbers = range(len(joint.links))
        between = [at for at in numbers if cls._is_between(joint.links[at], members, households)]
        same = [
            at
            for at in numbers
            if joint.links[at].kind is LinkKind.EQUAL
            and any(set(joint.links[at].parts) <= set(kind) for kind in (members, households))
        ]
        return cls(joint, members, households, tuple(between), tuple(same))

    @staticmethod
    def _is_between(link: Link, members: Sequence[int], households: Sequence[int]) -> bool:
        """Test whether a link connects members and households; equations go either way."""
        one, other = link.parts
        if link.kind is LinkKind.EQUAL and one in households:
            one, other = other, one
        return one in members and other in households

    @property
    def sums(self) -> tuple[int, ...]:
        """Return the links that state the members of a household."""
        links = self.joint.links
        return tuple(at for at in self.between if links[at].kind is LinkKind.SUM)


@dataclass(frozen=True)
class PlaceRecords:
    """The candidates of all parts in one place.

    Attributes:
        codes: Link codes of these candidates.
        part: For each candidate its part.
        upper: For each candidate its upper bound.
    """

    links: HouseholdLinks
    codes: LinkCodes
    part: IntArray
    upper: IntArray

    @property
    def is_counted(self) -> BoolArray:
        """Return the candidates that are members of households, or households with members."""
        counted: BoolArray = np.any(self.codes.code[list(self.links.sums)] >= 0, axis=0)
        return counted

    def described(self, kind: Sequence[int]) -> IntArray:
        """Combine all parts' descriptions of a kind: members or households.

        Returns:
            (records × parts of the kind) candidates that links allow to be the same record.
        """
        inside = self.is_counted & (self.upper > 0)
        code = self.codes.code
        found = np.flatnonzero(inside & (self.part == kind[0]))[:, None]
        for at, part in enumerate(kind[1:], 1):
            further = np.flatnonzero(inside & (self.part == part))
            agree: BoolArray = np.ones((len(found), len(further)), dtype=bool)
            for number in self.links.same:
                parts = self.links.joint.links[number].parts
                if part in parts and set(parts) <= set(kind[: at + 1]):
                    before = kind.index(parts[0] if parts[1] == part else parts[1])
                    own = code[number, found[:, before]]
                    agree = agree & (own[:, None] == code[number, further])
            one, other = np.nonzero(agree)
            found = np.concatenate([found[one], further[other][:, None]], axis=1)
        return found


@dataclass(frozen=True)
class Requirements:
    """The requirements of each link for the members of households.

    Attributes:
        code: (households × links) the group whose members the link counts; −1 where none may be.
        least: (households × links) least members of the group.
        most: (households × links) most members of the group, `MANY` where unlimited.
    """

    code: IntArray
    least: IntArray
    most: IntArray

    @classmethod
    def of(cls, records: PlaceRecords, households: IntArray) -> Requirements:
        """Compute the requirements of households from `PlaceRecords.described`."""
        links, shape = records.links, (len(households), len(records.links.between))
        code = np.full(shape, -1, dtype=np.int64)
        least, most = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for at, number in enumerate(links.between):
            link = links.joint.links[number]
            own = households[:, links.households.index(household_part(links, link))]
            code[:, at] = records.codes.code[number, own]
            least[:, at], most[:, at] = _ends(link, records.codes.size[number, own])
        is_asked = code >= 0
        return cls(code, np.where(is_asked, least, 0), np.where(is_asked, most, 0))


def member_codes(records: PlaceRecords, members: IntArray) -> IntArray:
    """Return (members × links) groups in which each link counts a member, −1 for none."""
    links = records.links
    code = np.full((len(members), len(links.between)), -1, dtype=np.int64)
    for at, number in enumerate(links.between):
        one, other = links.joint.links[number].parts
        part = one if one in links.members else other
        code[:, at] = records.codes.code[number, members[:, links.members.index(part)]]
    return code


def household_part(links: HouseholdLinks, link: Link) -> int:
    """Return the part of a link that is about households."""
    one, other = link.parts
    return other if other in links.households else one


def _ends(link: Link, size: IntArray) -> tuple[IntArray, IntArray]:
    """Return the least and the most members of a household that a link counts."""
    one = np.ones_like(size)
    if link.kind is LinkKind.EQUAL:
        return one, one
    most = size if link.kind is LinkKind.SUM else np.maximum(size - link.without, 0)
    least = size if link.kind is LinkKind.SUM else one
    return least, most if link.top is None else np.where(size == link.top, MANY, most)
