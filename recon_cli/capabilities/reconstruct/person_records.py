"""Person records of a solution: one row per person, in the release's own columns.

Lifted features are restored: any allocation within a sum meets every fine count exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import AtomArray, IntArray
from recon_cli.capabilities.reconstruct.solution import BatchSolution
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import Plan
from recon_cli.model.strata import Stratum
from recon_cli.model.system import System
from recon_cli.schema import bits
from recon_cli.seeding import generator

#: Rule that selects a single value of a feature that the tables only group.
Within = Literal["lowest", "random", "middle"]


def person_records(
    plan: Plan,
    counts: PartitionCounts,
    solved: BatchSolution,
    seed: int,
    within: Within = "lowest",
) -> pl.DataFrame:
    """Write a solution as records.

    If a unit is unsolved, people are missing, and nothing is lifted in its region. A feature that
    no table of the unit or of its coarser geounits distinguishes is null.

    Args:
        seed: Decides the allocation of lifted values, and random values within a group.
        within: Selects a single value of a feature that the tables only group.

    Returns:
        Columns: the unit's geoid, the release's microdata columns, ``certain``.
    """
    system, people = solved.system, solved.people
    cells = solved.cells
    cell = np.repeat(np.arange(len(people)), people)
    values = solved.values
    if values is None:
        values = _values(plan, counts, solved, cell, seed=seed, within=within)
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


def _values(
    plan: Plan,
    counts: PartitionCounts,
    solved: BatchSolution,
    cell: IntArray,
    *,
    seed: int,
    within: Within,
) -> IntArray:
    """Return (people × features) positions of feature values.

    Args:
        cell: For each person the candidate.
    """
    system = solved.system
    region = system.regions[solved.cells.unit[cell]]
    group = solved.cells.atoms[cell].astype(np.int64)
    masks = [list(atoms) for atoms in plan.grain.atoms]
    if plan.is_lifted:
        order = _random_keys(counts, region, seed, "lift")
        settled = ~np.isin(system.regions, system.regions[solved.unsolved])
        lift_values(plan, system, cell, group, masks, order=order, settled=settled)
    values = np.empty(group.shape, dtype=np.int64)
    for f, feature in enumerate(plan.release.features):
        if within == "random" and any(mask.bit_count() > 1 for mask in masks[f]):
            share = _random_keys(counts, region, seed, "within", feature.name)
        else:
            share = np.full(len(cell), 0.5 if within == "middle" else 0.0)
        values[:, f] = _value_at(masks[f], group[:, f], share)
    return values


def _value_at(masks: Sequence[int], group: IntArray, share: npt.NDArray[np.float64]) -> IntArray:
    """Return the value at a given share of each person's group of values.

    Args:
        group: For each person one of `masks`.
        share: For each person the position among the values, from 0 (the first) to below 1 (the
            last).
    """
    values = np.array([value for mask in masks for value in bits(mask)], dtype=np.int64)
    size = np.array([mask.bit_count() for mask in masks], dtype=np.int64)
    first = np.cumsum(size) - size
    chosen: IntArray = values[first[group] + (share * size[group]).astype(np.int64)]
    return chosen


def histogram_resolved(plan: Plan, atoms: AtomArray) -> npt.NDArray[np.bool_]:
    """Test whether each candidate lies inside one cell of the release's histogram."""
    resolved = np.ones(len(atoms), dtype=bool)
    for f, inside in plan.resolved.items():
        resolved &= inside[atoms[:, f]]
    return resolved


def _random_keys(
    counts: PartitionCounts, region: IntArray, seed: int, *purpose: str
) -> npt.NDArray[np.float64]:
    """Draw a random key for each person, region by region so that batches do not matter."""
    keys = np.empty(len(region))
    starts = np.flatnonzero(np.diff(region, prepend=-1))
    ends = np.flatnonzero(np.diff(region, append=-1)) + 1
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        name = counts.region_geoids[int(region[start])]
        keys[start:end] = generator(seed, *purpose, name).random(end - start)
    return keys


def lift_values(
    plan: Plan,
    system: System,
    person_cell: IntArray,
    group: IntArray,
    masks: Sequence[list[int]],
    *,
    order: np.ndarray[tuple[int], np.dtype[np.float64]],
    settled: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> None:
    """Give the people of lifted cells their fine groups of values, in place.

    By Eq. (lift) of docs/method.md any allocation meets every fine count. Within one sum people get
    the fine values in the order of their random keys, which is a uniform draw among the allocations
    of people to values.

    Args:
        person_cell: For each person the candidate.
        group: (people × features) places in ``masks``; lifted ones are overwritten.
        masks: For each feature groups of values; those of the fine rows are appended.
        order: For each person a random key.
        settled: For each unit whether its region is solved completely; elsewhere nothing is
            lifted.
    """
    for at, stratum in enumerate(system.strata):
        pattern = plan.patterns[stratum.pattern]
        lift = pattern.lift
        if not len(lift.fine):
            continue
        key = _sums(plan, stratum, system, person_cell)
        people = np.flatnonzero((key >= 0) & settled[system.candidates.unit[person_cell]])
        people = people[np.lexsort([order[people], key[people]])]
        counts = system.fine[at].copy()
        counts[np.unique(stratum.of_unit[~settled & (stratum.of_unit >= 0)])] = 0
        geounit, row = np.nonzero(counts)
        slot_key = geounit * len(pattern.masks) + pattern.first_sum + lift.sums[row]
        slots = np.lexsort([row, slot_key])
        rows = np.repeat(row[slots], counts[geounit[slots], row[slots]])
        atoms = system.candidates.atoms[person_cell[people]]
        for f, groups, of_row in zip(lift.features, lift.groups, lift.of_row, strict=True):
            group[people, f] = len(masks[f]) + of_row[rows, atoms[:, f]]
            masks[f] += groups


def _sums(plan: Plan, stratum: Stratum, system: System, person_cell: IntArray) -> IntArray:
    """Return the (geounit, sum) of each person as one number, or −1."""
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
