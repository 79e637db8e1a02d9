"""A search over the units of a batch: its budget, its checkpoint, its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.ask.question import Checkpoint, KeptSearch
from recon_cli.capabilities.reconstruct.engines import Engine, maximize
from recon_cli.capabilities.solvar.cut import feasibility_cut
from recon_cli.capabilities.solvar.distance import Distances
from recon_cli.model.ledger import Arrays
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.cp_sat import Effort, SolveResult, find_feasible
from recon_cli.solve.feasibility import PumpResult, pump
from recon_cli.solve.objectives import Maximization


@dataclass(frozen=True)
class EffortBudget:
    """The budget of a search.

    Attributes:
        seeds: Seed of the solver by region, so that results do not depend on batches.
        unit: Deterministic seconds for each problem about one unit, or about all at once.
        regions: Deterministic seconds that each region may take in all, or None.
        exact_intervals: Whether to solve for the ends that propagation leaves open.
        engine: Engine that searches for farthest solutions; CP-SAT proves that none is farther.
    """

    seeds: dict[int, int]
    unit: float
    diameter: bool = False
    regions: dict[int, float] | None = None
    exact_intervals: bool = True
    engine: Engine = "cp-sat"


class EffortAccount:
    """A budget with its use so far.

    Attributes:
        spent: For each unit its share of the deterministic seconds so far.
        left: For each region, by its number, the seconds that are left; infinite without limit.
    """

    def __init__(self, budget: EffortBudget, regions: IntArray) -> None:
        """Start an account for units, given the region of each."""
        self.spent = np.zeros(len(regions))
        self.budget = budget
        self._regions = regions
        numbers, self._place = np.unique(regions, return_inverse=True)
        given = budget.regions or {}
        self.left = np.array([given.get(number, np.inf) for number in numbers.tolist()])

    def effort(self, units: IntArray, seconds: float) -> Effort:
        """Allot deterministic seconds to some units of one region, as far as its budget allows."""
        region = int(self._regions[units[0]])
        left = float(self.left[self._place[units[0]]])
        return Effort(self.budget.seeds[region], min(seconds, left))

    def spend(self, units: IntArray, seconds: float) -> None:
        """Charge deterministic seconds to units of one region."""
        self.spent[units] += seconds / len(units)
        place = self._place[units[0]]
        self.left[place] = max(self.left[place] - seconds, 0.0)

    def maximize(self, problem: Maximization, units: IntArray, seconds: float) -> SolveResult:
        """Find the best solution of a problem about some units."""
        effort = self.effort(units, seconds)
        answer = maximize(problem.program, problem.objective, effort, self.budget.engine)
        self.spend(units, answer.deterministic_time)
        return answer

    def pump(self, program: IntegerProgram, values: IntArray, units: IntArray) -> PumpResult:
        """Find a solution near given values, for a problem about some units."""
        pumped = pump(program, values, self.effort(units, self.budget.unit).limit)
        self.spend(units, pumped.deterministic_time)
        return pumped

    def feasibility_cut(
        self, program: IntegerProgram, variables: IntArray, values: IntArray, units: IntArray
    ) -> LinearConstraints:
        """Find an inequality that these values violate, for a problem about some units."""
        cut = feasibility_cut(
            program, variables, values, self.effort(units, self.budget.unit).limit
        )
        self.spend(units, cut.deterministic_time)
        return cut.rows

    def find_feasible(self, program: IntegerProgram, units: IntArray) -> SolveResult:
        """Find any solution of a program, for a problem about some units."""
        answer = find_feasible(program, self.effort(units, self.budget.unit))
        self.spend(units, answer.deterministic_time)
        return answer


def _ignore(_is_done: BoolArray, _distances: Distances) -> None: ...


@dataclass(frozen=True)
class UnitSearch:
    """The checkpoint of a batch's search, and the receiver of its progress.

    Attributes:
        on_done: Called with a mask of the finished units, and the distances of all units so far.
    """

    kept: KeptSearch
    on_done: Callable[[BoolArray, Distances], None] = _ignore

    @property
    def is_over(self) -> bool:
        """Report whether the search has been stopped: unfinished units stay undecided."""
        return self.kept.is_over

    def resume(self, state: Arrays) -> None:
        """Restore arrays from the last checkpoint, if there is one."""
        before = self.kept.load()
        if before is not None and all(before[name].shape == state[name].shape for name in state):
            for name, array in state.items():
                array[...] = before[name]

    def advance(self, state: Arrays, is_done: BoolArray, distances: Distances) -> None:
        """Record that a part of the search is done.

        Args:
            state: The arrays from which another attempt resumes.
            is_done: For each unit whether nothing is left to do.
            distances: Distances of units so far; a bound of at least `OPEN` means unknown.
        """
        self.kept.save(lambda: state)
        self.on_done(is_done, distances)


#: A search without checkpoint and progress.
UNWATCHED = UnitSearch(KeptSearch(Checkpoint(), ""))
