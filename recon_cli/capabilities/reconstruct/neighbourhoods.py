"""Large neighbourhood search: a few units are solved again at a time, the others are fixed.

Units that only coarse counts couple may be too many for one program (Shaw 1998; ruin and recreate).
Each step solves the program of a few units: their own counts are met, and coarse counts may be
missed at a price above any likelihood. No step raises the cost of all rows, so the search first
meets all counts, and then makes them likelier. Rows still missed after a sweep get a higher price
(breakout: Morris 1993), which takes a hundredth of the time of larger neighbourhoods; more units
are solved at a time if that does not help either.

See *large neighbourhood search* in docs/glossary.md.
"""

from __future__ import annotations

import numpy as np

from recon_cli.arrays import Int32Array, IntArray
from recon_cli.capabilities.reconstruct.column_pricing import OpenUnits, price_columns
from recon_cli.capabilities.reconstruct.priced_rows import PricedRows
from recon_cli.capabilities.reconstruct.row_costs import RECORD, SHORTAGE
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.seeding import generator
from recon_cli.solve.cp_sat import Effort, maximize
from recon_cli.solve.linear_relaxation import WHOLE

#: Most units that are solved again at a time, and most sweeps.
_MOST, _SWEEPS = 16, 24
#: Greatest price of a person that a row lacks or has too many, in multiples of `SHORTAGE`.
_DEAREST = 64
#: Least sweeps if counts have costs: a second lowers the cost by a quarter, a third hardly.
_LIKELY = 2
#: Deterministic seconds of CP-SAT where the relaxation of a step is not whole.
_LIMIT = 2.0
#: Deterministic seconds a unit, for all steps.
_SECONDS = 10.0


def meet_shared_rows(
    rows: PricedRows,
    lower: Int32Array,
    upper: Int32Array,
    people: IntArray,
    seed: int,
    *,
    on_progress: OnProgress = ignore_progress,
) -> tuple[bool, float]:
    """Solve a few units at a time again, in place, until all rows are met: Eq. (neighbourhood).

    Args:
        lower: (units × cells) least people.
        upper: (units × cells) most.
        people: (units × cells) people to begin with, who meet the rows of each unit alone, or
            nearly.
        seed: Decides which units are solved together.
        on_progress: Called after each sweep with the change of the people that rows still miss, as
            ``people_missed``.

    Returns:
        Whether all rows are met, and deterministic seconds of the engines.
    """
    search = _Search(rows, lower, upper, people, seed)
    units, size, reported = rows.domain.units, 1, 0
    for sweep in range(_SWEEPS):
        missed, is_likely = search.missed, rows.costs is None or sweep >= _LIKELY
        if not missed and is_likely:
            break
        order = generator(seed, "neighbourhoods", str(sweep)).permutation(units)
        for first in range(0, units, size):
            if search.seconds > _SECONDS * units or (is_likely and not search.missed):
                break
            search.solve_again(np.sort(order[first : first + size]))
        on_progress(0, 0, {"people_missed": search.missed - reported})
        reported = search.missed
        search.raise_prices()
        if search.missed >= missed:
            size = min(2 * size, _MOST)
    return not search.missed, search.seconds


class _Search:
    """The present people of all units, and counts of all rows."""

    def __init__(
        self, rows: PricedRows, lower: Int32Array, upper: Int32Array, people: IntArray, seed: int
    ) -> None:
        self._rows, self._lower, self._upper = rows, lower, upper
        self._people, self._seed = people, seed
        unit, cell = np.nonzero(people)
        self._counts: IntArray = rows.columns(unit, cell) @ people[unit, cell]
        self._shared = rows.shared
        self._price = np.full(len(rows.least), SHORTAGE, dtype=np.int64)
        self.seconds = 0.0

    @property
    def missed(self) -> int:
        """Count the people that rows lack or have too many."""
        return int(_missed(self._rows, self._counts).sum())

    def raise_prices(self) -> None:
        """Raise the prices of the rows that are missed now."""
        self._price[_missed(self._rows, self._counts) > 0] *= 2
        np.minimum(self._price, _DEAREST * SHORTAGE, out=self._price)

    def solve_again(self, units: IntArray) -> None:
        """Give some sorted units their cheapest people, others fixed; unchanged on failure."""
        kept, rows = self._rows.rows_of(units), self._rows.select(units)
        own = self._people[units]
        unit, cell = np.nonzero(own)
        base = self._counts[kept] - rows.columns(unit, cell) @ own[unit, cell]
        ends, price = (self._lower[units], self._upper[units]), self._price[kept]
        given = OpenUnits(rows, *ends, base, self._shared[kept], price=price)
        before = _cost(given, self._counts[kept] - base, int(own.sum()), price)
        vertex = price_columns(given, own > 0)
        if vertex is None:
            return
        self.seconds += vertex.deterministic_time
        values = np.rint(vertex.values).astype(np.int64)
        if np.abs(vertex.values - values).max(initial=0.0) > WHOLE:
            values = self._whole(given, vertex.unit, vertex.cell, own)
        added = vertex.A @ values
        if _cost(given, added, int(values.sum()), price) > before:
            return
        self._people[units] = 0
        self._people[units[vertex.unit], vertex.cell] = values
        self._counts[kept] = base + added

    def _whole(self, given: OpenUnits, unit: IntArray, cell: IntArray, own: IntArray) -> IntArray:
        """Find integral people in some histogram cells; unchanged if CP-SAT finds none."""
        program = given.program(unit, cell, may_lack=True).program
        answer = maximize(program.program, -program.cost, Effort(self._seed, _LIMIT))
        self.seconds += answer.deterministic_time
        if not len(answer.values):
            return own[unit, cell]
        return answer.values[: program.columns]


def _cost(units: OpenUnits, added: IntArray, people: int, price: IntArray) -> int:
    """Return the cost of some units' rows and people, and of missed rows.

    Args:
        units: The units, with the contribution of other units to each row.
        added: Contribution of the units' people to the rows.
        price: Cost of each person by whom a row is missed.
    """
    rows = units.rows
    likelihood = int(units.costs.cost(added[rows.used]).sum())
    return likelihood + RECORD * people + int(price @ _missed(rows, units.base + added))


def _missed(rows: PricedRows, counts: IntArray) -> IntArray:
    """Count the people that each row lacks or has too many."""
    missed = np.maximum(rows.least - counts, 0) + np.maximum(counts - rows.most, 0)
    return np.where(rows.used, missed, 0)
