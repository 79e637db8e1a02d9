"""A solution as person records: one row per person, in the release's own columns.

Lifted features are put back: any allocation within a sum meets every fine count exactly.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import AtomArray, IntArray
from recon_cli.capabilities.reconstruct.solution import BatchSolution
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import Plan
from recon_cli.model.strata import Stratum
from recon_cli.model.system import System
from recon_cli.seeding import generator


def person_records(
    plan: Plan, counts: PartitionCounts, solved: BatchSolution, seed: int
) -> pl.DataFrame:
    """Write a solution out.

    Where a unit is unsolved people are missing, and nothing is lifted in its region. A feature
    that the tables see only in groups takes the lowest value of its group; one that no table of
    the unit or of its coarser geounits sees is null.

    Args:
        seed: Decides the allocation of lifted values.

    Returns:
        Columns: the unit's geoid, the release's microdata columns, ``certain``.
    """
    system, people = solved.system, solved.people
    cells = solved.cells
    cell = np.repeat(np.arange(len(people)), people)
    atoms = cells.atoms[cell]
    values = np.stack([lowest[atoms[:, f]] for f, lowest in enumerate(plan.grain.lowest)], axis=1)
    if plan.is_lifted:
        order = _random_keys(counts, system, cell, seed)
        settled = ~np.isin(system.regions, system.regions[solved.unsolved])
        lift_values(plan, system, cell, values, order=order, settled=settled)
    rank = np.arange(len(cell)) - np.repeat(np.cumsum(people) - people, people)
    resolved = histogram_resolved(plan, cells.atoms)
    unit = cells.unit[cell]
    seen = system.seen[unit]
    return pl.DataFrame(
        [
            counts.geoids[system.units[unit]].alias(plan.release.geoid_column),
            *(column.write(values, seen) for column in plan.microdata),
            pl.Series("certain", (rank < solved.lower[cell]) & resolved[cell]),
        ]
    )


def histogram_resolved(plan: Plan, atoms: AtomArray) -> npt.NDArray[np.bool_]:
    """For each candidate whether it lies inside one cell of the release's histogram."""
    resolved = np.ones(len(atoms), dtype=bool)
    for f, inside in plan.resolved.items():
        resolved &= inside[atoms[:, f]]
    return resolved


def _random_keys(
    counts: PartitionCounts, system: System, cell: IntArray, seed: int
) -> npt.NDArray[np.float64]:
    """A random key for each person, drawn region by region so that batches do not matter."""
    region = system.regions[system.candidates.unit[cell]]
    keys = np.empty(len(cell))
    starts = np.flatnonzero(np.diff(region, prepend=-1))
    ends = np.flatnonzero(np.diff(region, append=-1)) + 1
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        name = counts.region_geoids[int(region[start])]
        keys[start:end] = generator(seed, "lift", name).random(end - start)
    return keys


def lift_values(
    plan: Plan,
    system: System,
    person_cell: IntArray,
    values: IntArray,
    *,
    order: np.ndarray[tuple[int], np.dtype[np.float64]],
    settled: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> None:
    """Give the people of lifted cells their fine values, in place.

    Eq. (lift) of docs/method.md is why any allocation meets every fine count. Within one sum
    people take the fine values in the order of their random keys, which is a uniform draw among
    the allocations of people to values.

    Args:
        person_cell: For each person the candidate.
        values: (people × features) positions of feature values; lifted ones are overwritten.
        order: For each person a random key.
        settled: For each unit whether its region is solved completely; elsewhere nothing is
            lifted.
    """
    for at, stratum in enumerate(system.strata):
        pattern = plan.patterns[stratum.pattern]
        if not len(pattern.lift.fine):
            continue
        key = _sums(plan, stratum, system, person_cell)
        people = np.flatnonzero((key >= 0) & settled[system.candidates.unit[person_cell]])
        people = people[np.lexsort([order[people], key[people]])]
        counts = system.fine[at].copy()
        counts[np.unique(stratum.of_unit[~settled & (stratum.of_unit >= 0)])] = 0
        geounit, row = np.nonzero(counts)
        slot_key = geounit * len(pattern.masks) + pattern.first_sum + pattern.lift.sums[row]
        slots = np.lexsort([row, slot_key])
        rows = np.repeat(row[slots], counts[geounit[slots], row[slots]])
        atoms = system.candidates.atoms[person_cell[people]]
        for f, lowest in zip(pattern.lift.features, pattern.lift.values, strict=True):
            values[people, f] = lowest[rows, atoms[:, f]]


def _sums(plan: Plan, stratum: Stratum, system: System, person_cell: IntArray) -> IntArray:
    """For each person the (geounit, sum) they belong to as one number, or −1."""
    pattern = plan.patterns[stratum.pattern]
    cells = system.candidates
    key = np.full(len(cells.unit), -1, dtype=np.int64)
    place = stratum.of_unit[cells.unit]
    for group in stratum.groups:
        codes = group.codes(cells.atoms)
        for layer in group.layers:
            row = layer[codes]
            mine = (row >= pattern.first_sum) & (place >= 0)
            key[mine] = place[mine] * len(pattern.masks) + row[mine]
    return key[person_cell]
