"""The geounits of a batch by coverage pattern, with the counts or intervals of their rows.

The strata of a unit determine whether its number of people is bounded or known, and which features
are distinguished there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.errors import SourceError
from recon_cli.frames import OPEN
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.grain import RowGroup
from recon_cli.model.plan import Identity, PatternPlan, Plan
from recon_cli.plurals import plural
from recon_cli.publication import MOST_PEOPLE
from recon_cli.statement.stored_counts import CountIntervals


@dataclass(frozen=True)
class Stratum:
    """Geounits of one pattern with the counts of their rows.

    Attributes:
        pattern: Place of the pattern in ``plan.patterns``.
        geounits: Row numbers of the geounits in the partition.
        of_unit: For each unit of the batch its place in `geounits`, or −1.
        groups: Rows by constrained features.
        rhs: (geounits × rows) right-hand sides; for intervals the upper ends,
            `recon_cli.frames.OPEN` where there is none.
        screens: Further margins, sums of rows, over few features.
        screen_counts: (geounits × screen rows) counts.
        least: (geounits × rows) lower ends; None where they equal `rhs`.
        needed: (geounits × rows) mask of rows that do not follow from others; None for all.
    """

    pattern: int
    geounits: IntArray
    of_unit: IntArray
    groups: tuple[RowGroup, ...]
    rhs: IntArray
    screens: tuple[RowGroup, ...]
    screen_counts: IntArray
    least: IntArray | None = None
    needed: BoolArray | None = None

    @property
    def least_or_rhs(self) -> IntArray:
        """Return (geounits × rows) lower bounds."""
        return self.rhs if self.least is None else self.least

    @property
    def is_needed(self) -> BoolArray:
        """Return a (geounits × rows) mask of rows that do not follow from others."""
        return np.ones(self.rhs.shape, dtype=bool) if self.needed is None else self.needed


def find_strata(
    plan: Plan, counts: PartitionCounts, batch: slice
) -> tuple[list[Stratum], list[IntArray], list[IntArray]]:
    """Group the batch's geounits by pattern, with the counts of their rows.

    Returns:
        The strata; for each its lifted counts (geounits × fine rows), no rows for intervals; and
        the row numbers of geounits whose counts contradict each other.

    Raises:
        SourceError: A geounit has more people than can be held.
    """
    if counts.intervals is not None:
        return _interval_strata(plan, counts, counts.intervals, batch)
    strata: list[Stratum] = []
    fine: list[IntArray] = []
    suspects: list[IntArray] = []
    published: dict[int, tuple[sparse.csr_array, IntArray]] = {}
    for at, (pattern, sums) in enumerate(zip(plan.patterns, plan.sums, strict=True)):
        geounits, place = counts.geounits_of(pattern.level, pattern.pattern, batch)
        if not len(geounits):
            continue
        table = counts.matrix[geounits]
        published[pattern.pattern] = (table, place)
        combined = (table @ sums.matrix).toarray()
        rhs, lifted, screens, checks = np.split(combined, sums.ends, axis=1)
        fine.append(lifted)
        wrong = (rhs < 0).any(axis=1) | (lifted < 0).any(axis=1) | (checks != 0).any(axis=1)
        suspects.append(geounits[wrong])
        strata.append(
            Stratum(
                pattern=at,
                geounits=geounits,
                of_unit=place,
                groups=pattern.groups,
                rhs=rhs,
                screens=pattern.screens,
                screen_counts=screens,
            )
        )
    for stratum in strata:
        identity = plan.sums[stratum.pattern].identity
        if identity is not None:
            table, place = published[plan.patterns[stratum.pattern].pattern]
            suspects.append(stratum.geounits[_broken(identity, table, place, published)])
    return strata, fine, suspects


def _broken(
    identity: Identity,
    table: sparse.csr_array,
    place: IntArray,
    published: dict[int, tuple[sparse.csr_array, IntArray]],
) -> BoolArray:
    """Test which coarse geounits differ from the sum of their units."""
    difference = table @ identity.coarse
    for pattern, matrix in identity.units.items():
        if pattern not in published:
            continue
        unit_table, unit_place = published[pattern]
        rows = np.flatnonzero((unit_place >= 0) & (place >= 0))
        ones = np.ones(len(rows), dtype=np.int64)
        gather = sparse.csr_array(
            (ones, (place[rows], unit_place[rows])),
            shape=(table.shape[0], unit_table.shape[0]),
        )
        difference = difference - (gather @ unit_table) @ matrix
    different: BoolArray = (difference.toarray() != 0).any(axis=1)
    return different


def _interval_strata(
    plan: Plan, counts: PartitionCounts, intervals: CountIntervals, batch: slice
) -> tuple[list[Stratum], list[IntArray], list[IntArray]]:
    """Build strata with the propagated intervals of all margins; every pattern has a lattice."""
    strata: list[Stratum] = []
    suspects: list[IntArray] = []
    for at, pattern in enumerate(plan.patterns):
        geounits, place = counts.geounits_of(pattern.level, pattern.pattern, batch)
        if not len(geounits) or pattern.lattice is None:
            continue
        columns = np.array([plan.columns[cell] for cell in pattern.margins.columns])
        low, high = (ends[:, columns] for ends in intervals.of(geounits))
        found = pattern.lattice.intervals(low, high)
        suspects.append(geounits[(found.least > found.most).any(axis=1)])
        _require_room(plan, counts, geounits, found.least)
        strata.append(
            Stratum(
                pattern=at,
                geounits=geounits,
                of_unit=place,
                groups=pattern.groups,
                rhs=found.most,
                screens=pattern.screens,
                screen_counts=found.most[:, list(pattern.screened)],
                least=found.least,
                needed=found.needed,
            )
        )
    fine = [np.zeros((len(stratum.geounits), 0), dtype=np.int64) for stratum in strata]
    return strata, fine, suspects


def _require_room(plan: Plan, counts: PartitionCounts, geounits: IntArray, least: IntArray) -> None:
    """Refuse geounits whose statements prove more people than a partition can have.

    Raises:
        SourceError: A geounit is refused; the message names it.
    """
    beyond = np.flatnonzero((least > MOST_PEOPLE).any(axis=1))
    if len(beyond):
        at = int(beyond[0])
        raise SourceError(
            f"geoid {counts.geoids[int(geounits[at])]}: the counts add up to "
            f"{int(least[at].max()):,}; one partition holds at most {MOST_PEOPLE:,} "
            f"{plural(plan.release.record)}, so choose a finer partition level"
        )


def bounded_units(
    plan: Plan, strata: Sequence[Stratum], units: int, *, is_exact: bool
) -> BoolArray:
    """Test which units have every possible record in some row, so that rows bound their number.

    For intervals, this needs an upper bound of the count of everybody, or of all margins.
    """
    if not is_exact:
        return _bounded_by_intervals(plan, strata, units)
    inside = np.array([stratum.of_unit >= 0 for stratum in strata]).reshape(-1, units)
    patterns, which = np.unique(inside, axis=1, return_inverse=True)
    bounded = np.zeros(patterns.shape[1], dtype=bool)
    for column in range(patterns.shape[1]):
        mentioned = np.zeros(1, dtype=bool)
        for stratum, used in zip(strata, patterns[:, column], strict=True):
            if used:
                mentioned = mentioned | plan.mentioned[stratum.pattern]
        bounded[column] = mentioned.all()
    is_bounded: BoolArray = bounded[which.ravel()]
    return is_bounded


def _bounded_by_intervals(plan: Plan, strata: Sequence[Stratum], units: int) -> BoolArray:
    bounded = np.zeros(units, dtype=bool)
    for stratum in strata:
        pattern = plan.patterns[stratum.pattern]
        finite = stratum.rhs < OPEN
        total = _total(plan, pattern)
        if total is not None:
            here: BoolArray = finite[:, total]
        else:
            holds_everybody = bool(plan.mentioned[stratum.pattern].all())
            here = np.logical_and(finite.all(axis=1), holds_everybody)
        inside = stratum.of_unit >= 0
        bounded[inside] |= here[stratum.of_unit[inside]]
    return bounded


def units_with_total(plan: Plan, strata: Sequence[Stratum], units: int) -> BoolArray:
    """Test which units' own tables or statements determine their number of people."""
    has_total = np.zeros(units, dtype=bool)
    for stratum in strata:
        pattern = plan.patterns[stratum.pattern]
        if pattern.level != plan.release.geography.unit.name:
            continue
        inside = stratum.of_unit >= 0
        if pattern.lattice is None:
            has_total[inside] |= plan.release.full in pattern.margins.known
        elif (total := _total(plan, pattern)) is not None:
            fixed = stratum.least_or_rhs[:, total] == stratum.rhs[:, total]
            has_total[inside] |= fixed[stratum.of_unit[inside]]
    return has_total


def _total(plan: Plan, pattern: PatternPlan) -> int | None:
    """Return the row that counts everybody."""
    rows = zip(pattern.masks, pattern.tally, strict=True)
    full = (plan.release.full, None)
    return next((row for row, masks in enumerate(rows) if masks == full), None)


def seen_in_units(plan: Plan, strata: Sequence[Stratum], units: int) -> BoolArray:
    """Return a (units × features) mask of features that published cells in use distinguish."""
    seen = np.zeros((units, len(plan.grain.sizes)), dtype=bool)
    for stratum in strata:
        seen[stratum.of_unit >= 0] |= np.array(plan.patterns[stratum.pattern].margins.seen)
    return seen
