"""The largest distance of each unit of a component, and solutions that attain it.

In the exact system a problem about one unit is a problem about its whole region. Most units are
easier: for the largest distance that a unit allows alone, with all others free (`relax_others`),
there is a solution of the rest, too. So the bound comes from the unit alone, and the region only
has to provide a solution that attains the bound, which is easier than proving that none is farther:
the feasibility pump compensates for the change nearby (`pump`). If the others cannot compensate, an
inequality proves it (`feasibility_cut`), and the unit is solved again with that. If neither is
found, the unit is solved with the other units of its district, and then of the region: with all
others fixed for a solution, and with all others free for a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.capabilities.solvar.distance import (
    DIAMETER,
    FROM_INCUMBENT,
    ComponentHistogram,
    DistanceMeasure,
    relax_others,
)
from recon_cli.capabilities.solvar.unit_search import EffortAccount
from recon_cli.model.program import activity_bounds, fix_others, with_rows
from recon_cli.solve.cp_sat import Status
from recon_cli.solve.dual_bounds import least_value
from recon_cli.solve.linear_relaxation import LinearRelaxation

#: Most cuts for a unit (one or two mostly suffice), after which the whole region is solved.
_MOST_CUTS = 10
#: Most variables of a program that an engine can usefully search within the seconds of a unit.
_LARGEST = 20_000


@dataclass(frozen=True)
class LargestDistances:
    """Sums of distances over the histogram cells of units.

    Attributes:
        reached: For each unit a distance that a solution attains.
        bound: For each unit a distance that no solution exceeds.
        solutions: Solutions of the component that were found on the way.
        together: `reached` and `bound` of all units at once, where rows couple them.
    """

    units: IntArray
    reached: IntArray
    bound: IntArray
    solutions: list[IntArray]
    together: tuple[int, int] | None = None

    @property
    def immovable(self) -> IntArray:
        """Return the units that no solution changes."""
        immovable: IntArray = self.units[self.bound == 0]
        return immovable


#: Receives the attained distance and the bound of each unit of a component, so far.
OnDistances = Callable[[IntArray, IntArray], None]


def ignore_distances(_reached: IntArray, _bound: IntArray) -> None:
    """Ignore distances."""


def maximize_jointly(
    part: ComponentHistogram, measure: DistanceMeasure, account: EffortAccount
) -> LargestDistances:
    """Solve all units at once, if no row couples two of them.

    Raises:
        SolverError: The solver returned values that are no solution.
    """
    progress = _Progress(part, measure)
    farthest = _farthest_vertex(part, measure, account)
    if len(farthest):
        progress.add(farthest)
        progress.bound = progress.reached
        return LargestDistances(part.units, progress.reached, progress.bound, progress.solutions)
    problem = measure.problem(part, part.cells)
    answer = account.maximize(problem, part.units, account.budget.unit * len(part.units))
    progress.add(answer.values)
    if answer.status is Status.OPTIMAL:
        progress.bound = progress.reached
    elif len(part.units) == 1:
        progress.bound = np.minimum(progress.bound, answer.bound + problem.constant)
    return LargestDistances(part.units, progress.reached, progress.bound, progress.solutions)


def maximize_each_unit(
    part: ComponentHistogram,
    measure: DistanceMeasure,
    account: EffortAccount,
    blocks: Sequence[Sequence[IntArray]],
    on_distances: OnDistances = ignore_distances,
) -> LargestDistances:
    """Maximise each unit's distance over all solutions; from the incumbent also all units' at once.

    Args:
        blocks: From fine to coarse the variables of each geounit that has several units.

    Raises:
        SolverError: The solver returned values that are no solution.
    """
    if len(part.units) == 1:
        largest = maximize_jointly(part, measure, account)
        if measure is DIAMETER:
            return largest
        return replace(largest, together=(int(largest.reached[0]), int(largest.bound[0])))
    progress = _Progress(part, measure)
    relaxed = [part.relax_others(int(unit)) for unit in part.units]
    found = []
    for k, unit in enumerate(relaxed):
        found.append(_maximize_relaxed(progress, k, unit, account))
        on_distances(progress.reached, progress.bound)
    together = None
    if measure is not DIAMETER:
        together = _maximize_together(progress, account)
    for k, (unit, values) in enumerate(zip(relaxed, found, strict=True)):
        _extend_with_cuts(progress, k, unit, values, account)
        for block in _around(part, int(part.units[k]), blocks):
            if not progress.is_proven(k):
                _maximize_in_block(progress, k, block, account)
        on_distances(progress.reached, progress.bound)
    if together is not None:
        together = (progress.reached_together, min(together[1], int(progress.bound.sum())))
    return LargestDistances(
        part.units, progress.reached, progress.bound, progress.solutions, together
    )


def _farthest_vertex(
    part: ComponentHistogram, measure: DistanceMeasure, account: EffortAccount
) -> IntArray:
    """Find a solution that is provably farthest without search; else return nothing.

    Such a solution shares with the incumbent only the people whom all solutions share, and has as
    many people as possible.
    """
    cells, effort = part.cells, account.effort(part.units, account.budget.unit)
    incumbent = cells.coefficients @ part.incumbent
    shared = (incumbent > cells.lower).astype(np.int64)
    nothing = np.empty(0, dtype=np.int64)
    if measure is DIAMETER or effort.limit <= 0 or not _can_lack(part, shared):
        return nothing
    vertex = LinearRelaxation(part.program).solve(
        cells.coefficients.T @ shared.astype(np.float64), effort.limit
    )
    account.spend(part.units, vertex.deterministic_time)
    values = part.program.rounded(vertex.values)
    if not len(values):
        return values
    people = cells.coefficients @ values
    is_farthest = bool((shared * (people - cells.lower) == 0).all())
    if measure is FROM_INCUMBENT and is_farthest:
        everyone = cells.coefficients.T @ np.ones(len(incumbent), dtype=np.int64)
        most = least_value(part.program, -everyone, effort.limit)
        account.spend(part.units, most.deterministic_time)
        is_farthest = int(people.sum()) == -most.bound
    return values if is_farthest else nothing


def _can_lack(part: ComponentHistogram, shared: IntArray) -> bool:
    """Test whether each row alone admits a solution without anybody in some histogram cells."""
    program = part.program
    lacking = part.cells.coefficients.T @ shared > 0
    upper = np.where(lacking, program.lower, program.upper)
    _, most = activity_bounds(program.constraints.A, program.lower, upper)
    return bool((most >= program.constraints.least).all())


class _Progress:
    """The results for each unit of a part so far."""

    def __init__(self, part: ComponentHistogram, measure: DistanceMeasure) -> None:
        self.part = part
        self.measure = measure
        self.group = np.searchsorted(part.units, part.unit)
        self.reached = np.zeros(len(part.units), dtype=np.int64)
        self.bound = self._by_unit(part.highest(measure))
        self.solutions: list[IntArray] = []
        self.reached_together = 0

    def add(self, values: IntArray) -> None:
        """Record solutions, if any: they may attain the bounds of several units."""
        if not len(values):
            return
        distance = self._by_unit(self.measure.distance(self.part, self.part.cells, values))
        self.reached = np.maximum(self.reached, distance)
        self.reached_together = max(self.reached_together, int(distance.sum()))
        n = len(self.part.incumbent)
        self.solutions += [values[n * k : n * (k + 1)] for k in range(self.measure.solutions)]

    def is_proven(self, k: int) -> bool:
        """Test whether a solution attains the bound of a unit."""
        return bool(self.reached[k] == self.bound[k])

    def _by_unit(self, distance: IntArray) -> IntArray:
        total = np.bincount(self.group, weights=distance, minlength=len(self.part.units))
        return total.astype(np.int64)


def _maximize_relaxed(
    progress: _Progress, k: int, relaxed: ComponentHistogram, account: EffortAccount
) -> IntArray:
    """Bound a unit by its largest distance if all others are free; return its values there."""
    farthest = _farthest_vertex(relaxed, progress.measure, account)
    if len(farthest):
        distance = int(progress.measure.distance(relaxed, relaxed.cells, farthest).sum())
        progress.bound[k] = min(progress.bound[k], distance)
        return farthest
    problem = progress.measure.problem(relaxed, relaxed.cells)
    answer = account.maximize(problem, relaxed.units, account.budget.unit)
    progress.bound[k] = min(progress.bound[k], answer.bound + problem.constant)
    return answer.values


def _maximize_together(progress: _Progress, account: EffortAccount) -> tuple[int, int]:
    """Maximise all units at once; return the attained distance, and a bound."""
    part = progress.part
    progress.add(_farthest_vertex(part, progress.measure, account))
    if progress.reached_together == progress.bound.sum():
        return progress.reached_together, progress.reached_together
    problem = progress.measure.problem(part, part.cells).capped(progress.group, progress.bound)
    answer = account.maximize(problem, part.units, account.budget.unit)
    progress.add(answer.values)
    return progress.reached_together, answer.bound + problem.constant


def _extend_with_cuts(
    progress: _Progress,
    k: int,
    relaxed: ComponentHistogram,
    found: IntArray,
    account: EffortAccount,
) -> None:
    """Extend a unit's values to solutions of the region, adding cuts for impossible values."""
    part, unit = progress.part, int(progress.part.units[k])
    variables, n = part.variables_of(unit), len(relaxed.incumbent)
    last = account.spent[unit] + account.budget.unit
    for _ in range(_MOST_CUTS):
        if progress.is_proven(k) or not len(found) or account.spent[unit] >= last:
            return
        wanted = found[: n * progress.measure.solutions].reshape(-1, n)
        proposals = np.tile(part.incumbent, (len(wanted), 1))
        proposals[:, variables] = wanted
        solutions = [_extended(part, unit, values, account) for values in proposals]
        if all(map(len, solutions)):
            progress.add(np.concatenate(solutions))
            return
        failed = proposals[[not len(values) for values in solutions]]
        cuts = [
            account.feasibility_cut(part.program, variables, values, relaxed.units)
            for values in failed
        ]
        if not any(len(cut.least) for cut in cuts):
            return
        relaxed = replace(relaxed, program=reduce(with_rows, cuts, relaxed.program))
        found = _maximize_relaxed(progress, k, relaxed, account)


def _extended(
    part: ComponentHistogram, unit: int, values: IntArray, account: EffortAccount
) -> IntArray:
    """Find a solution with the same values in one unit; else return nothing.

    Most changes can be compensated nearby, and by integers. The few units with fractional results
    are solved as integer programs.
    """
    if part.program.is_feasible(values):
        return values
    units = np.array([unit])
    others = np.flatnonzero(part.unit_of_variable != unit)
    pumped = account.pump(fix_others(part.program, others, values).program, values[others], units)
    if not len(pumped.values):
        return pumped.values
    whole = values.copy()
    whole[others] = pumped.values
    if pumped.is_solution:
        return whole
    near = part.unit_of_variable[others[pumped.fractional]]
    variables = np.flatnonzero(np.isin(part.unit_of_variable, near))
    answer = account.find_feasible(fix_others(part.program, variables, whole).program, units)
    if not len(answer.values):
        return answer.values
    whole[variables] = answer.values
    return whole


def _around(
    part: ComponentHistogram, unit: int, blocks: Sequence[Sequence[IntArray]]
) -> list[IntArray]:
    """Return the blocks that contain a unit, from fine to coarse, none too large for an engine."""
    first = part.variables_of(unit)[:1]
    small = (block for level in blocks for block in level if len(block) <= _LARGEST)
    return [block for block in small if np.isin(first, block).all()]


def _maximize_in_block(
    progress: _Progress, k: int, block: IntArray, account: EffortAccount
) -> None:
    """Solve the problem over the units of a block: with all others fixed, then free."""
    part, n = progress.part, len(block)
    inner = part.over(block, fix_others(part.program, block, part.incumbent).program)
    values, bound = _maximize_within(progress, k, inner, account)
    if len(values):
        solutions = np.tile(part.incumbent, (progress.measure.solutions, 1))
        solutions[:, block] = values[: n * len(solutions)].reshape(len(solutions), n)
        progress.add(solutions.ravel())
    if n < len(part.incumbent):
        if progress.is_proven(k):
            return
        outer = part.over(block, relax_others(part.program, block).program)
        _, bound = _maximize_within(progress, k, outer, account)
    progress.bound[k] = min(progress.bound[k], bound)


def _maximize_within(
    progress: _Progress, k: int, block: ComponentHistogram, account: EffortAccount
) -> tuple[IntArray, int]:
    """Return the values of a block that take a unit farthest, or nothing; and a bound."""
    units = progress.part.units[k : k + 1]
    cells = block.cells_where(block.unit == units[0])
    group = np.zeros(len(cells.lower), dtype=np.int64)
    problem = progress.measure.problem(block, cells).capped(group, progress.bound[k : k + 1])
    answer = account.maximize(problem, units, account.budget.unit)
    return answer.values, answer.bound + problem.constant
