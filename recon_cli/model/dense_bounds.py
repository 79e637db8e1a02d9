"""Bounds propagation over a dense domain: the same intervals as over a list of candidates.

Eq. (upper) and (lower) of docs/method.md. All coefficients are positive, so that a cell's upper
end is its lower end and the room of its fullest row, and its lower end is its upper end less what
its emptiest row can do without; both are least values over the rows that hold the cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recon_cli.model.dense_domain import NO_LIMIT, BoolArray, DenseDomain, Int32Array
from recon_cli.model.grain import IntArray

#: As in `recon_cli.model.bounds`.
_SWEEPS = 500


@dataclass(frozen=True)
class DenseBounds:
    """Intervals that contain every solution, of all histogram cells of some units.

    Attributes:
        lower: (units × cells) least people.
        upper: (units × cells) most people; 0 also where no row holds a cell.
        suspects: Row numbers of geounits whose rows cannot be met within the bounds, rising.
    """

    lower: Int32Array
    upper: Int32Array
    suspects: IntArray

    @property
    def candidates(self) -> IntArray:
        """For each unit the number of cells that people can be in."""
        found: IntArray = np.count_nonzero(self.upper, axis=1)
        return found

    @property
    def free(self) -> IntArray:
        """For each unit the number of cells with more than one possible count."""
        found: IntArray = np.count_nonzero(self.lower < self.upper, axis=1)
        return found


def propagate_dense(domain: DenseDomain) -> DenseBounds:
    """Tighten ``0 <= x`` under the rows of a domain to a fixed point.

    Args:
        domain: Its strata say between which ends each row is, and which rows are needed.
    """
    least = [rows.stratum.least_or_rhs for rows in domain.strata]
    most = [rows.stratum.rhs for rows in domain.strata]
    needed = [rows.stratum.is_needed for rows in domain.strata]
    upper = domain.least_over_rows(_where(needed, most))
    upper[upper == NO_LIMIT] = 0
    upper[:, ~domain.possible] = 0
    lower = np.zeros_like(upper)
    suspects: list[IntArray] = []
    for sweep in range(_SWEEPS):
        tighter = upper
        have = domain.row_sums(lower) if sweep else [np.zeros_like(each) for each in most]
        if sweep:
            room = [n - sums for n, sums in zip(most, have, strict=True)]
            tighter = np.minimum(upper, lower + domain.least_over_rows(_where(needed, room)))
        could = domain.row_sums(tighter)
        # A row that others meet already says nothing of the least in its cells.
        spare = [
            np.where(short <= sums, NO_LIMIT, sums2 - short)
            for short, sums, sums2 in zip(least, have, could, strict=True)
        ]
        raised = np.maximum(lower, tighter - domain.least_over_rows(_where(needed, spare)))
        done = np.array_equal(tighter, upper) and np.array_equal(raised, lower)
        upper, lower = tighter, raised
        suspects = [
            rows.stratum.geounits[_cannot(need, short, n, sums, sums2)]
            for rows, need, short, n, sums, sums2 in zip(
                domain.strata, needed, least, most, have, could, strict=True
            )
        ]
        if done or any(len(each) for each in suspects):
            break
    return DenseBounds(lower, upper, np.unique(np.concatenate(suspects)))


def _where(needed: list[BoolArray], values: list[IntArray]) -> list[IntArray]:
    """Rows that are not needed have no limit."""
    return [np.where(need, each, NO_LIMIT) for need, each in zip(needed, values, strict=True)]


def _cannot(
    needed: BoolArray, least: IntArray, most: IntArray, have: IntArray, could: IntArray
) -> BoolArray:
    """Geounits with a row that has too many people, or cannot get enough."""
    missed = np.logical_or(have > most, could < least)
    found: BoolArray = np.any(np.logical_and(needed, missed), axis=1)
    return found
