"""Put lifted features back: any allocation within a sum meets every fine count exactly."""

from __future__ import annotations

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.model.candidates import Stratum
from recon_cli.model.plan import Plan
from recon_cli.model.system import System


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
        system: The solved batch.
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
