"""Distances within one component: the problem to maximise, and the reading of solutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.solvar.objectives import diameter, distance_from, loss_from
from recon_cli.model.ledger import Arrays
from recon_cli.model.program import (
    IntegerProgram,
    LinearConstraints,
    Subprogram,
    activity_bounds,
    subprogram,
)
from recon_cli.solve.objectives import LinearFunctionals, Maximization


def relax_others(program: IntegerProgram, variables: IntArray) -> Subprogram:
    """Restrict a program to some variables, with the others free within their bounds.

    The result is a relaxation, Eq. (alone) of docs/method.md: it loses no solution.

    Args:
        variables: The variables to keep, sorted.
    """
    A = program.constraints.A
    kept = sparse.csr_array(A[:, variables])
    all_lowest, all_highest = activity_bounds(A, program.lower, program.upper)
    lowest, highest = activity_bounds(kept, program.lower[variables], program.upper[variables])
    least = program.constraints.least - (all_highest - highest)
    most = program.constraints.most - (all_lowest - lowest)
    binds = (lowest < least) | (highest > most)
    keep = (np.diff(kept.indptr) > 0) & binds
    return subprogram(program, variables, LinearConstraints(kept, least, most), keep)


@dataclass
class Distances:
    """Sums of ``|x − x0|``, or ``|x − y|``, in people counted twice, for each unit or region.

    Attributes:
        reached: A distance that a solution has.
        bound: A distance that none exceeds.
    """

    reached: IntArray
    bound: IntArray

    @classmethod
    def zeros(cls, units: int) -> Self:
        return cls(np.zeros(units, dtype=np.int64), np.zeros(units, dtype=np.int64))

    def add(self, units: IntArray, reached: IntArray, bound: IntArray) -> None:
        self.reached[units] += reached
        self.bound[units] += bound

    def named(self, name: str) -> Arrays:
        """Return both arrays, with a prefix for their names."""
        return {f"{name}_reached": self.reached, f"{name}_bound": self.bound}


@dataclass(frozen=True)
class ComponentHistogram:
    """The histogram cells of one component.

    Attributes:
        numbers: Each histogram cell's number among all of the batch.
        cells: The histogram cells as sums of the program's variables; none is in two.
        incumbent: The reconstruction: a value for each variable.
    """

    program: IntegerProgram
    numbers: IntArray
    unit: IntArray
    cells: LinearFunctionals
    incumbent: IntArray

    @cached_property
    def units(self) -> IntArray:
        """Return the sorted units with histogram cells here."""
        return np.unique(self.unit)

    @cached_property
    def unit_of_variable(self) -> IntArray:
        """Return the unit of each of the program's variables."""
        cell: IntArray = self.cells.coefficients.T @ np.arange(len(self.unit))
        unit: IntArray = self.unit[cell]
        return unit

    def variables_of(self, unit: int) -> IntArray:
        """Return the sorted variables that count people of a unit."""
        return np.flatnonzero(self.unit_of_variable == unit)

    def cells_where(self, chosen: BoolArray) -> LinearFunctionals:
        return self.cells.select(np.flatnonzero(chosen))

    def relax_others(self, unit: int) -> ComponentHistogram:
        """Relax all units but one: a bound of the result holds for the component."""
        variables = self.variables_of(unit)
        return self.over(variables, relax_others(self.program, variables).program)

    def over(self, variables: IntArray, program: IntegerProgram) -> ComponentHistogram:
        """Restrict the component to whole units.

        Args:
            variables: All variables of these units, sorted.
            program: A program over these variables.
        """
        chosen = np.isin(self.unit, self.unit_of_variable[variables])
        cells = self.cells_where(chosen)
        return ComponentHistogram(
            program=program,
            numbers=self.numbers[chosen],
            unit=self.unit[chosen],
            cells=LinearFunctionals(
                sparse.csr_array(cells.coefficients[:, variables]), cells.lower, cells.upper
            ),
            incumbent=self.incumbent[variables],
        )

    def highest(self, measure: DistanceMeasure) -> IntArray:
        """Return the distance that each histogram cell's interval alone allows."""
        if measure is DIAMETER:
            return self.cells.width
        incumbent = self.cells.coefficients @ self.incumbent
        if measure is LOST:
            lost: IntArray = 2 * (incumbent - self.cells.lower)
            return lost
        farthest: IntArray = np.maximum(self.cells.upper - incumbent, incumbent - self.cells.lower)
        return farthest


@dataclass(frozen=True)
class DistanceMeasure:
    """A distance measure.

    Attributes:
        problem: The problem whose optimum is the largest distance, for some histogram cells.
        distance: Function from the values of a solved problem, which begin with its solutions one
            after the other, to the contribution of each of these cells to the distance.
        solutions: Number of solutions in these values; the reconstruction is not among them.
    """

    problem: Callable[[ComponentHistogram, LinearFunctionals], Maximization]
    distance: Callable[[ComponentHistogram, LinearFunctionals, IntArray], IntArray]
    solutions: int


def _incumbent_distance(
    part: ComponentHistogram, cells: LinearFunctionals, values: IntArray
) -> IntArray:
    n = len(part.incumbent)
    moved: IntArray = np.abs(cells.coefficients @ (values[:n] - part.incumbent))
    return moved


def _incumbent_loss(
    part: ComponentHistogram, cells: LinearFunctionals, values: IntArray
) -> IntArray:
    n = len(part.incumbent)
    lost: IntArray = 2 * np.maximum(cells.coefficients @ (part.incumbent - values[:n]), 0)
    return lost


def _distance_apart(
    part: ComponentHistogram, cells: LinearFunctionals, values: IntArray
) -> IntArray:
    n = len(part.incumbent)
    apart: IntArray = np.abs(cells.coefficients @ (values[:n] - values[n : 2 * n]))
    return apart


#: Distance from the reconstruction to another solution, as in Eq. (solvar).
FROM_INCUMBENT = DistanceMeasure(
    lambda part, cells: distance_from(part.program, cells, cells.coefficients @ part.incumbent),
    _incumbent_distance,
    1,
)
#: Twice the people of the reconstruction whom a solution lacks, for protected counts, where the
#: number of people is not known: the numerator of Eq. (loss).
LOST = DistanceMeasure(
    lambda part, cells: loss_from(part.program, cells, cells.coefficients @ part.incumbent),
    _incumbent_loss,
    1,
)
#: Distance between any two solutions (diameter).
DIAMETER = DistanceMeasure(lambda part, cells: diameter(part.program, cells), _distance_apart, 2)
