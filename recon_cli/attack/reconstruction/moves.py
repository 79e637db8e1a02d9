"""Local search: one person moves, enters or leaves where that lowers the cost of all rows.

What a person in any histogram cell adds to the cost is a sum over the rows that hold the cell,
known for the whole domain at once. A count out of its interval costs more than any likelihood, so
that the search first meets all counts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recon_cli.model.dense_domain import BoolArray, Int32Array
from recon_cli.model.grain import IntArray
from recon_cli.model.priced_rows import PricedRows
from recon_cli.model.row_costs import SHORTAGE
from recon_cli.statement.costs import SCALE

#: Times that every unit is looked at.
_PASSES = 40
#: Moves in a unit before the next one is looked at.
_MOVES = 20
#: People of a unit who are tried: those whose leaving saves most.
_TRIED = 5
#: A move that saves less meets no further count.
_GAIN = SHORTAGE / SCALE / 2


def meet_shared_rows(
    rows: PricedRows, lower: Int32Array, upper: Int32Array, people: IntArray
) -> bool:
    """Move people, in place, until all rows are met; whether they are.

    Args:
        rows: The rows of some units.
        lower: (units × cells) least people.
        upper: (units × cells) most.
        people: (units × cells) people that meet the rows of each unit alone.
    """
    unit, cell = np.nonzero(people)
    counts = rows.columns(unit, cell) @ people[unit, cell]
    for _ in range(_PASSES):
        if _is_met(rows, counts):
            return True
        moves = 0
        for place in _units_in_need(rows, counts):
            search = _UnitSearch(rows, place)
            moves += search.improve(counts, lower[place], upper[place], people[place])
        if not moves:
            break
    return _is_met(rows, counts)


def _is_met(rows: PricedRows, counts: IntArray) -> bool:
    return bool(((counts >= rows.least) & (counts <= rows.most))[rows.used].all())


def _units_in_need(rows: PricedRows, counts: IntArray) -> list[int]:
    """The units of geounits with a count that is not met."""
    missed = rows.used & ((counts < rows.least) | (counts > rows.most))
    found: BoolArray = np.zeros(rows.domain.units, dtype=np.bool_)
    for offset, each in zip(rows.offsets.tolist(), rows.domain.strata, strict=True):
        size = each.stratum.rhs.size
        geounits = np.flatnonzero(
            missed[offset : offset + size].reshape(-1, each.width).any(axis=1)
        )
        found |= np.isin(each.stratum.of_unit, geounits)
    return [int(place) for place in np.flatnonzero(found)]


class _UnitSearch:
    """The moves of one unit's people."""

    def __init__(self, rows: PricedRows, unit: int) -> None:
        units = np.array([unit])
        self._kept = rows.rows_of(units)
        self._rows = rows.select(units)

    def improve(
        self, counts: IntArray, lower: Int32Array, upper: Int32Array, people: IntArray
    ) -> int:
        """Make the best move while it helps, in place; how many."""
        for move in range(_MOVES):
            now = counts[self._kept]
            leaving = np.flatnonzero(people > lower)
            columns = self._rows.columns(np.zeros(len(leaving), dtype=np.int64), leaving)
            saving = columns.T @ self._rows.marginal(now - 1)
            tried = np.sort(np.argsort(-saving, kind="stable")[:_TRIED])
            leaving = leaving[tried]
            steps = np.zeros((1 + len(leaving), len(now)), dtype=np.int64)
            steps[1:] = -columns[:, tried].toarray().T
            entering = self._cost_of_one_more(now + steps)
            entering[:, people >= upper] = np.inf
            best = entering.argmin(axis=1)
            cost = entering.min(axis=1)
            # Who leaves would cost as much to come back, or need not come back at all.
            stay = np.append(0.0, entering[np.arange(1, len(steps)), leaving])
            gain = stay - np.minimum(cost, 0.0)
            which = int(gain.argmax())
            if gain[which] < _GAIN:
                return move
            change = steps[which].copy()
            if which:
                people[leaving[which - 1]] -= 1
            if cost[which] < 0 or not which:
                people[best[which]] += 1
                column = self._rows.columns(np.array([0]), best[which : which + 1])
                change += column.toarray()[:, 0]
            counts[self._kept] += change
        return _MOVES

    def _cost_of_one_more(
        self, counts: IntArray
    ) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """(counts × cells) what one more person costs, for several counts of the rows."""
        several = len(counts)
        slopes = [self._rows.marginal(each) for each in counts]
        domain = self._rows.domain
        strata = tuple(
            replace(each, stratum=replace(each.stratum, of_unit=np.arange(several)))
            for each in domain.strata
        )
        copies = replace(domain, units=several, strata=strata)
        duals = -np.stack(slopes)
        values = np.split(duals, self._rows.offsets[1:], axis=1)
        return self._rows.record_cost - copies.sum_over_rows(values)
