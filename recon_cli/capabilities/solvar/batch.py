"""Solution variability of a batch: how far other solutions can differ, and what all share.

For each unit of N people, over all solutions x of a system and with x0 the reconstruction,

    solvar = 100 · max Σ|x − x0| / 2N,

summed over the unit's histogram cells: Eq. (solvar) of docs/method.md (Eq. 4.6 and 4.10 of the 2010
study). Two systems: the *relaxed* one treats each unit alone, with its part of coarser tables as
upper bounds; the *exact* one is the whole region with every published count as an equality.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.ask.quarantine import BatchQuarantine
from recon_cli.capabilities.reconstruct.region_blocks import nested_blocks
from recon_cli.capabilities.solvar.distance import (
    DIAMETER,
    FROM_INCUMBENT,
    LOST,
    ComponentHistogram,
    DistanceMeasure,
    Distances,
)
from recon_cli.capabilities.solvar.histogram import HistogramCells
from recon_cli.capabilities.solvar.largest_distance import (
    LargestDistances,
    OnDistances,
    ignore_distances,
    maximize_each_unit,
    maximize_jointly,
)
from recon_cli.capabilities.solvar.unit_search import (
    UNWATCHED,
    EffortAccount,
    EffortBudget,
    UnitSearch,
)
from recon_cli.frames import OPEN
from recon_cli.model.bounds import propagate_people
from recon_cli.model.components import Component, split_components
from recon_cli.model.ledger import Arrays, Confirmation, Ledger
from recon_cli.model.program import LinearConstraints
from recon_cli.solve.certificates import CONFIRMATION, confirm_infeasible
from recon_cli.solve.ends import tighten_bounds
from recon_cli.solve.nested_blocks import reach_in_blocks
from recon_cli.solve.objectives import LinearFunctionals


@dataclass(frozen=True)
class SolutionSpace:
    """The solutions to measure over, and the solution to measure from.

    Attributes:
        rows: The system's rows, relaxed or not.
        incumbent: A solution: people in each candidate.
        is_split: Whether no row couples two units, so that one program measures all units.
        has_total: For each unit whether all solutions have the same number of people in it.
        people: For each unit its people, in `incumbent` or as published.
        missing: For each unit whether it was quarantined, so that `incumbent` has its lower bounds.
        lying_in: For each level the geounit of each unit, negative for none.
    """

    rows: LinearConstraints
    incumbent: IntArray
    unit: IntArray
    units: int
    is_split: bool
    has_total: BoolArray
    people: IntArray
    missing: BoolArray
    lying_in: tuple[IntArray, ...] = ()
    measure: DistanceMeasure = FROM_INCUMBENT


@dataclass
class CellIntervals:
    """Counts of each histogram cell of a batch over all solutions.

    Attributes:
        lower: The least count, or a valid lower bound.
        upper: The greatest count, or a valid upper bound; `OPEN` where nothing bounds the count.
        is_exact: Whether solutions attain both.
        lowest: The least count in the known solutions.
    """

    lower: IntArray
    upper: IntArray
    is_exact: BoolArray
    lowest: IntArray


@dataclass(frozen=True)
class BatchVariability:
    """The variability of a batch.

    Attributes:
        diameter: Distances between any two solutions, by unit, or None.
        region: The same as `solvar` for whole regions (all units at once), or None.
        is_searched: For each unit whether its search was completed.
        used_solver: For each unit whether a solver was needed beside propagation.
    """

    intervals: CellIntervals
    solvar: Distances
    diameter: Distances | None
    region: Distances | None
    is_searched: BoolArray
    used_solver: BoolArray
    deterministic_time: npt.NDArray[np.float64]


def measure_batch(
    space: SolutionSpace,
    histogram: HistogramCells,
    regions: IntArray,
    budget: EffortBudget,
    quarantine: BatchQuarantine,
    *,
    search: UnitSearch = UNWATCHED,
) -> BatchVariability:
    """Measure intervals, certain records, solvar and diameter of every unit of a batch.

    Eq. (solvar) of docs/method.md; a diameter is at most twice a solvar by Eq. (twice).

    Args:
        regions: For each unit its region, sorted.
        quarantine: Keeps solvers from units that kill them; for these, propagation's bounds stay.
        search: Resumes an earlier attempt; if the search is over, the unfinished units keep the
            bounds of propagation.
    """
    bounds = propagate_people(space.rows, space.incumbent)
    sums = histogram.sums
    lower, upper = sums @ bounds.lower, sums @ bounds.upper
    is_open = sums @ bounds.is_open.astype(np.int64) > 0
    intervals = CellIntervals(lower, upper, lower == upper, sums @ space.incumbent)
    fixed = sums @ np.where(bounds.free, 0, bounds.lower)
    account = EffortAccount(budget, regions)
    measurement = _Measurement(space, histogram, account, intervals, fixed, is_left=bounds.free)
    search.resume(measurement.state)
    components = split_components(
        space.rows, bounds, regions[space.unit], targets=histogram.of_cell
    )
    for component in quarantine.parts(components, space.unit, histogram.of_cell):
        if not measurement.is_left[component.columns].any():
            continue
        units = space.unit[component.columns]
        if search.is_over:
            measurement.leave_early(component)
            continue
        if space.missing[units].any() or not quarantine.admits(units):
            measurement.leave(component)
        else:
            measurement.add(component, search)
        measurement.is_left[component.columns] = False
        search.advance(measurement.state, measurement.is_searched, measurement.distances)
    measurement.open_ends(is_open)
    return measurement.result(regions)


def unreached(found: BatchVariability) -> BatchVariability:
    """Keep only the bounds, where rows admit people who print other medians or quantiles.

    Bounds that hold for all solutions of the rows are valid, but distances and counts attained by
    solutions of the rows may not be attainable.
    """
    nothing = [
        None if each is None else Distances(np.zeros_like(each.reached), each.bound)
        for each in (found.diameter, found.region)
    ]
    ends = found.intervals
    is_exact = ends.is_exact & (ends.lower == ends.upper)
    return replace(
        found,
        intervals=replace(ends, is_exact=is_exact),
        solvar=Distances(np.zeros_like(found.solvar.reached), found.solvar.bound),
        diameter=nothing[0],
        region=nothing[1],
    )


class _Measurement:
    """The variability so far: of each histogram cell, each unit, and the region as a whole.

    `fixed` are the people whom propagation put into each histogram cell; `together` has the
    distances of all units of a component at once, booked under its first unit. `is_left` marks the
    columns that are not searched yet. For the component that is being measured, `so_far` has the
    distances of its units, with bound `OPEN` where unknown, and `is_closed` marks the units all of
    whose intervals are exact.
    """

    def __init__(
        self,
        space: SolutionSpace,
        histogram: HistogramCells,
        account: EffortAccount,
        intervals: CellIntervals,
        fixed: IntArray,
        *,
        is_left: BoolArray,
    ) -> None:
        self.space = space
        self.histogram = histogram
        self.account = account
        self.intervals = intervals
        self.fixed = fixed
        self.solvar = Distances.zeros(space.units)
        self.diameter = Distances.zeros(space.units)
        self.together = Distances.zeros(space.units)
        self.so_far = Distances.zeros(space.units)
        self.so_far.bound[:] = OPEN
        self.is_closed = np.zeros(space.units, dtype=bool)
        self.used_solver = np.zeros(space.units, dtype=bool)
        self.is_left = is_left.copy()

    @property
    def state(self) -> Arrays:
        """Return everything that components change, by name."""
        intervals, account = self.intervals, self.account
        return {
            "lower": intervals.lower,
            "upper": intervals.upper,
            "is_exact": intervals.is_exact,
            "lowest": intervals.lowest,
            **self.solvar.named("solvar"),
            **self.diameter.named("diameter"),
            **self.together.named("together"),
            **self.so_far.named("so_far"),
            "is_closed": self.is_closed,
            "used_solver": self.used_solver,
            "is_left": self.is_left,
            "spent": account.spent,
            "left": account.left,
        }

    @property
    def is_searched(self) -> BoolArray:
        """Return a mask of the units that are finished."""
        return self._is_searched(self.is_left)

    def _is_searched(self, is_left: BoolArray) -> BoolArray:
        return np.equal(np.bincount(self.space.unit[is_left], minlength=self.space.units), 0)

    def _is_left_after(self, component: Component) -> BoolArray:
        """Return the columns that stay open if a component is decided only in part."""
        is_decided = self.is_closed & (self.so_far.reached == self.so_far.bound)
        is_left = self.is_left.copy()
        is_left[component.columns[is_decided[self.space.unit[component.columns]]]] = False
        return is_left

    def add(self, component: Component, search: UnitSearch) -> None:
        """Measure one component; another attempt starts it anew."""
        part, budget, account = self._part(component), self.account.budget, self.account
        begun = {"spent": account.spent.copy(), "left": account.left.copy()}

        def tell() -> None:
            is_done = self._is_searched(self._is_left_after(component))
            search.advance({**self.state, **begun}, is_done, self.distances)

        def on_distances(reached: IntArray, bound: IntArray) -> None:
            # It is still to be confirmed that a unit is immovable.
            units = part.units[bound > 0]
            self.so_far.reached[units] = reached[bound > 0]
            self.so_far.bound[units] = bound[bound > 0]
            tell()

        def on_ends(ends: Ledger) -> None:
            self._book(part, ends)
            self.is_closed[part.units] = True
            self.is_closed[part.unit[ends.is_open_anywhere]] = False
            tell()

        self.used_solver[part.unit] = True
        # The farthest solutions reach most ends of the intervals already. The cells of a
        # unit that cannot lack anyone cannot decrease; they may increase.
        measure = self.space.measure
        found = self._largest(part, measure, on_distances)
        largest, is_fixed = _confirmed(part, found, measure)
        self.so_far.reached[largest.units] = largest.reached
        self.so_far.bound[largest.units] = largest.bound
        known = [part.incumbent, *largest.solutions]
        apart = self._largest(part, DIAMETER) if budget.diameter else None
        if apart is not None:
            known += apart.solutions
        held = part.cells.coefficients @ part.incumbent
        ends = Ledger(part.program, part.cells.coefficients, known)
        for cell in np.flatnonzero(is_fixed).tolist():
            for sign in (1,) if measure is LOST else (1, -1):
                ends.prove(cell, sign, sign * int(held[cell]), Confirmation())
        if budget.exact_intervals:
            effort = self.account.effort(part.units, budget.unit * len(part.units))
            reach_in_blocks(ends, self._blocks(part), effort, watch=on_ends)
            left = replace(effort, limit=effort.limit - ends.effort)
            tighten_bounds(ends, left, among=np.flatnonzero(ends.is_open_anywhere))
            self.account.spend(part.units, ends.effort)
        self._book(part, ends)
        # Sums grow at the end alone: another attempt adds the component anew.
        self.solvar.add(largest.units, largest.reached, largest.bound)
        if apart is not None:
            self.diameter.add(apart.units, apart.reached, apart.bound)
        if largest.together is not None:
            reached, bound = (np.array([each]) for each in largest.together)
            self.together.add(largest.units[:1], reached, bound)
        self._forget(part.units)

    @property
    def distances(self) -> Distances:
        """Return the distances so far; the bound is `OPEN` and more if unknown."""
        rest = np.where(self.is_searched, 0, self.so_far.bound)
        return Distances(self.solvar.reached + self.so_far.reached, self.solvar.bound + rest)

    def _forget(self, units: IntArray) -> None:
        """Reset the intermediate results of some units."""
        self.so_far.reached[units], self.so_far.bound[units] = 0, OPEN
        self.is_closed[units] = False

    def _book(self, part: ComponentHistogram, ends: Ledger) -> None:
        """Record the intervals of a component."""
        numbers, fixed = part.numbers, self.fixed[part.numbers]
        self.intervals.lower[numbers] = fixed + ends.lower
        self.intervals.upper[numbers] = fixed + ends.upper
        self.intervals.is_exact[numbers] = ~ends.is_open_anywhere
        self.intervals.lowest[numbers] = fixed + ends.least

    def leave_early(self, component: Component) -> None:
        """Count a component that was stopped; what is decided about its units stands."""
        self.is_left = self._is_left_after(component)
        self.leave(component)

    def leave(self, component: Component) -> None:
        """Count a component without starting a solver: the known bounds stay."""
        part = self._part(component)
        missing = self.space.missing[part.unit]
        widths = part.highest(DIAMETER)
        cap = np.where(missing, widths, part.highest(self.space.measure))
        bound = _by_unit(part.unit, cap, self.space.units)
        bound[part.units] = np.minimum(bound, self.so_far.bound)[part.units]
        self.solvar.bound += bound
        self.solvar.reached[part.units] += self.so_far.reached[part.units]
        self._forget(part.units)
        self.diameter.bound += _by_unit(part.unit, widths, self.space.units)
        if not self.space.is_split:
            self.together.bound[int(part.unit[0])] += int(bound.sum())
        # No solution of a missing unit is known: any count may be the least one.
        unsolved = part.numbers[missing]
        self.intervals.lowest[unsolved] = self.intervals.upper[unsolved]

    def open_ends(self, is_open: BoolArray) -> None:
        """Mark some histogram cells as unbounded from above."""
        self.intervals.upper[is_open] = OPEN
        self.intervals.is_exact[is_open] = False

    def _part(self, component: Component) -> ComponentHistogram:
        numbers, sums = self.histogram.within(component)
        program = component.program
        return ComponentHistogram(
            program=program,
            numbers=numbers,
            unit=self.histogram.unit[numbers],
            cells=LinearFunctionals(sums, sums @ program.lower, sums @ program.upper),
            incumbent=self.space.incumbent[component.columns],
        )

    def _blocks(self, part: ComponentHistogram) -> tuple[tuple[IntArray, ...], ...]:
        """Return the variables of each unit; of each geounit, and all, if rows couple units."""
        units = tuple(part.variables_of(int(unit)) for unit in part.units)
        if self.space.is_split or len(units) == 1:
            return (units,)
        coarser = nested_blocks(self.space.lying_in, part.unit_of_variable)
        return (units, *(level for level in coarser if len(level) < len(units)))

    def _largest(
        self,
        part: ComponentHistogram,
        measure: DistanceMeasure,
        on_distances: OnDistances = ignore_distances,
    ) -> LargestDistances:
        if self.space.is_split:
            return maximize_jointly(part, measure, self.account)
        blocks = self._blocks(part)[1:]
        return maximize_each_unit(part, measure, self.account, blocks, on_distances)

    def result(self, regions: IntArray) -> BatchVariability:
        """Return the whole batch; distances are capped by what certain records leave."""
        units, people = self.space.units, self.space.people
        certain = _by_unit(self.histogram.unit, self.intervals.lower, units)
        most = _by_unit(self.histogram.unit, self.intervals.upper, units)
        most = np.where(self.space.has_total, people, most)
        # Certain records cannot differ; all other people of both solutions may.
        movable = people + most - 2 * certain
        if self.space.measure is LOST:
            movable = 2 * (people - certain)
        solvar = Distances(self.solvar.reached, np.minimum(self.solvar.bound, movable))
        diameter = None
        if self.account.budget.diameter:
            cap = np.minimum(2 * (most - certain), 2 * solvar.bound)
            diameter = Distances(
                np.maximum(self.diameter.reached, solvar.reached),
                np.minimum(self.diameter.bound, cap),
            )
        region = None if self.space.is_split else self._by_region(regions, movable)
        return BatchVariability(
            self.intervals,
            solvar,
            diameter,
            region,
            self.is_searched,
            self.used_solver,
            self.account.spent,
        )

    def _by_region(self, regions: IntArray, movable: IntArray) -> Distances:
        number = np.cumsum(np.diff(regions, prepend=-1) != 0) - 1
        count = int(number[-1]) + 1 if len(number) else 0
        bound = _by_unit(number, self.together.bound, count)
        return Distances(
            _by_unit(number, self.together.reached, count),
            np.minimum(bound, _by_unit(number, movable, count)),
        )


def _confirmed(
    part: ComponentHistogram, largest: LargestDistances, measure: DistanceMeasure
) -> tuple[LargestDistances, BoolArray]:
    """Return the distances, and the histogram cells of provably immovable units.

    Both engines must agree that a unit is immovable. If the second one runs out of time, the unit's
    distance is only bounded by the intervals of its histogram cells. A claim that all units
    together are immovable is accepted only if it was found for each of them.
    """
    if largest.together is not None and largest.together[1] == 0:
        largest = replace(largest, together=(largest.together[0], int(largest.bound.sum())))
    fixed = np.isin(part.unit, largest.immovable)
    if not fixed.any():
        return largest, fixed
    moved = measure.problem(part, part.cells_where(fixed)).at_least(1)
    if confirm_infeasible(moved, CONFIRMATION):
        return largest, fixed
    allowed = _by_unit(
        np.searchsorted(part.units, part.unit), part.highest(measure), len(part.units)
    )
    bound = np.where(largest.bound == 0, allowed, largest.bound)
    together = largest.together
    if together is not None and together[1] == 0:
        together = (together[0], int(bound.sum()))
    return replace(largest, bound=bound, together=together), np.zeros_like(fixed)


def _by_unit(unit: IntArray, values: IntArray, units: int) -> IntArray:
    total: IntArray = np.bincount(unit, weights=values, minlength=units).astype(np.int64)
    return total
