"""A solution as person records: one row per person, in the release's own columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import AtomArray, IntArray
from recon_cli.attack.reconstruction.lift import lift_values
from recon_cli.attack.reconstruction.solution import BatchSolution
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import Plan
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
        counts: The partition's counts.
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
