"""Who lives with whom: the households that are in every solution with all their members.

A division of a place is a number of households of each composition, and of the separate records,
with the counts of all parts: Eq. (division) of docs/method.md. The search is for the least number
of each composition over all divisions.

See *composition* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.joint.compositions import Listing, list_compositions
from recon_cli.capabilities.joint.household_links import HouseholdLinks, PlaceRecords
from recon_cli.capabilities.joint.least import Start, least_records
from recon_cli.capabilities.joint.links import LinkCodes, link_codes
from recon_cli.capabilities.joint.options import Joint
from recon_cli.capabilities.joint.part import Part, rows_within
from recon_cli.capabilities.joint.release import JointRelease
from recon_cli.capabilities.joint.units import (
    BOUNDED,
    PROVEN,
    STATUSES,
    UNDECIDED,
    JointCertainty,
    JointProgram,
)
from recon_cli.errors import ContradictionError
from recon_cli.model.bounds import Bounds, propagate_signed
from recon_cli.model.components import split_components
from recon_cli.model.ledger import Ledger
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.seeding import digest_seed
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.ends import Ends, EndSearch
from recon_cli.solve.feasibility import Feasibility, solve_within

#: Number of parts whose records are reported, as in `recon_cli.capabilities.joint.units`.
_TOLD = 2
#: Status of a place where who lives with whom is not asked.
NOT_ASKED = "not_asked"


@dataclass(frozen=True)
class CertainHousehold:
    """A household that is in every solution with all its members.

    Attributes:
        number: Least number of such households in a division.
        cells: Sorted numbers of the histogram cells of the household and of its members; the cells
            of all parts are numbered consecutively.
    """

    number: int
    cells: tuple[int, ...]


@dataclass(frozen=True)
class PlaceDivision:
    """The results about who lives with whom in one place.

    Attributes:
        status: Status, as of places in `recon_cli.capabilities.joint.units.STATUSES`, or
            `NOT_ASKED`.
        compositions: Number of listed compositions.
        most: Upper bound of the households with members in any division; −1 where it is not
            computed, because a division has a household that is not certain.
        seconds: Deterministic seconds.
    """

    status: str
    compositions: int = 0
    most: int = -1
    certain: tuple[CertainHousehold, ...] = ()
    seconds: float = 0.0

    @property
    def is_unique(self) -> bool:
        """Report whether there is only one division, of at least one person."""
        return 0 < self.most == sum(each.number for each in self.certain)


def find_divisions(
    joint: JointRelease, parts: Sequence[Part], found: JointCertainty, options: Joint
) -> list[PlaceDivision]:
    """Find for each place its households with all their members in every division, Eq. (division).

    Skipped if no compositions may be listed.

    Raises:
        ContradictionError: No division of a place has all counts.
    """
    if not options.compositions:
        return [PlaceDivision(NOT_ASKED)] * len(found.geoids)
    links = HouseholdLinks.of(joint)
    linked = [part.linked(part.numbered(found.geoids)) for part in parts]
    codes = link_codes(joint.links, linked)
    divisions = [PlaceDivision(STATUSES[status]) for status in found.status.tolist()]
    for program in found.programs:
        order = np.argsort(program.place, kind="stable")
        starts, ends = (
            np.searchsorted(program.place[order], program.places, side).tolist()
            for side in ("left", "right")
        )
        for unit, start, end in zip(program.places.tolist(), starts, ends, strict=True):
            if found.status[unit] not in {PROVEN, BOUNDED, UNDECIDED}:
                continue
            here = np.sort(order[start:end])
            own = program.columns[here]
            records = PlaceRecords(
                links,
                LinkCodes(codes.code[:, own], codes.size[:, own]),
                program.part[here],
                program.bounds.upper[here],
            )
            geoid = found.geoids[unit]
            seed = digest_seed(options.fixed_seed, "division", geoid)
            division = _search(records, program, here, options, seed).division()
            if division is None:
                level = parts[0].made.plan.release.geography.unit.name
                raise ContradictionError(
                    f"{level} {geoid}: all counts are possible together under the links "
                    f"of {joint.name!r}, but for no division of people into households of which "
                    "each has the links by itself; does each of these links hold for every "
                    "household and its members?"
                )
            divisions[unit] = division
    return divisions


def _search(
    records: PlaceRecords, program: JointProgram, here: IntArray, options: Joint, seed: int
) -> _Search:
    """Set up the search in one place, whose candidates are ``here`` in the program."""
    part = program.part[here]
    listing = list_compositions(records, rows_within(program.own, here), options.compositions)
    return _Search(
        listing,
        rows_within(program.rows, here),
        program.bounds.upper[here],
        program.cell[here],
        records.is_counted & (part == 1),
        part < _TOLD,
        Effort(seed, options.unit_seconds),
    )


@dataclass(frozen=True)
class _Search:
    """The program of Eq. (division) in one place.

    Attributes:
        rows: Rows over the candidates.
        upper: Upper bound of each candidate.
        is_household: Whether each candidate is a household with members, of the second part.
        is_told: Whether each candidate is of a part whose records are reported.
    """

    listing: Listing
    rows: LinearConstraints
    upper: IntArray
    cell: IntArray
    is_household: BoolArray
    is_told: BoolArray
    effort: Effort

    def division(self) -> PlaceDivision | None:
        """Find the households that are in every division; None if there is no division."""
        listing, E = self.listing, self.listing.expansion
        if not listing.compositions and not listing.is_complete:
            return PlaceDivision(STATUSES[BOUNDED])
        A = sparse.csr_array(self.rows.A @ E)
        A.eliminate_zeros()
        rows = LinearConstraints(A, self.rows.least, self.rows.most)
        found = propagate_signed(rows, self._most())
        if found.conflict.any():
            return None
        nowhere = np.zeros(E.shape[1], dtype=np.int64)
        bounds = Bounds(found.lower, found.upper, nowhere > 0, found.conflict)
        values, status, seconds = found.lower.copy(), PROVEN, 0.0
        components = split_components(rows, bounds, nowhere, targets=nowhere, pack=1)
        open_ = next(components, None)  # what belongs to one place stays together
        if open_ is not None:
            solution = solve_within(open_.program, self.effort)
            seconds = solution.deterministic_time
            if solution.outcome is Feasibility.INFEASIBLE:
                return None
            if solution.outcome is Feasibility.UNDECIDED:
                return PlaceDivision(STATUSES[UNDECIDED], listing.compositions, seconds=seconds)
            values[open_.columns] = solution.values
        told, sums = self._alike(values)
        least = sums @ values
        if open_ is not None and len(least):
            own = sparse.csr_array(sums[:, open_.columns])
            start = Start([solution.values], np.empty(0, dtype=np.int64))
            ledger = least_records(open_.program, own, start, self.effort)
            least += ledger.lower - own @ solution.values
            seconds += ledger.effort
            status = BOUNDED if ledger.is_open_below.any() else PROVEN
        households: IntArray = self.is_household.astype(np.int64) @ E
        most = -1
        if (number := int(households @ values)) == least.sum():
            # Other divisions may have these households and more: counts may not bound their number.
            most = number
            if open_ is not None and (here := households[open_.columns]).any():
                ledger = self._greatest(open_.program, here, solution.values, seconds)
                most += int(ledger.upper[0]) - int(here @ solution.values)
                seconds += ledger.effort
        return PlaceDivision(
            STATUSES[status if listing.is_complete else BOUNDED],
            listing.compositions,
            most,
            tuple(self._certain(told, least)),
            seconds,
        )

    def _greatest(
        self, program: IntegerProgram, count: IntArray, known: IntArray, spent: float
    ) -> Ledger:
        """Find the greatest value of a count, or an upper bound if the budget runs out.

        Args:
            spent: Deterministic seconds.
        """
        ledger = Ledger(program, sparse.csr_array(count[None]), [known])
        search = EndSearch(ledger, replace(self.effort, limit=self.effort.limit - spent))
        search.bound(np.array([0]), np.array([-1]))
        if ledger.is_open(0, -1):
            search.tighten(np.array([0]), Ends.UPPER)
        return ledger

    def _most(self) -> IntArray:
        """Return the upper bound of each variable by its candidates."""
        E = sparse.csc_array(self.listing.expansion)
        if not E.nnz:
            return np.zeros(E.shape[1], dtype=np.int64)
        most: IntArray = np.minimum.reduceat(self.upper[E.indices] // E.data, E.indptr[:-1])
        return most

    def _alike(self, values: IntArray) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Group the compositions of a division that are equal in the output columns.

        Returns:
            Sparse (histogram cells × distinct compositions) records of each, and sparse (distinct
            compositions × variables) which variables are this composition.
        """
        inside = np.flatnonzero(self.is_told)
        cells, place = np.unique(self.cell[inside], return_inverse=True)
        ones = np.ones(len(inside), dtype=np.int64)
        shape = (len(cells), len(self.cell))
        to_cells = sparse.csr_array((ones, (place.ravel(), inside)), shape=shape)
        told = sparse.csc_array(to_cells @ self.listing.expansion)[:, : self.listing.compositions]
        there = sparse.csc_array(told[:, np.flatnonzero(values[: self.listing.compositions])])
        # |a − b|² = |a|² + |b|² − 2ab, in whole numbers: 0 where two tell the same.
        lengths, own = (np.asarray(each.power(2).sum(axis=0)).ravel() for each in (told, there))
        same = lengths + own[:, None] == 2 * (there.T @ told).toarray()
        _, first = np.unique(same, axis=0, return_index=True)
        first = np.sort(first)
        wide = np.zeros((len(first), self.listing.expansion.shape[1]), dtype=np.int64)
        wide[:, : self.listing.compositions] = same[first]
        columns = sparse.csr_array(there[:, first].T)
        columns.indices = cells[columns.indices].astype(columns.indices.dtype)
        return columns, sparse.csr_array(wide)

    def _certain(self, told: sparse.csr_array, least: IntArray) -> Iterator[CertainHousehold]:
        """Yield the compositions whose least number is positive."""
        for at in np.flatnonzero(least > 0).tolist():
            entries = slice(told.indptr[at], told.indptr[at + 1])
            cells = np.repeat(told.indices[entries], told.data[entries]).tolist()
            yield CertainHousehold(int(least[at]), tuple(sorted(cells)))


def told_divisions(divisions: Sequence[PlaceDivision]) -> list[pl.Series]:
    """Return the results of each place as columns."""
    certain = [sum(each.number for each in division.certain) for division in divisions]
    return [
        pl.Series("compositions", [each.compositions for each in divisions], pl.Int32),
        pl.Series("certain_with_members", certain, pl.Int32),
        pl.Series("is_division_unique", [each.is_unique for each in divisions]),
        pl.Series("division", [each.status for each in divisions]),
    ]


def certain_households(
    parts: Sequence[Part], geoids: pl.Series, divisions: Sequence[PlaceDivision]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """List each household that is certain with every member, and each such member.

    Returns:
        The geoid, ``composition`` (from 1 in each place), ``households`` (how many of them there
        are) and the histogram columns of households; the geoid, ``composition``, ``members`` (how
        many alike are in each) and those of people.
    """
    people, homes = (part.frame() for part in parts[:_TOLD])
    rows: list[tuple[str, int, int, int, int]] = []
    for geoid, division in zip(geoids, divisions, strict=True):
        for number, each in enumerate(division.certain, 1):
            cells, times = np.unique(each.cells, return_counts=True)
            rows += [
                (geoid, number, each.number, cell, often)
                for cell, often in zip(cells.tolist(), times.tolist(), strict=True)
            ]
    key = people.columns[0]
    names = {key: pl.String, "composition": pl.Int32, "households": pl.Int32}
    names |= {"cell": pl.Int64, "members": pl.Int32}
    every = pl.DataFrame(rows, schema=names, orient="row")
    first = people.height
    of_home = every.filter(pl.col("cell") >= first)
    of_people = every.filter(pl.col("cell") < first)
    return (
        pl.concat([of_home[:, :3], homes[of_home["cell"] - first][:, 1:]], how="horizontal"),
        pl.concat(
            [
                of_people.select(key, "composition", "members"),
                people[of_people["cell"]][:, 1:],
            ],
            how="horizontal",
        ),
    )
