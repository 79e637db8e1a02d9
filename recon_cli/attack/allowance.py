"""What solvers may be asked, and what it has cost: deterministic seconds, by unit and region."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recon_cli.model.components import Component
from recon_cli.model.grain import IntArray
from recon_cli.model.rows import Rows
from recon_cli.solve.cuts import cut_off
from recon_cli.solve.mending import Mended, mend
from recon_cli.solve.program import Answer, Effort, find, maximize
from recon_cli.solve.question import Question


@dataclass(frozen=True)
class Budget:
    """How hard to try.

    Attributes:
        seeds: For the solver's own choices, by region, so that batches do not matter.
        unit: Deterministic seconds for each question about one unit, or about all at once.
        diameter: Whether to measure the diameter, too.
        regions: Deterministic seconds that each region may take in all, or None.
        exact_intervals: Whether to solve for the ends that propagation leaves open.
    """

    seeds: dict[int, int]
    unit: float
    diameter: bool = False
    regions: dict[int, float] | None = None
    exact_intervals: bool = True


class Allowance:
    """A budget, being spent.

    Attributes:
        budget: What there was at first.
        work: For each unit its share of the deterministic seconds so far.
    """

    def __init__(self, budget: Budget, regions: IntArray) -> None:
        """A budget for units, given the region of each."""
        self.work = np.zeros(len(regions))
        self.budget = budget
        self._regions = regions
        self._left = dict(budget.regions or {})

    def effort(self, units: IntArray, seconds: float) -> Effort:
        """So many deterministic seconds for some units of one region, if it has as many left."""
        region = int(self._regions[units[0]])
        return Effort(self.budget.seeds[region], min(seconds, self._left.get(region, seconds)))

    def spend(self, units: IntArray, work: float) -> None:
        """Share deterministic seconds among units of one region."""
        self.work[units] += work / len(units)
        region = int(self._regions[units[0]])
        if region in self._left:
            self._left[region] = max(self._left[region] - work, 0.0)

    def maximize(self, question: Question, units: IntArray, seconds: float) -> Answer:
        """The best answer to a question about some units."""
        answer = maximize(question.program, question.objective, self.effort(units, seconds))
        self.spend(units, answer.work)
        return answer

    def mend(self, component: Component, start: IntArray, units: IntArray) -> Mended:
        """A solution near values that are none, for a question about some units."""
        mended = mend(component, start, self.effort(units, self.budget.unit).limit)
        self.spend(units, mended.work)
        return mended

    def cut_off(
        self, component: Component, cells: IntArray, values: IntArray, units: IntArray
    ) -> Rows:
        """Why cells cannot have these values, for a question about some units; or no rows."""
        cut = cut_off(component, cells, values, self.effort(units, self.budget.unit).limit)
        self.spend(units, cut.work)
        return cut.rows

    def find(self, component: Component, units: IntArray) -> Answer:
        """Any solution of a component, for a question about some units."""
        answer = find(component, self.effort(units, self.budget.unit))
        self.spend(units, answer.work)
        return answer
