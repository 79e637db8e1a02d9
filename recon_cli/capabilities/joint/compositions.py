"""Compositions of a place: households with all their members.

A composition is a household's record with a multiset of people for which all links between
households and people hold, and which the place's own counts allow: Eq. (household) of
docs/method.md. Households with the same link requirements form a *pattern*; the member sets of a
pattern are listed together, smallest households first. A pattern with too many compositions is not
listed: its households and people then stay separate records, linked as those of a whole place are,
which allows all that the compositions would and more.

See *composition* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.joint.household_links import (
    HouseholdLinks,
    PlaceRecords,
    Requirements,
    member_codes,
)
from recon_cli.frames import OPEN
from recon_cli.model.program import LinearConstraints

#: Households that may be started for each composition that may be listed.
_BEGUN = 5
#: Most members times counts of a place whose compositions are listed.
_DENSE = 20_000_000


@dataclass(frozen=True)
class Listing:
    """The variables of a place's program: compositions, then separate records.

    Attributes:
        expansion: Sparse (candidates × variables) how many of each candidate a variable stands for:
            the matrix of Eq. (division).
        compositions: Number of variables that are compositions.
        is_complete: Whether every household with members is a composition.
    """

    expansion: sparse.csr_array
    compositions: int
    is_complete: bool


def list_compositions(records: PlaceRecords, rows: LinearConstraints, limit: int) -> Listing:
    """List the compositions of a place, Eq. (household), of as many patterns as the limit allows.

    Args:
        records: The candidates of all parts.
        rows: The counts of the parts over these candidates.
        limit: Largest number of compositions.
    """
    place = _Place.of(records, rows)
    if place is None:
        return Listing(sparse.eye_array(len(records.part), dtype=np.int64, format="csr"), 0, False)
    found, left = [], _Budget(limit, _BEGUN * limit)
    unlisted: list[_Pattern] = []
    for pattern in place.patterns():
        try:
            members = list(pattern.member_sets(left))
        except _TooManyError:
            unlisted.append(pattern)
            continue
        left.listed -= sum(len(each) for each in members) * len(pattern.households)
        found += [(pattern, each) for each in members]
    return _listing(place, found, unlisted)


class _TooManyError(Exception):
    """Raised for a pattern with more compositions than may be listed."""


@dataclass
class _Budget:
    """The number of compositions that may still be listed and started."""

    listed: int
    begun: int

    def begin(self, households: int) -> None:
        """Charge some started households to the budget.

        Raises:
            _TooManyError: The budget is exhausted.
        """
        self.begun -= households
        if self.begun < 0:
            raise _TooManyError


@dataclass(frozen=True)
class _Place:
    """Members and households of a place, and the slack of its counts.

    Attributes:
        members: (members × parts) candidates.
        households: (households × parts) candidates.
        codes: Codes of the members, from `member_codes`.
        uses: (members × rows) what each member adds to the counts.
        room: For each row its upper bound.
    """

    records: PlaceRecords
    members: IntArray
    households: IntArray
    codes: IntArray
    asked: Requirements
    uses: IntArray
    room: IntArray

    @classmethod
    def of(cls, records: PlaceRecords, rows: LinearConstraints) -> _Place | None:
        """Build a place; None if there are too many members and counts."""
        links: HouseholdLinks = records.links
        members, households = (
            records.described(kind) for kind in (links.members, links.households)
        )
        falls = np.asarray((rows.A < 0).sum(axis=1)).ravel()
        bounds = np.flatnonzero((falls == 0) & (rows.most < OPEN))
        each_candidate = sparse.eye_array(len(records.part), dtype=np.int64, format="csr")
        uses = sparse.csc_array(sparse.vstack([rows.A[bounds], each_candidate]))
        room = np.concatenate([rows.most[bounds], records.upper])
        if max(len(members), len(households)) * len(room) > _DENSE:
            return None

        def fits(each: IntArray) -> tuple[IntArray, IntArray]:
            used: IntArray = np.zeros((len(each), len(room)), dtype=np.int64)
            for part in each.T:
                used += uses[:, part].T.toarray()
            kept = (used <= room).all(axis=1)
            return each[kept], used[kept]

        (members, used), (households, _) = fits(members), fits(households)
        asked = Requirements.of(records, households)
        codes = member_codes(records, members)
        return cls(records, members, households, codes, asked, used, room)

    def patterns(self) -> Iterator[_Pattern]:
        """Yield households with equal link requirements, fewest members first."""
        asked = self.asked
        key = np.concatenate([asked.code, asked.least, asked.most], axis=1)
        _, first, of_household = np.unique(key, axis=0, return_index=True, return_inverse=True)
        size = asked.least.max(axis=1, initial=0)[first]
        for at in np.lexsort((first, size)).tolist():
            households = np.flatnonzero(of_household.ravel() == at)
            yield _Pattern.of(self, households)


@dataclass(frozen=True)
class _Pattern:
    """Households with equal requirements for their members.

    Attributes:
        households: Numbers of the households in the place.
        groups: The members that these households may have, grouped by the links that count them.
        counted: (groups × links that count members) whether each link counts a group.
        least: Least number of members that each of these links requires.
        most: Greatest number that each allows.
        later: (groups and one more × links) whether a link counts this group or a later one.
    """

    place: _Place
    households: IntArray
    groups: tuple[IntArray, ...]
    counted: BoolArray
    least: IntArray
    most: IntArray
    later: BoolArray

    @classmethod
    def of(cls, place: _Place, households: IntArray) -> _Pattern:
        asked, one = place.asked, households[0]
        code = asked.code[one]
        on = np.flatnonzero(code >= 0)
        least, most = asked.least[one, on], asked.most[one, on]
        may_be = np.flatnonzero(((place.codes < 0) | (place.codes == code)).all(axis=1))
        counted, of_member = np.unique(place.codes[may_be][:, on] >= 0, axis=0, return_inverse=True)
        # Groups with few members in a household come first: a householder leaves little room.
        few = np.where(counted, most, most.max(initial=0)).min(axis=1, initial=most.max(initial=0))
        size = np.bincount(of_member.ravel(), minlength=len(counted))
        order = np.lexsort((size, few))
        counted = counted[order]
        groups = tuple(may_be[of_member.ravel() == group] for group in order.tolist())
        later = np.zeros((len(groups) + 1, len(on)), dtype=bool)
        for at in range(len(groups) - 1, -1, -1):
            later[at] = later[at + 1] | counted[at]
        return cls(place, households, groups, counted, least, most, later)

    def member_sets(self, budget: _Budget) -> Iterator[IntArray]:
        """Yield (households × members) arrays of all member sets that these households may have.

        Raises:
            _TooManyError: There are too many.
        """
        inside = np.concatenate([self.households[:0], *self.groups])
        rows = np.flatnonzero(self.place.uses[inside].any(axis=0))
        begun = _Begun(self.place.uses[:, rows], self.place.room[rows])
        nothing = np.zeros(len(self.least), dtype=np.int64)
        listed = 0
        for each in self._completed(0, begun, nothing, budget):
            listed += len(each) * len(self.households)
            if listed > budget.listed:
                raise _TooManyError
            yield each

    def _completed(
        self, group: int, begun: _Begun, count: IntArray, budget: _Budget
    ) -> Iterator[IntArray]:
        """Yield all completions of some member sets with members of this group and later ones."""
        if ((count < self.least) & ~self.later[group]).any():
            return
        if group == len(self.groups):
            yield begun.chosen
            return
        begun = begun.restarted()
        while len(begun.chosen):
            yield from self._completed(group + 1, begun, count, budget)
            count = count + self.counted[group]
            if (count > self.most).any():
                return
            begun = begun.extended(self.groups[group])
            budget.begin(len(begun.chosen) * len(self.households))


@dataclass(frozen=True)
class _Begun:
    """Sets of members that may be incomplete.

    Attributes:
        uses: (members × rows) what each member adds.
        room: For each row its upper bound.
        chosen: (sets × members) numbers of members.
        used: (sets × rows) what the members of each set add together.
        last: For each set the place in the group of its last member; only later ones are added.
    """

    uses: IntArray
    room: IntArray
    chosen: IntArray = field(default_factory=lambda: np.zeros((1, 0), dtype=np.int64))
    used: IntArray | None = None
    last: IntArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    def restarted(self) -> _Begun:
        """Return the sets before the first member of another group."""
        return _Begun(self.uses, self.room, self.chosen, self.used, np.zeros_like(self.last))

    def extended(self, group: IntArray) -> _Begun:
        """Add one more member of the group, where the counts have room."""
        used = np.zeros((1, len(self.room)), dtype=np.int64) if self.used is None else self.used
        chosen, more, last = [self.chosen[:0, :1]], [used[:0]], [self.last[:0]]
        at: list[IntArray] = [self.last[:0]]
        for place, member in enumerate(group.tolist()):
            may = np.flatnonzero(self.last <= place)
            together = used[may] + self.uses[member]
            fits = (together <= self.room).all(axis=1)
            at.append(may[fits])
            more.append(together[fits])
            last.append(np.full(len(at[-1]), place))
            chosen.append(np.full((len(at[-1]), 1), member))
        before = self.chosen[np.concatenate(at)]
        added = np.concatenate([each.reshape(-1, 1) for each in chosen])
        return _Begun(
            self.uses,
            self.room,
            np.concatenate([before, added], axis=1),
            np.concatenate(more),
            np.concatenate(last),
        )


def _listing(
    place: _Place, found: list[tuple[_Pattern, IntArray]], unlisted: list[_Pattern]
) -> Listing:
    """Arrange compositions as columns, and the remaining records."""
    rows: list[IntArray] = [np.empty(0, dtype=np.int64)]
    columns: list[IntArray] = [np.empty(0, dtype=np.int64)]
    width = 0
    for pattern, sets in found:
        people = place.members[sets].reshape(len(sets), -1)
        for household in place.households[pattern.households]:
            own = np.broadcast_to(household, (len(sets), len(household)))
            together = np.concatenate([people, own], axis=1)
            rows.append(together.ravel())
            columns.append(np.repeat(np.arange(width, width + len(sets)), together.shape[1]))
            width += len(sets)
    alone = ~place.records.is_counted
    for pattern in unlisted:
        alone[place.households[pattern.households]] = True
        alone[place.members[np.concatenate([*pattern.groups, pattern.households[:0]])]] = True
    by_themselves = np.flatnonzero(alone & (place.records.upper > 0))
    rows.append(by_themselves)
    columns.append(np.arange(width, width + len(by_themselves)))
    row = np.concatenate(rows)
    ones = np.ones(len(row), dtype=np.int64)
    shape = (len(place.records.part), width + len(by_themselves))
    expansion = sparse.csr_array((ones, (row, np.concatenate(columns))), shape=shape)
    expansion.sum_duplicates()
    return Listing(expansion, width, not unlisted)
