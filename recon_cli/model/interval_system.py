"""The geounits of a batch where counts are intervals: rows between two ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.errors import SourceError
from recon_cli.frames import OPEN
from recon_cli.model.candidates import Stratum
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import PatternPlan, Plan
from recon_cli.plurals import plural
from recon_cli.publication import MOST_PEOPLE
from recon_cli.statement.stored_counts import CountIntervals


def interval_strata(
    plan: Plan, counts: PartitionCounts, intervals: CountIntervals, batch: slice
) -> tuple[list[Stratum], list[IntArray], list[IntArray]]:
    """The batch's geounits by pattern, with the propagated intervals of all margins.

    Args:
        plan: Every pattern has a lattice.

    Returns:
        The strata; for each the counts that are lifted, none; and row numbers of geounits whose
        statements contradict each other.

    Raises:
        SourceError: A geounit has more people than can be held.
    """
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
    """Refuse geounits whose statements prove more people than a partition holds.

    Raises:
        SourceError: There is one; names it.
    """
    beyond = np.flatnonzero((least > MOST_PEOPLE).any(axis=1))
    if len(beyond):
        at = int(beyond[0])
        raise SourceError(
            f"geoid {counts.geoids[int(geounits[at])]}: the counts add up to "
            f"{int(least[at].max()):,}; one partition holds at most {MOST_PEOPLE:,} "
            f"{plural(plan.release.record)}, so choose a finer partition level"
        )


def bounded_units(plan: Plan, strata: Sequence[Stratum], units: int) -> BoolArray:
    """Units whose number of people has an upper bound: that of all, or those of all margins."""
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
    """Units whose own statements prove their number of people."""
    known = np.zeros(units, dtype=bool)
    for stratum in strata:
        pattern = plan.patterns[stratum.pattern]
        total = _total(plan, pattern)
        if pattern.level == plan.release.geography.unit.name and total is not None:
            inside = stratum.of_unit >= 0
            fixed = stratum.least_or_rhs[:, total] == stratum.rhs[:, total]
            known[inside] |= fixed[stratum.of_unit[inside]]
    return known


def _total(plan: Plan, pattern: PatternPlan) -> int | None:
    """The row that counts everybody."""
    rows = zip(pattern.masks, pattern.tally, strict=True)
    full = (plan.release.full, None)
    return next((row for row, masks in enumerate(rows) if masks == full), None)
