"""Budgets of solver effort, and what was spent: deterministic seconds, by unit and region."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.cp_sat import Effort, SolveResult, find_feasible, maximize
from recon_cli.solve.dual_bounds import feasibility_cut
from recon_cli.solve.feasibility import PumpResult, pump
from recon_cli.solve.objectives import Maximization


@dataclass(frozen=True)
class EffortBudget:
    """How hard to try.

    Attributes:
        seeds: For the solver's own choices, by region, so that batches do not matter.
        unit: Deterministic seconds for each problem about one unit, or about all at once.
        diameter: Whether to measure the diameter, too.
        regions: Deterministic seconds that each region may take in all, or None.
        exact_intervals: Whether to solve for the ends that propagation leaves open.
    """

    seeds: dict[int, int]
    unit: float
    diameter: bool = False
    regions: dict[int, float] | None = None
    exact_intervals: bool = True


class EffortAccount:
    """A budget, being spent.

    Attributes:
        budget: What there was at first.
        spent: For each unit its share of the deterministic seconds so far.
        left: For each region, in the order of their numbers, what is left; infinite without limit.
    """

    def __init__(self, budget: EffortBudget, regions: IntArray) -> None:
        """A budget for units, given the region of each."""
        self.spent = np.zeros(len(regions))
        self.budget = budget
        self._regions = regions
        numbers, self._place = np.unique(regions, return_inverse=True)
        given = budget.regions or {}
        self.left = np.array([given.get(number, np.inf) for number in numbers.tolist()])

    def effort(self, units: IntArray, seconds: float) -> Effort:
        """So many deterministic seconds for some units of one region, if it has as many left."""
        region = int(self._regions[units[0]])
        left = float(self.left[self._place[units[0]]])
        return Effort(self.budget.seeds[region], min(seconds, left))

    def spend(self, units: IntArray, seconds: float) -> None:
        """Share deterministic seconds among units of one region."""
        self.spent[units] += seconds / len(units)
        place = self._place[units[0]]
        self.left[place] = max(self.left[place] - seconds, 0.0)

    def maximize(self, problem: Maximization, units: IntArray, seconds: float) -> SolveResult:
        """The best solution of a problem about some units."""
        answer = maximize(problem.program, problem.objective, self.effort(units, seconds))
        self.spend(units, answer.deterministic_time)
        return answer

    def pump(self, program: IntegerProgram, values: IntArray, units: IntArray) -> PumpResult:
        """A solution near values that are none, for a problem about some units."""
        pumped = pump(program, values, self.effort(units, self.budget.unit).limit)
        self.spend(units, pumped.deterministic_time)
        return pumped

    def feasibility_cut(
        self, program: IntegerProgram, variables: IntArray, values: IntArray, units: IntArray
    ) -> LinearConstraints:
        """Why variables cannot have these values, for a problem about some units; or no rows."""
        cut = feasibility_cut(
            program, variables, values, self.effort(units, self.budget.unit).limit
        )
        self.spend(units, cut.deterministic_time)
        return cut.rows

    def find_feasible(self, program: IntegerProgram, units: IntArray) -> SolveResult:
        """Any solution of a program, for a problem about some units."""
        answer = find_feasible(program, self.effort(units, self.budget.unit))
        self.spend(units, answer.deterministic_time)
        return answer
