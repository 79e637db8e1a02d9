"""Distances within one component: what is asked, and how an answer is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.model.components import Component, alone
from recon_cli.model.grain import IntArray
from recon_cli.solve.question import Question, Targets, ask_diameter, ask_distance

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Part:
    """The histogram cells of one component.

    Attributes:
        component: The system's cells that vary together.
        numbers: The histogram cells among all of the batch.
        unit: For each histogram cell its unit.
        targets: The histogram cells over the component's cells.
        start: The reconstruction: people in each cell of the component.
    """

    component: Component
    numbers: IntArray
    unit: IntArray
    targets: Targets
    start: IntArray

    @cached_property
    def units(self) -> IntArray:
        """The units that have histogram cells here, rising."""
        return np.unique(self.unit)

    @cached_property
    def unit_of_cell(self) -> IntArray:
        """For each of the component's cells its unit."""
        unit: IntArray = self.unit[self.targets.of_cell]
        return unit

    def select(self, chosen: BoolArray) -> Targets:
        """Some of the targets."""
        rows = np.flatnonzero(chosen)
        return Targets(
            sparse.csr_array(self.targets.sums[rows]),
            self.targets.lower[rows],
            self.targets.upper[rows],
        )

    def cells_of(self, unit: int) -> IntArray:
        """The component's cells that lie in a unit, rising."""
        return np.flatnonzero(self.unit_of_cell == unit)

    def alone(self, unit: int) -> Part:
        """One unit, whatever is in the others: what it cannot do here it cannot do at all."""
        chosen, cells = self.unit == unit, self.cells_of(unit)
        targets = self.select(chosen)
        return Part(
            component=alone(self.component, cells),
            numbers=self.numbers[chosen],
            unit=self.unit[chosen],
            targets=Targets(sparse.csr_array(targets.sums[:, cells]), targets.lower, targets.upper),
            start=self.start[cells],
        )

    def highest(self, ask: Ask) -> IntArray:
        """What the intervals alone allow each target."""
        if ask is SPAN:
            return self.targets.width
        start = self.targets.sums @ self.start
        farthest: IntArray = np.maximum(self.targets.upper - start, start - self.targets.lower)
        return farthest


@dataclass(frozen=True)
class Ask:
    """A distance.

    Attributes:
        question: What to maximise for some targets.
        distance: The distance of each of these targets at an answer: the solutions that it
            lies between, one after the other.
        solutions: Number of solutions in an answer besides the reconstruction.
    """

    question: Callable[[Part, Targets], Question]
    distance: Callable[[Part, Targets, IntArray], IntArray]
    solutions: int


def question_from_start(part: Part, targets: Targets) -> Question:
    """How far a solution can be from the reconstruction."""
    return ask_distance(part.component, targets, targets.sums @ part.start)


def _distance_from_start(part: Part, targets: Targets, values: IntArray) -> IntArray:
    n = len(part.start)
    moved: IntArray = np.abs(targets.sums @ (values[:n] - part.start))
    return moved


def _question_of_span(part: Part, targets: Targets) -> Question:
    return ask_diameter(part.component, targets)


def _distance_of_span(part: Part, targets: Targets, values: IntArray) -> IntArray:
    n = len(part.start)
    apart: IntArray = np.abs(targets.sums @ (values[:n] - values[n : 2 * n]))
    return apart


#: From the reconstruction to another solution (solvar).
DISTANCE = Ask(question_from_start, _distance_from_start, 1)
#: Between any two solutions (diameter).
SPAN = Ask(_question_of_span, _distance_of_span, 2)
