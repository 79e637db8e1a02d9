"""Solution variability: how far any other solution can differ, and who stands in all of them.

For each unit of N people, over all solutions x of a system and with x0 the reconstruction,

    solvar = 100 · max Σ|x − x0| / 2N,

summed over the unit's histogram cells (Eq. 4.6 and 4.10 of the 2010 study). Two systems: the
*relaxed* one takes each unit alone, with what it shares with coarser tables as upper bounds; the
*exact* one is the whole region with every published count as an equality.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from recon_cli.attack.quarantine import BatchQuarantine
from recon_cli.attack.variability.distance import (
    DIAMETER,
    FROM_INCUMBENT,
    BoolArray,
    ComponentHistogram,
    DistanceMeasure,
    distance_from_incumbent,
)
from recon_cli.attack.variability.effort import EffortAccount, EffortBudget
from recon_cli.attack.variability.farthest import Farthest, farthest_at_once, farthest_one_by_one
from recon_cli.attack.variability.histogram import Histogram
from recon_cli.model.bounds import Bounds, propagate
from recon_cli.model.components import Component, split_components
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import IntArray
from recon_cli.solve.bound_tightening import tighten_bounds
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.objectives import CellSums


@dataclass(frozen=True)
class SolutionSpace:
    """The solutions to measure over, and where to measure from.

    Attributes:
        rows: The system's rows, relaxed or not.
        start: A solution: people in each cell.
        unit: For each cell its unit.
        units: Number of units.
        is_split: Whether no row couples two units, so that units can be measured together.
        has_total: For each unit whether all solutions have the same number of people in it.
        people: For each unit its people, in `start` or as published.
        missing: For each unit whether `start` holds only its lower bounds: it was quarantined.
    """

    rows: LinearConstraints
    start: IntArray
    unit: IntArray
    units: int
    is_split: bool
    has_total: BoolArray
    people: IntArray
    missing: BoolArray


@dataclass
class Distances:
    """Sums of ``|x − x0|``, or ``|x − y|``, for each unit: a value reached and a bound."""

    reached: IntArray
    bound: IntArray


@dataclass(frozen=True)
class BatchVariability:
    """What was found for a batch.

    Attributes:
        lower: For each histogram cell its least count over all solutions, or a valid lower bound.
        upper: Its greatest count, or a valid upper bound.
        is_exact: Whether solutions reach both.
        lowest: The least count of each histogram cell in a solution that was found.
        solvar: Distances from the start, by unit, in people counted twice.
        diameter: Distances between any two solutions, or None.
        region: The same as `solvar` for whole regions (all units at once), or None.
        used_solver: For each unit whether propagation alone did not decide.
        work: For each unit its share of the solver's deterministic seconds.
    """

    lower: IntArray
    upper: IntArray
    is_exact: BoolArray
    lowest: IntArray
    solvar: Distances
    diameter: Distances | None
    region: Distances | None
    used_solver: BoolArray
    work: npt.NDArray[np.float64]


def measure_batch(
    space: SolutionSpace,
    histogram: Histogram,
    regions: IntArray,
    budget: EffortBudget,
    watch: BatchQuarantine,
) -> BatchVariability:
    """Intervals, certain records, solvar and diameter of every unit of a batch.

    Args:
        space: The solutions.
        histogram: The histogram cells that count.
        regions: For each unit its region, rising.
        budget: How hard to try.
        watch: Keeps solvers from units that kill them; those get what propagation proves.

    Raises:
        SolverError: Two engines disagree on a certificate.
    """
    bounds = propagate(space.rows)
    measured = _Measured(space, histogram, bounds, regions, budget)
    components = split_components(
        space.rows, bounds, regions[space.unit], targets=histogram.of_cell
    )
    for component in (
        part
        for whole in components
        for part in watch.parts(whole, space.unit[whole.columns], histogram.of_cell[whole.columns])
    ):
        units = space.unit[component.columns]
        if space.missing[units].any() or not watch.admits(units):
            measured.leave(component)
        else:
            measured.add(component)
    return measured.result()


class _Measured:
    """The findings so far, by histogram cell and unit."""

    def __init__(
        self,
        space: SolutionSpace,
        histogram: Histogram,
        bounds: Bounds,
        regions: IntArray,
        budget: EffortBudget,
    ) -> None:
        self.space = space
        self.histogram = histogram
        self.regions = regions
        self.budget = budget
        self.allowance = EffortAccount(budget, regions)
        sums = histogram.sums
        self.start = sums @ space.start
        self.fixed = sums @ np.where(bounds.free, 0, bounds.lower)
        self.lower = sums @ bounds.lower
        self.upper = sums @ bounds.upper
        self.is_exact = self.lower == self.upper
        self.lowest = self.start.copy()
        self.solvar = _nothing(space.units)
        self.diameter = _nothing(space.units)
        self.together = _nothing(space.units)
        self.used_solver = np.zeros(space.units, dtype=bool)

    def add(self, component: Component) -> None:
        """Measure one component."""
        part = self._part(component)
        self.used_solver[part.unit] = True
        # The farthest solutions reach most ends of the intervals already.
        away = self._farthest(part, FROM_INCUMBENT)
        _note(self.solvar, away)
        known = [part.start, *away.solutions]
        if away.together is not None:
            first = away.units[0]
            self.together.reached[first] += away.together[0]
            self.together.bound[first] += away.together[1]
        if self.budget.diameter:
            apart = self._farthest(part, DIAMETER)
            _note(self.diameter, apart)
            known += apart.solutions
        effort = self.allowance.effort(part.units, self.budget.unit * len(part.units))
        if not self.budget.exact_intervals:
            effort = replace(effort, limit=0.0)
        extremes = tighten_bounds(part.program, _settled(part, away.still), known, effort)
        self.allowance.spend(part.units, extremes.work)
        numbers = part.numbers
        self.lower[numbers] = self.fixed[numbers] + extremes.targets.lower
        self.upper[numbers] = self.fixed[numbers] + extremes.targets.upper
        self.is_exact[numbers] = extremes.is_exact
        self.lowest[numbers] = self.fixed[numbers] + extremes.lowest

    def leave(self, component: Component) -> None:
        """Count a component that no solver may be let at: the bounds of propagation stand."""
        part = self._part(component)
        missing = self.space.missing[part.unit]
        cap = np.where(missing, part.highest(DIAMETER), part.highest(FROM_INCUMBENT))
        bound = _by_unit(part.unit, cap, self.space.units)
        self.solvar.bound += bound
        self.diameter.bound += _by_unit(part.unit, part.highest(DIAMETER), self.space.units)
        if not self.space.is_split:
            self.together.bound[int(part.unit[0])] += int(bound.sum())
        # Nobody knows a solution of a missing unit: any count may be the least one.
        gone = part.numbers[missing]
        self.lowest[gone] = self.upper[gone]

    def _part(self, component: Component) -> ComponentHistogram:
        numbers, sums = self.histogram.within(component)
        return ComponentHistogram(
            program=component.program,
            numbers=numbers,
            unit=self.histogram.unit[numbers],
            targets=CellSums(sums, sums @ component.program.lower, sums @ component.program.upper),
            start=self.space.start[component.columns],
        )

    def _farthest(self, part: ComponentHistogram, ask: DistanceMeasure) -> Farthest:
        farthest = farthest_at_once if self.space.is_split else farthest_one_by_one
        return farthest(part, ask, self.allowance)

    def result(self) -> BatchVariability:
        """All findings; distances are capped by what certain records leave."""
        certain = _by_unit(self.histogram.unit, self.lower, self.space.units)
        people = self.space.people
        most = _by_unit(self.histogram.unit, self.upper, self.space.units)
        most = np.where(self.space.has_total, people, most)
        # Who is certain cannot differ; everybody else of both solutions may.
        movable = people + most - 2 * certain
        solvar = Distances(self.solvar.reached, np.minimum(self.solvar.bound, movable))
        diameter = None
        if self.budget.diameter:
            cap = np.minimum(2 * (most - certain), 2 * solvar.bound)
            diameter = Distances(
                np.maximum(self.diameter.reached, solvar.reached),
                np.minimum(self.diameter.bound, cap),
            )
        region = None
        if not self.space.is_split:
            number = np.cumsum(np.diff(self.regions, prepend=-1) != 0) - 1
            count = int(number[-1]) + 1 if len(number) else 0
            region = Distances(
                _by_unit(number, self.together.reached, count),
                np.minimum(
                    _by_unit(number, self.together.bound, count), _by_unit(number, movable, count)
                ),
            )
        return BatchVariability(
            self.lower,
            self.upper,
            self.is_exact,
            self.lowest,
            solvar,
            diameter,
            region,
            self.used_solver,
            self.allowance.work,
        )


def _settled(part: ComponentHistogram, still: IntArray) -> CellSums:
    """The targets, those of units that no solution moves fixed: both engines must say so."""
    fixed = np.isin(part.unit, still)
    if not fixed.any():
        return part.targets
    confirm_infeasible(distance_from_incumbent(part, part.select(fixed)).at_least(1))
    start = part.targets.sums @ part.start
    return CellSums(
        part.targets.sums,
        np.where(fixed, start, part.targets.lower),
        np.where(fixed, start, part.targets.upper),
    )


def _note(distances: Distances, farthest: Farthest) -> None:
    """Add what one component lets its units differ."""
    distances.reached[farthest.units] += farthest.reached
    distances.bound[farthest.units] += farthest.bound


def _nothing(units: int) -> Distances:
    return Distances(np.zeros(units, dtype=np.int64), np.zeros(units, dtype=np.int64))


def _by_unit(unit: IntArray, values: IntArray, units: int) -> IntArray:
    total: IntArray = np.bincount(unit, weights=values, minlength=units).astype(np.int64)
    return total
