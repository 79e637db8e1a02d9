"""Solution variability: how far any other solution can differ, and who stands in all of them.

For each unit of N people, over all solutions x of a system and with x0 the reconstruction,

    solvar = 100 · max Σ|x − x0| / 2N,

summed over the unit's histogram cells (Eq. 4.6 and 4.10 of the 2010 study). Two systems: the
*relaxed* one takes each unit alone, with what it shares with coarser tables as upper bounds; the
*exact* one is the whole region with every published count as an equality.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.attack.guard import Watch
from recon_cli.attack.targets import Histogram
from recon_cli.model.bounds import Bounds, propagate
from recon_cli.model.components import Component, split_components
from recon_cli.model.grain import IntArray
from recon_cli.model.rows import Rows
from recon_cli.solve.extremes import find_extremes
from recon_cli.solve.opinion import confirm_infeasible
from recon_cli.solve.program import Answer, Effort, Status, maximize
from recon_cli.solve.question import Question, Targets, ask_diameter, ask_distance

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Space:
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

    rows: Rows
    start: IntArray
    unit: IntArray
    units: int
    is_split: bool
    has_total: BoolArray
    people: IntArray
    missing: BoolArray


@dataclass(frozen=True)
class Budget:
    """How hard to try.

    Attributes:
        seeds: For the solver's own choices, by region, so that batches do not matter.
        unit: Deterministic seconds for each question about one unit.
        diameter: Whether to measure the diameter, too.
        regions: Deterministic seconds that each region may take in all, or None.
        exact_intervals: Whether to solve for the ends that propagation leaves open.
    """

    seeds: dict[int, int]
    unit: float
    diameter: bool = False
    regions: dict[int, float] | None = None
    exact_intervals: bool = True


@dataclass
class Distances:
    """Sums of ``|x − x0|``, or ``|x − y|``, for each unit: a value reached and a bound."""

    reached: IntArray
    bound: IntArray


@dataclass(frozen=True)
class Variability:
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


def measure(
    space: Space, histogram: Histogram, regions: IntArray, budget: Budget, watch: Watch
) -> Variability:
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
        for part in watch.parts(whole, space.unit[whole.cells], histogram.of_cell[whole.cells])
    ):
        units = space.unit[component.cells]
        if space.missing[units].any() or not watch.admits(units):
            measured.leave(component)
        else:
            measured.add(component)
    return measured.result()


class _Measured:
    """The findings so far, by histogram cell and unit."""

    def __init__(
        self,
        space: Space,
        histogram: Histogram,
        bounds: Bounds,
        regions: IntArray,
        budget: Budget,
    ) -> None:
        self.space = space
        self.histogram = histogram
        self.regions = regions
        self.budget = budget
        self.left = dict(budget.regions or {})
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
        self.work = np.zeros(space.units)
        self._still = np.empty(0, dtype=np.int64)

    def add(self, component: Component) -> None:
        """Measure one component."""
        numbers, sums = self.histogram.within(component)
        part = _Part(
            component=component,
            numbers=numbers,
            unit=self.histogram.unit[numbers],
            targets=Targets(sums, sums @ component.lower, sums @ component.upper),
            start=self.space.start[component.cells],
        )
        self.used_solver[part.unit] = True
        # The farthest solutions reach most ends of the intervals already.
        known = [part.start, *self._distances(part, self.solvar, _distance)]
        if not self.space.is_split:
            known += self._all_units(part)
        if self.budget.diameter:
            known += self._distances(part, self.diameter, _span)
        units = np.unique(part.unit)
        limit = self._limit(units) if self.budget.exact_intervals else 0.0
        effort = Effort(self._seed(units), limit)
        extremes = find_extremes(component, self._settled(part), known, effort)
        self._spread(units, extremes.work)
        self.lower[numbers] = self.fixed[numbers] + extremes.targets.lower
        self.upper[numbers] = self.fixed[numbers] + extremes.targets.upper
        self.is_exact[numbers] = extremes.is_exact
        self.lowest[numbers] = self.fixed[numbers] + extremes.lowest

    def leave(self, component: Component) -> None:
        """Count a component that no solver may be let at: the bounds of propagation stand."""
        numbers, sums = self.histogram.within(component)
        part = _Part(
            component=component,
            numbers=numbers,
            unit=self.histogram.unit[numbers],
            targets=Targets(sums, sums @ component.lower, sums @ component.upper),
            start=self.space.start[component.cells],
        )
        missing = self.space.missing[part.unit]
        cap = np.where(missing, part.highest(_span), part.highest(_distance))
        bound = _by_unit(part.unit, cap, self.space.units)
        self.solvar.bound += bound
        self.diameter.bound += _by_unit(part.unit, part.highest(_span), self.space.units)
        if not self.space.is_split:
            self.together.bound[int(part.unit[0])] += int(bound.sum())
        # Nobody knows a solution of a missing unit: any count may be the least one.
        self.lowest[numbers[missing]] = self.upper[numbers[missing]]

    def _settled(self, part: _Part) -> Targets:
        """The targets, those of units that no solution moves fixed: both engines must say so."""
        still = np.isin(part.unit, self._still)
        if not still.any():
            return part.targets
        confirm_infeasible(_question_from_start(part, part.select(still)).at_least(1))
        start = part.targets.sums @ part.start
        return Targets(
            part.targets.sums,
            np.where(still, start, part.targets.lower),
            np.where(still, start, part.targets.upper),
        )

    def _distances(self, part: _Part, into: Distances, ask: Ask) -> list[IntArray]:
        """Measure every unit of a part: all at once where no row couples them.

        Returns:
            The solutions found on the way.
        """
        found: list[IntArray] = []
        still: list[int] = []
        units = np.unique(part.unit)
        groups = [units] if self.space.is_split else [units[i : i + 1] for i in range(len(units))]
        for group in groups:
            chosen = np.isin(part.unit, group)
            reached, answer, question = self._ask(part, chosen, ask)
            self._spread(group, answer.work)
            unit = part.unit[chosen]
            here = np.bincount(unit, weights=reached, minlength=self.space.units)
            bound = here
            if answer.status is not Status.OPTIMAL:
                cap = part.highest(ask)[chosen]
                bound = np.bincount(unit, weights=cap, minlength=self.space.units)
                if len(group) == 1:
                    bound[group] = np.minimum(bound[group], answer.bound + question.constant)
            into.reached += here.astype(np.int64)
            into.bound += bound.astype(np.int64)
            if answer.status is Status.OPTIMAL:
                still += group[here[group] == 0].tolist()
            if len(answer.values):
                found.append(answer.values[: len(part.start)])
        if ask is _distance:
            self._still = np.array(still, dtype=np.int64)
        return found

    def _all_units(self, part: _Part) -> list[IntArray]:
        """Measure all units of a part as one, for the region; the solution found on the way."""
        everywhere = np.ones(len(part.unit), dtype=bool)
        units = np.unique(part.unit)
        reached, answer, question = self._ask(part, everywhere, _distance)
        self._spread(units, answer.work)
        first = int(units[0])
        self.together.reached[first] += int(reached.sum())
        optimal = answer.status is Status.OPTIMAL
        self.together.bound[first] += (
            int(reached.sum()) if optimal else answer.bound + question.constant
        )
        return [answer.values[: len(part.start)]] if len(answer.values) else []

    def _ask(self, part: _Part, chosen: BoolArray, ask: Ask) -> tuple[IntArray, Answer, Question]:
        """The distance of each chosen target in the best solution found."""
        targets = part.select(chosen)
        question = ask.question(part, targets)
        units = np.unique(part.unit[chosen])
        effort = Effort(self._seed(units), self._limit(units))
        answer = maximize(question.program, question.objective, effort)
        if not len(answer.values):
            return np.zeros(len(targets.lower), dtype=np.int64), answer, question
        return ask.distance(part, targets, answer.values), answer, question

    def _seed(self, units: IntArray) -> int:
        return self.budget.seeds[int(self.regions[units[0]])]

    def _limit(self, units: IntArray) -> float:
        """Deterministic seconds for a question about some units of one region."""
        limit = self.budget.unit * len(units)
        return min(limit, self.left.get(int(self.regions[units[0]]), limit))

    def _spread(self, units: IntArray, work: float) -> None:
        self.work[units] += work / len(units)
        region = int(self.regions[units[0]])
        if region in self.left:
            self.left[region] = max(self.left[region] - work, 0.0)

    def result(self) -> Variability:
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
        return Variability(
            self.lower,
            self.upper,
            self.is_exact,
            self.lowest,
            solvar,
            diameter,
            region,
            self.used_solver,
            self.work,
        )


@dataclass(frozen=True)
class _Part:
    """The targets of one component that vary."""

    component: Component
    numbers: IntArray
    unit: IntArray
    targets: Targets
    start: IntArray

    def select(self, chosen: BoolArray) -> Targets:
        rows = np.flatnonzero(chosen)
        return Targets(
            sparse.csr_array(self.targets.sums[rows]),
            self.targets.lower[rows],
            self.targets.upper[rows],
        )

    def highest(self, ask: Ask) -> IntArray:
        """What the intervals alone allow each target."""
        if ask is _span:
            return self.targets.width
        start = self.targets.sums @ self.start
        farthest: IntArray = np.maximum(self.targets.upper - start, start - self.targets.lower)
        return farthest


@dataclass(frozen=True)
class Ask:
    """A distance: its question, and its value at an answer."""

    question: Callable[[_Part, Targets], Question]
    distance: Callable[[_Part, Targets, IntArray], IntArray]


def _question_from_start(part: _Part, targets: Targets) -> Question:
    return ask_distance(part.component, targets, targets.sums @ part.start)


def _distance_from_start(part: _Part, targets: Targets, values: IntArray) -> IntArray:
    n = len(part.start)
    moved: IntArray = np.abs(targets.sums @ (values[:n] - part.start))
    return moved


def _question_of_span(part: _Part, targets: Targets) -> Question:
    return ask_diameter(part.component, targets)


def _distance_of_span(part: _Part, targets: Targets, values: IntArray) -> IntArray:
    n = len(part.start)
    apart: IntArray = np.abs(targets.sums @ (values[:n] - values[n : 2 * n]))
    return apart


_distance = Ask(_question_from_start, _distance_from_start)
_span = Ask(_question_of_span, _distance_of_span)


def _nothing(units: int) -> Distances:
    return Distances(np.zeros(units, dtype=np.int64), np.zeros(units, dtype=np.int64))


def _by_unit(unit: IntArray, values: IntArray, units: int) -> IntArray:
    total: IntArray = np.bincount(unit, weights=values, minlength=units).astype(np.int64)
    return total
