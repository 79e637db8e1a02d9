"""The farthest that each unit of a component can be from where it is, and solutions so far away.

In the exact system a question about one unit is a question about its whole region. Most units
do not notice: as far as they could go by themselves, whatever is in the others (`relax_others`),
there is a solution for the rest, too. So the bound comes from the unit alone, and the region has
only to supply a solution that reaches it, which is far easier than to prove that none goes
farther: the feasibility pump makes up for the change nearby (`pump`). Where the others cannot make
up for it, an inequality says why (`feasibility_cut`), and the unit is solved again with that. The
region as a whole is solved only where neither is found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from recon_cli.attack.variability.distance import (
    FROM_INCUMBENT,
    ComponentHistogram,
    DistanceMeasure,
)
from recon_cli.attack.variability.effort import EffortAccount
from recon_cli.model.grain import IntArray
from recon_cli.model.program import fix_others, with_rows
from recon_cli.solve.cp_sat import SolveResult, Status

#: Mostly one or two are enough; after that the whole region is asked.
_MOST_CUTS = 10


@dataclass(frozen=True)
class Farthest:
    """Sums of distances over the histogram cells of units.

    Attributes:
        units: The units.
        reached: For each of them a distance that a solution has.
        bound: A distance that no solution exceeds.
        solutions: Solutions of the component that were found on the way.
        together: The same two for all units at once, where rows couple them.
    """

    units: IntArray
    reached: IntArray
    bound: IntArray
    solutions: list[IntArray]
    together: tuple[int, int] | None = None

    @property
    def still(self) -> IntArray:
        """The units that no solution moves."""
        still: IntArray = self.units[self.bound == 0]
        return still


def farthest_at_once(
    part: ComponentHistogram, ask: DistanceMeasure, allowance: EffortAccount
) -> Farthest:
    """All units in one solve, where no row couples two of them.

    Raises:
        SolverError: The solver returned what is no solution.
    """
    seen = _Seen(part, ask)
    question = ask.question(part, part.targets)
    seconds = allowance.budget.unit * len(part.units)
    answer = allowance.maximize(question, part.units, seconds)
    seen.add(answer.values)
    if answer.status is Status.OPTIMAL:
        seen.bound = seen.reached
    elif len(part.units) == 1:
        seen.bound = np.minimum(seen.bound, answer.bound + question.constant)
    return Farthest(part.units, seen.reached, seen.bound, seen.solutions)


def farthest_one_by_one(
    part: ComponentHistogram, ask: DistanceMeasure, allowance: EffortAccount
) -> Farthest:
    """Each unit over all solutions of the region, and from the start also all units at once.

    Raises:
        SolverError: The solver returned what is no solution.
    """
    seen = _Seen(part, ask)
    alone = [part.relax_others(int(unit)) for unit in part.units]
    answers = [_ask_alone(seen, k, only, allowance) for k, only in enumerate(alone)]
    together = None
    if ask is FROM_INCUMBENT:
        together = _ask_together(seen, allowance)
    for k, (only, answer) in enumerate(zip(alone, answers, strict=True)):
        _go_so_far(seen, k, only, answer, allowance)
        if not seen.is_proven(k):
            _ask_within_region(seen, k, allowance)
    if together is not None:
        together = (seen.farthest_together, min(together[1], int(seen.bound.sum())))
    return Farthest(part.units, seen.reached, seen.bound, seen.solutions, together)


class _Seen:
    """What is known of each unit of a part so far."""

    def __init__(self, part: ComponentHistogram, ask: DistanceMeasure) -> None:
        self.part = part
        self.ask = ask
        self.group = np.searchsorted(part.units, part.unit)
        self.reached = np.zeros(len(part.units), dtype=np.int64)
        self.bound = self._by_unit(part.highest(ask))
        self.solutions: list[IntArray] = []
        self.farthest_together = 0

    def add(self, values: IntArray) -> None:
        """Take note of an answer, if there is one: it may take several units to their bounds."""
        if not len(values):
            return
        distance = self._by_unit(self.ask.distance(self.part, self.part.targets, values))
        self.reached = np.maximum(self.reached, distance)
        self.farthest_together = max(self.farthest_together, int(distance.sum()))
        n = len(self.part.start)
        self.solutions += [values[n * k : n * (k + 1)] for k in range(self.ask.solutions)]

    def is_proven(self, k: int) -> bool:
        """Whether the farthest solution of a unit is known to be one."""
        return bool(self.reached[k] == self.bound[k])

    def _by_unit(self, distance: IntArray) -> IntArray:
        total = np.bincount(self.group, weights=distance, minlength=len(self.part.units))
        return total.astype(np.int64)


def _ask_alone(
    seen: _Seen, k: int, alone: ComponentHistogram, allowance: EffortAccount
) -> SolveResult:
    """Bound a unit by what it could do by itself; how it would look then."""
    question = seen.ask.question(alone, alone.targets)
    answer = allowance.maximize(question, alone.units, allowance.budget.unit)
    seen.bound[k] = min(seen.bound[k], answer.bound + question.constant)
    return answer


def _ask_together(seen: _Seen, allowance: EffortAccount) -> tuple[int, int]:
    """All units at once; what was reached, and a bound."""
    part = seen.part
    question = seen.ask.question(part, part.targets).capped(seen.group, seen.bound)
    answer = allowance.maximize(question, part.units, allowance.budget.unit)
    seen.add(answer.values)
    return seen.farthest_together, answer.bound + question.constant


def _go_so_far(
    seen: _Seen, k: int, alone: ComponentHistogram, answer: SolveResult, allowance: EffortAccount
) -> None:
    """Take the region to where a unit goes alone; what it cannot follow is cut off, in turns."""
    part, unit = seen.part, int(seen.part.units[k])
    cells, n = part.cells_of(unit), len(alone.start)
    last = allowance.work[unit] + allowance.budget.unit
    for _ in range(_MOST_CUTS):
        if seen.is_proven(k) or not len(answer.values) or allowance.work[unit] >= last:
            return
        wanted = answer.values[: n * seen.ask.solutions].reshape(-1, n)
        starts = np.tile(part.start, (len(wanted), 1))
        starts[:, cells] = wanted
        found = [_completed(part, unit, values, allowance) for values in starts]
        if all(map(len, found)):
            seen.add(np.concatenate(found))
            return
        failed = starts[[not len(values) for values in found]]
        cuts = [
            allowance.feasibility_cut(part.program, cells, values, alone.units) for values in failed
        ]
        if not any(len(cut.least) for cut in cuts):
            return
        alone = replace(alone, program=reduce(with_rows, cuts, alone.program))
        answer = _ask_alone(seen, k, alone, allowance)


def _completed(
    part: ComponentHistogram, unit: int, values: IntArray, allowance: EffortAccount
) -> IntArray:
    """A solution with the same values in one unit; or nothing.

    Most changes can be made up for nearby, and by whole people. The few units where parts of
    people remain are asked for whole ones.
    """
    if part.program.is_feasible(values):
        return values
    units = np.array([unit])
    others = np.flatnonzero(part.unit_of_cell != unit)
    mended = allowance.pump(fix_others(part.program, others, values).program, values[others], units)
    if not len(mended.values):
        return mended.values
    whole = values.copy()
    whole[others] = mended.values
    if mended.is_solution:
        return whole
    near = part.unit_of_cell[others[mended.broken]]
    cells = np.flatnonzero(np.isin(part.unit_of_cell, near))
    answer = allowance.find_feasible(fix_others(part.program, cells, whole).program, units)
    if not len(answer.values):
        return answer.values
    whole[cells] = answer.values
    return whole


def _ask_within_region(seen: _Seen, k: int, allowance: EffortAccount) -> None:
    """The question in full, with what is known already."""
    part, units = seen.part, seen.part.units[k : k + 1]
    targets = part.select(part.unit == units[0])
    group = np.zeros(len(targets.lower), dtype=np.int64)
    question = seen.ask.question(part, targets).capped(group, seen.bound[k : k + 1])
    answer = allowance.maximize(question, units, allowance.budget.unit)
    seen.add(answer.values)
    seen.bound[k] = min(seen.bound[k], answer.bound + question.constant)
