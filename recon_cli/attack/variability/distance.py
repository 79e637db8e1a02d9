"""Distances within one component: what is asked, and how an answer is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram, relax_others
from recon_cli.solve.objectives import CellSums, Maximization, diameter, distance_from

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ComponentHistogram:
    """The histogram cells of one component.

    Attributes:
        program: The component's program.
        numbers: The histogram cells among all of the batch.
        unit: For each histogram cell its unit.
        targets: The histogram cells over the component's cells.
        start: The reconstruction: people in each cell of the component.
    """

    program: IntegerProgram
    numbers: IntArray
    unit: IntArray
    targets: CellSums
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

    def select(self, chosen: BoolArray) -> CellSums:
        """Some of the targets."""
        rows = np.flatnonzero(chosen)
        return CellSums(
            sparse.csr_array(self.targets.sums[rows]),
            self.targets.lower[rows],
            self.targets.upper[rows],
        )

    def cells_of(self, unit: int) -> IntArray:
        """The component's cells that lie in a unit, rising."""
        return np.flatnonzero(self.unit_of_cell == unit)

    def relax_others(self, unit: int) -> ComponentHistogram:
        """One unit, whatever is in the others: what it cannot do here it cannot do at all."""
        chosen, cells = self.unit == unit, self.cells_of(unit)
        targets = self.select(chosen)
        return ComponentHistogram(
            program=relax_others(self.program, cells).program,
            numbers=self.numbers[chosen],
            unit=self.unit[chosen],
            targets=CellSums(
                sparse.csr_array(targets.sums[:, cells]), targets.lower, targets.upper
            ),
            start=self.start[cells],
        )

    def highest(self, ask: DistanceMeasure) -> IntArray:
        """What the intervals alone allow each target."""
        if ask is DIAMETER:
            return self.targets.width
        start = self.targets.sums @ self.start
        farthest: IntArray = np.maximum(self.targets.upper - start, start - self.targets.lower)
        return farthest


@dataclass(frozen=True)
class DistanceMeasure:
    """A distance.

    Attributes:
        question: What to maximise for some targets.
        distance: The distance of each of these targets at an answer: the solutions that it
            lies between, one after the other.
        solutions: Number of solutions in an answer besides the reconstruction.
    """

    question: Callable[[ComponentHistogram, CellSums], Maximization]
    distance: Callable[[ComponentHistogram, CellSums, IntArray], IntArray]
    solutions: int


def distance_from_incumbent(part: ComponentHistogram, targets: CellSums) -> Maximization:
    """How far a solution can be from the reconstruction."""
    return distance_from(part.program, targets, targets.sums @ part.start)


def _distance_from_start(part: ComponentHistogram, targets: CellSums, values: IntArray) -> IntArray:
    n = len(part.start)
    moved: IntArray = np.abs(targets.sums @ (values[:n] - part.start))
    return moved


def _question_of_span(part: ComponentHistogram, targets: CellSums) -> Maximization:
    return diameter(part.program, targets)


def _distance_of_span(part: ComponentHistogram, targets: CellSums, values: IntArray) -> IntArray:
    n = len(part.start)
    apart: IntArray = np.abs(targets.sums @ (values[:n] - values[n : 2 * n]))
    return apart


#: From the reconstruction to another solution (solvar).
FROM_INCUMBENT = DistanceMeasure(distance_from_incumbent, _distance_from_start, 1)
#: Between any two solutions (diameter).
DIAMETER = DistanceMeasure(_question_of_span, _distance_of_span, 2)
