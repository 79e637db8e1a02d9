"""Bounds propagation over a dense domain: the same intervals as over a list of candidates.

Eq. (upper) and (lower) of docs/method.md. All coefficients are positive. A cell's upper bound is
its lower bound plus the slack of its tightest row, and its lower bound is its upper bound less the
surplus of its most demanding row; both are minima over the rows that contain the cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from recon_cli.arrays import BoolArray, Int32Array, IntArray
from recon_cli.capabilities.reconstruct.dense_domain import NO_LIMIT, DenseDomain
from recon_cli.frames import OPEN
from recon_cli.model.strata import Stratum

#: As in `recon_cli.model.bounds`.
_SWEEPS = 500


@dataclass(frozen=True)
class DenseBounds:
    """Intervals that contain every solution, for all histogram cells of some units.

    Attributes:
        lower: (units × cells) least people.
        upper: (units × cells) most people; 0 also where no row holds a cell; where it is open, as
            many as its rows can need: Eq. (open) of docs/method.md.
        is_open: (units × cells) whether people can be in a cell that no row bounds from above.
        suspects: Sorted row numbers of geounits whose rows cannot be met within the bounds.
    """

    lower: Int32Array
    upper: Int32Array
    is_open: BoolArray
    suspects: IntArray

    def holding(self, people: IntArray) -> DenseBounds:
        """Widen the intervals of open cells to contain a (units × cells) solution."""
        held = np.maximum(self.upper, people).astype(np.int32)
        return replace(self, upper=np.where(self.is_open, held, self.upper))

    @property
    def candidates(self) -> IntArray:
        """Return for each unit the number of cells that people can be in."""
        found: IntArray = np.count_nonzero(self.upper, axis=1)
        return found

    @property
    def free(self) -> IntArray:
        """Return for each unit the number of cells with more than one possible count."""
        found: IntArray = np.count_nonzero(self.lower < self.upper, axis=1)
        return found


def propagate_dense(domain: DenseDomain, wanted: Sequence[IntArray] | None = None) -> DenseBounds:
    """Tighten ``0 <= x`` under the rows of a domain to a fixed point.

    Only units that share a row with a changed unit are processed again. Where geounits overlap,
    rows that also contain other units are skipped then.

    Args:
        domain: The domain; its strata have the bounds of each row, and whether the row is needed.
        wanted: For each stratum (geounits × rows) the most people that a row may want; by default
            its lower bound.
    """
    upper, is_open = _first_upper(domain, wanted)
    lower = np.zeros_like(upper)
    busy = np.arange(domain.units)
    for sweep in range(_SWEEPS):
        here = domain if len(busy) == domain.units else domain.without_parts(busy)
        least, most, suspects = _sweep(here, lower[busy], upper[busy], is_first=sweep == 0)
        changed = np.zeros(domain.units, dtype=bool)
        changed[busy] = np.any(most != upper[busy], axis=1)
        changed[busy] |= np.any(least != lower[busy], axis=1)
        lower[busy], upper[busy] = least, most
        if len(suspects):
            return DenseBounds(lower, upper, is_open, suspects)
        busy = domain.related(changed)
        if not len(busy):
            break
    return DenseBounds(lower, upper, is_open, np.empty(0, dtype=np.int64))


def _first_upper(
    domain: DenseDomain, wanted: Sequence[IntArray] | None
) -> tuple[Int32Array, BoolArray]:
    """Return the most people that single rows allow each cell, and cells that all rows leave open.

    Open cells get as many as the row with the largest lower bound requires: Eq. (open).
    """
    strata = [rows.stratum for rows in domain.strata]
    upper = domain.least_over_rows(_limits(domain, [_room(each, each.rhs) for each in strata]))
    is_open = (upper == NO_LIMIT) & domain.possible
    upper[upper == NO_LIMIT] = 0
    upper[:, ~domain.possible] = 0
    if not is_open.any():
        return upper, is_open
    wants = [each.least_or_rhs for each in strata] if wanted is None else wanted
    most = -domain.least_over_rows([-each for each in wants])
    return np.where(is_open, np.maximum(most, 0), upper), is_open


def _room(stratum: Stratum, room: IntArray) -> IntArray:
    """Return the slack of rows, unlimited for rows without upper bound."""
    return np.where(stratum.rhs < OPEN, room, NO_LIMIT)


def _sweep(
    domain: DenseDomain, lower: Int32Array, upper: Int32Array, *, is_first: bool
) -> tuple[Int32Array, Int32Array, IntArray]:
    """Apply Eq. (upper) and (lower) once; also return suspects. The first sweep starts from 0."""
    least = [rows.stratum.least_or_rhs for rows in domain.strata]
    most = [rows.stratum.rhs for rows in domain.strata]
    have = [np.zeros_like(each) for each in most]
    if not is_first:
        have = domain.row_sums(lower)
        room = [
            _room(rows.stratum, n - sums)
            for rows, n, sums in zip(domain.strata, most, have, strict=True)
        ]
        upper = np.minimum(upper, lower + domain.least_over_rows(_limits(domain, room)))
    could = domain.row_sums(upper)
    # A row whose lower bound is met already does not bound its cells from below.
    spare = [
        np.where(short <= sums, NO_LIMIT, sums2 - short)
        for short, sums, sums2 in zip(least, have, could, strict=True)
    ]
    lower = np.maximum(lower, upper - domain.least_over_rows(_limits(domain, spare)))
    suspects = [
        rows.stratum.geounits[_cannot(rows.stratum.is_needed, short, n, sums, sums2)]
        for rows, short, n, sums, sums2 in zip(domain.strata, least, most, have, could, strict=True)
    ]
    return lower, upper, np.unique(np.concatenate(suspects))


def _limits(domain: DenseDomain, values: list[IntArray]) -> list[IntArray]:
    """Remove the limits of rows that are not needed."""
    needed = [rows.stratum.is_needed for rows in domain.strata]
    return [np.where(need, each, NO_LIMIT) for need, each in zip(needed, values, strict=True)]


def _cannot(
    needed: BoolArray, least: IntArray, most: IntArray, have: IntArray, could: IntArray
) -> BoolArray:
    """Test which geounits have a row with too many people, or one that cannot get enough."""
    missed = np.logical_or(have > most, could < least)
    found: BoolArray = np.any(np.logical_and(needed, missed), axis=1)
    return found
