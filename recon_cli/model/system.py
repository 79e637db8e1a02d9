"""Systems: a batch of regions as sparse equations, rows × candidates = published counts.

See *system* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from recon_cli.arrays import AtomArray, BoolArray, IntArray
from recon_cli.errors import SolverError
from recon_cli.model.bounds import Bounds, propagate
from recon_cli.model.candidates import Candidates, ListingLimit, find_candidates
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import Plan
from recon_cli.model.program import LinearConstraints, relax
from recon_cli.model.statistic_texts import KnownCounts
from recon_cli.model.statistics import JoinedRows, join_statistics, statistic_features
from recon_cli.model.strata import (
    Stratum,
    bounded_units,
    find_strata,
    seen_in_units,
    units_with_total,
)

#: Units in a batch. Bounds memory (counts are dense by unit) and is large enough for NumPy.
BATCH = 4096
#: Units in a batch where counts are intervals: both ends of all margins are dense then.
INTERVAL_BATCH = 256
#: Candidates per unit, on average over a region, up to which they are listed rather than held as
#: dense arrays, where counts are intervals.
MOST_LISTED = 300
#: Most candidates of a batch where counts are intervals: each may be in hundreds of rows.
MOST_CANDIDATES = 200_000


@dataclass(frozen=True)
class System:
    """The equations of some whole regions.

    Attributes:
        units: Row numbers of the batch's units in the partition.
        regions: For each unit the number of its region in the partition, sorted.
        strata: The geounits of the batch with their right-hand sides.
        rows: One equality for each positive right-hand side.
        row_geounit: For each row the row number of its geounit in the partition.
        row_of_pattern: For each row its number among the rows of its geounit's coverage pattern.
        fine: For each stratum (geounits × fine rows) counts for its lift.
        is_bounded: For each unit whether every possible record is in some row, so that tables
            bound the number of people; False for a unit that stands for unlisted units.
        has_total: For each unit whether its own tables give its number of people.
        seen: (units × features) whether a published cell in use tells the feature's values apart.
        suspects: Row numbers of geounits whose counts contradict each other before propagation.
        is_listed: For each unit whether its candidates are among `candidates`. Where they are too
            many, a dense domain stands for them.
        joined: The rows of counts and printed statistics; None where nothing is printed.
    """

    units: IntArray
    regions: IntArray
    strata: tuple[Stratum, ...]
    candidates: Candidates
    rows: LinearConstraints
    row_geounit: IntArray
    row_of_pattern: IntArray
    fine: tuple[IntArray, ...]
    is_bounded: BoolArray
    has_total: BoolArray
    seen: BoolArray
    suspects: IntArray
    is_listed: BoolArray
    joined: JoinedRows | None = None

    @property
    def program(self) -> LinearConstraints:
        """Return the rows that a solution meets: of counts, and of printed statistics."""
        return self.rows if self.joined is None else self.joined.columns.rows

    @property
    def people_rows(self) -> LinearConstraints:
        """Return the rows of `program` over single candidates."""
        return self.rows if self.joined is None else self.joined.values.rows

    @property
    def is_printed_exactly(self) -> bool:
        """Report whether all people who meet the rows print the same statistics."""
        return self.joined is None or self.joined.is_exact

    def people_rows_of_units(self) -> LinearConstraints:
        """Return `people_rows` relaxed unit by unit: see `recon_cli.model.program.relax`.

        Statistics of coarser geounits are left out, since they bound no single unit.
        """
        rows, of_row = self.people_rows, self.row_geounit
        if self.joined is not None:
            of_row = self.joined.row_geounit[: len(rows.least)]
        own = np.isin(of_row, self.units)
        kept = np.flatnonzero(own | (np.arange(len(own)) < len(self.row_geounit)))
        whole = LinearConstraints(sparse.csr_array(rows.A[kept]), rows.least[kept], rows.most[kept])
        return relax(whole, own[kept], self.candidates.unit)

    @property
    def column_unit(self) -> IntArray:
        """Return the place of the unit of each column of `program`."""
        return self.candidates.unit if self.joined is None else self.joined.columns.unit

    @property
    def column_region(self) -> IntArray:
        """Return the number of the region of each column of `program`, sorted."""
        return self.regions[self.column_unit]

    def geounits_of(self, rows: IntArray | BoolArray) -> IntArray:
        """Return the row numbers of the geounits to which some rows of `program` belong."""
        of_row = self.row_geounit if self.joined is None else self.joined.row_geounit
        found = np.unique(of_row[rows])
        return found[found >= 0]

    def functionals(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Return (counts × columns of `program`) from (counts × candidates)."""
        return counts if self.joined is None else self.joined.functionals(counts)

    def placed(self, values: IntArray) -> IntArray:
        """Return the people of each candidate from values of the columns of `program`."""
        return values if self.joined is None else self.joined.placed(values)

    def bounds(self) -> Bounds:
        """Tighten the bounds of the columns of `program`."""
        return propagate(self.rows) if self.joined is None else self.joined.bounds(self.rows)

    def bounds_of_candidates(self, bounds: Bounds) -> tuple[IntArray, IntArray]:
        """Return the least and the greatest number of people of each candidate."""
        if self.joined is None:
            return bounds.lower, bounds.upper
        people = self.joined.people
        is_alone = np.bincount(people)[people] == 1
        return np.where(is_alone, bounds.lower[people], 0), bounds.upper[people]


def build_systems(
    plan: Plan,
    counts: PartitionCounts,
    batch: int = BATCH,
    *,
    most_listed: int | None = None,
    must_list: bool = True,
    whole_regions: bool = True,
) -> Iterator[System]:
    """Yield the systems of a partition, Eq. (published), for batches of whole regions.

    Args:
        batch: Units in a batch, exceeded only by a region that is larger.
        most_listed: Most candidates per unit, on average over a region, to list; None for as many
            as possible.
        must_list: Where counts are intervals, refuse more candidates than can be listed; else
            leave them unlisted.
        whole_regions: If False, and counts are intervals, batches have as many units as can be
            listed and may split a region, for callers that consider each unit alone.

    Raises:
        SolverError: There are more candidates than can be listed.
    """
    if counts.intervals is not None:
        batch = min(batch, INTERVAL_BATCH)
        if not whole_regions:
            yield from _listed_units(plan, counts, slice(0, len(counts.units)), batch)
            return
    for units in whole_regions_of(counts, batch):
        yield build_system(plan, counts, units, most_listed, must_list=must_list)


def whole_regions_of(counts: PartitionCounts, batch: int = INTERVAL_BATCH) -> Iterator[slice]:
    """Yield batches of whole regions; a batch larger than ``batch`` units is a single region."""
    ends = np.append(np.flatnonzero(np.diff(counts.region)) + 1, len(counts.units)).tolist()
    first = last = 0
    for end in ends:
        if end - first > batch and last > first:
            yield slice(first, last)
            first = last
        last = end
    if last > first:
        yield slice(first, last)


def _listed_units(
    plan: Plan, counts: PartitionCounts, units: slice, batch: int
) -> Iterator[System]:
    """Yield systems of some units, halving batches that have too many candidates to list."""
    number = units.stop - units.start
    if 0 < number <= batch:
        system = build_system(plan, counts, units, must_list=number == 1)
        if system.is_listed.all():
            yield system
            return
    if number:
        middle = units.start + number // 2
        yield from _listed_units(plan, counts, slice(units.start, middle), batch)
        yield from _listed_units(plan, counts, slice(middle, units.stop), batch)


def build_system(
    plan: Plan,
    counts: PartitionCounts,
    batch: slice,
    most_listed: int | None = None,
    *,
    must_list: bool = True,
) -> System:
    """Build the system of some units; see `build_systems`."""
    units = counts.units[batch]
    if most_listed is None and not must_list and counts.intervals is not None:
        most_listed = max(MOST_CANDIDATES // len(units), 1)
    strata, fine, suspects = find_strata(plan, counts, batch)
    limit = None if most_listed is None else ListingLimit(counts.region[batch], most_listed)
    candidates, listed = find_candidates(plan.grain, len(units), strata, plan.impossible, limit)
    if len(candidates.unit) > MOST_CANDIDATES and counts.intervals is not None:
        raise SolverError(
            f"{plan.release.region.name} {counts.region_geoids[int(counts.region[batch][0])]}: the "
            f"statements allow {len(candidates.unit):,} histogram cells in {len(units):,} units; "
            f"at most {MOST_CANDIDATES:,} can be listed: use tables that tell fewer values apart, "
            "or that publish exact zeros"
        )
    equations = _equations(plan, strata, candidates, listed)
    is_bounded = bounded_units(plan, strata, len(units), is_exact=counts.intervals is None)
    # Counts of a larger place bound its unlisted units, too, all together.
    is_whole = is_bounded
    is_bounded = is_bounded & counts.is_listed[units]
    joined = None
    if counts.statistics is not None and len(
        counts.statistics.at(np.concatenate(counts.lying_in(batch)))
    ):
        _require_listed(plan, counts, units, listed)
        joined = join_statistics(
            plan,
            counts,
            batch,
            candidates=candidates,
            rows=equations.rows,
            row_geounit=equations.row_geounit,
            apart=_margins(plan, strata, candidates),
            known=KnownCounts.of_rows(_margins_of_places(plan, strata, candidates)),
            is_whole=is_whole,
        )
        suspects = [*suspects, joined.suspects]
    seen = seen_in_units(plan, strata, len(units))
    if joined is not None:
        seen[:, list(statistic_features(plan.release))] = True
    return System(
        units=units,
        regions=counts.region[batch],
        strata=tuple(strata),
        candidates=candidates,
        rows=equations.rows,
        row_geounit=equations.row_geounit,
        row_of_pattern=equations.row_of_pattern,
        fine=tuple(fine),
        is_bounded=is_bounded,
        has_total=units_with_total(plan, strata, len(units)),
        seen=seen,
        suspects=np.unique(np.concatenate([*suspects, equations.unmatched])),
        is_listed=listed,
        joined=joined,
    )


def _margins(plan: Plan, strata: Sequence[Stratum], candidates: Candidates) -> sparse.csr_array:
    """Return sparse (margins × candidates): all margins of all patterns, needed or not."""
    none = np.empty(0, dtype=np.int64)
    rows, columns, values, first = [none], [none], [none], 0
    for stratum in strata:
        every = replace(stratum, needed=None)
        for cell, row, coefficient in row_entries(plan, every, candidates):
            rows.append(row + first)
            columns.append(cell)
            values.append(coefficient)
        first += stratum.rhs.shape[1]
    entries = (np.concatenate(rows), np.concatenate(columns))
    shape = (first, len(candidates.unit))
    return sparse.csr_array((np.concatenate(values), entries), shape=shape)


def _margins_of_places(
    plan: Plan, strata: Sequence[Stratum], candidates: Candidates
) -> list[LinearConstraints]:
    """Return all margins of each stratum, place by place, between their bounds by counts."""
    found = []
    for stratum in strata:
        every = replace(stratum, needed=None)
        entries = list(row_entries(plan, every, candidates))
        cell, row, coefficient = (np.concatenate(part) for part in zip(*entries, strict=True))
        places, width = stratum.rhs.shape
        at = stratum.of_unit[candidates.unit[cell]] * width + row
        shape = (places * width, len(candidates.unit))
        A = sparse.csr_array((coefficient, (at, cell)), shape=shape)
        ends = stratum.least_or_rhs.ravel(), stratum.rhs.ravel()
        found.append(LinearConstraints(A, *ends))
    return found


def _require_listed(
    plan: Plan, counts: PartitionCounts, units: IntArray, listed: BoolArray
) -> None:
    """Refuse statistics where the histogram cells are too many to list.

    Raises:
        SolverError: The statistics are refused; the message names a unit.
    """
    if not listed.all():
        geoid = counts.geoids[int(units[np.argmin(listed)])]
        raise SolverError(
            f"{plan.release.geography.unit.name} {geoid}: there are too many combinations of "
            "values to list, and printed statistics need a list; use fewer tables of counts "
            "(`tables`), or take the statistics out"
        )


@dataclass(frozen=True)
class _Equations:
    """The equations of a batch.

    Attributes:
        rows: One equality for each right-hand side that has a candidate.
        row_geounit: For each row the row number of its geounit in the partition.
        row_of_pattern: For each row its number among the rows of its geounit's coverage pattern.
        unmatched: Row numbers of geounits with a positive count that no candidate can fill.
    """

    rows: LinearConstraints
    row_geounit: IntArray
    row_of_pattern: IntArray
    unmatched: IntArray


def _equations(
    plan: Plan, strata: Sequence[Stratum], candidates: Candidates, listed: BoolArray
) -> _Equations:
    """Build the rows that contain a candidate: Eq. (published); rows of zeros contain none."""
    none = np.empty(0, dtype=np.int64)  # so that a release that publishes nothing has no rows
    numbers, cells, coefficients = [none], [none], [none]
    least, most, geounits, unmatched, of_pattern = [none], [none], [none], [none], [none]
    rows = 0
    for stratum in strata:
        width = stratum.rhs.shape[1]
        used = np.zeros(stratum.rhs.size, dtype=bool)
        keys = [none]
        for cell, row, coefficient in row_entries(plan, stratum, candidates):
            keys.append(stratum.of_unit[candidates.unit[cell]] * width + row)
            used[keys[-1]] = True
            cells.append(cell)
            coefficients.append(coefficient)
        keys_used = np.flatnonzero(used)
        number = np.empty(len(used), dtype=np.int64)
        number[keys_used] = np.arange(rows, rows + len(keys_used))
        rows += len(keys_used)
        numbers.append(number[np.concatenate(keys)])
        of_row, column = np.divmod(keys_used, max(width, 1))
        most.append(stratum.rhs[of_row, column])
        least.append(stratum.least_or_rhs[of_row, column])
        geounits.append(stratum.geounits[of_row])
        of_pattern.append(column)
        hopeless = (stratum.least_or_rhs > 0) & stratum.is_needed & ~used.reshape(stratum.rhs.shape)
        unlisted = stratum.of_unit[~listed & (stratum.of_unit >= 0)]
        hopeless[unlisted] = False
        unmatched.append(stratum.geounits[hopeless.any(axis=1)])
    entries = (np.concatenate(numbers), np.concatenate(cells))
    A = sparse.csr_array(
        (np.concatenate(coefficients), entries), shape=(rows, len(candidates.unit))
    )
    constraints = LinearConstraints(A, np.concatenate(least), np.concatenate(most))
    return _Equations(
        constraints,
        np.concatenate(geounits),
        np.concatenate(of_pattern),
        np.concatenate(unmatched),
    )


def row_entries(
    plan: Plan, stratum: Stratum, candidates: Candidates
) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Yield the candidates in each row of their geounit, with the coefficients."""
    tally = plan.patterns[stratum.pattern].tally
    weights = _weights(plan, tally, candidates.atoms)
    is_inside = stratum.of_unit[candidates.unit] >= 0
    for group in stratum.groups:
        for row in group.rows_of(candidates.atoms):
            is_entry = (row >= 0) & is_inside
            if stratum.needed is not None:
                is_entry &= stratum.needed[stratum.of_unit[candidates.unit], row]
            cell = np.flatnonzero(is_entry)
            yield cell, row[cell], _coefficients(row[cell], cell, weights)


def _weights(
    plan: Plan, tally: Sequence[int | None], atoms: AtomArray
) -> list[tuple[BoolArray, IntArray]]:
    """Return for each tallied feature a mask of its rows, and the candidates' option counts."""
    tallied = sorted({at for at in tally if at is not None})
    return [
        (
            np.array([at == feature for at in tally], dtype=bool),
            plan.grain.picked(plan.release, feature)[atoms[:, feature]],
        )
        for feature in tallied
    ]


def _coefficients(
    row: IntArray, cell: IntArray, weights: Sequence[tuple[BoolArray, IntArray]]
) -> IntArray:
    ones = np.ones(len(row), dtype=np.int64)
    for is_tallied, weight in weights:
        tallied = is_tallied[row]
        ones[tallied] = weight[cell[tallied]]
    return ones
