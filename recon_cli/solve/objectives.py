"""Questions about a component, as integer programs of their own.

A target is a histogram cell of the release: the sum of one or more cells of the component. Every
question is linear, so that a second engine can be asked the same one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram, with_rows, with_variables


@dataclass(frozen=True)
class CellSums:
    """Histogram cells over the cells of a component.

    Attributes:
        sums: Sparse (targets × cells) of ones; no cell is in two targets.
        lower: The least each target is known to be.
        upper: The most each target is known to be.
    """

    sums: sparse.csr_array
    lower: IntArray
    upper: IntArray

    @property
    def of_cell(self) -> IntArray:
        """For each cell its target."""
        number: IntArray = self.sums.T @ np.arange(self.sums.shape[0])
        return number

    @property
    def width(self) -> IntArray:
        """Length of each interval."""
        return self.upper - self.lower


@dataclass(frozen=True)
class Maximization:
    """Maximise ``objective @ x + constant`` over a program.

    Attributes:
        program: The component's cells first, then what the question adds.
        objective: Integer coefficients.
        constants: For each target what it adds to the objective.
        target: For each column of the program the target that it is about.
    """

    program: IntegerProgram
    objective: IntArray
    constants: IntArray
    target: IntArray

    @property
    def constant(self) -> int:
        """Added to the objective."""
        return int(self.constants.sum())

    def at_least(self, value: int) -> IntegerProgram:
        """The solutions with at least ``value``, as a program; infeasible if there are none."""
        row = sparse.csr_array(self.objective[None, :])
        side = np.array([value - self.constant])
        top = np.array([max(self.program.highest(self.objective), int(side[0]))])
        return with_rows(self.program, LinearConstraints(row, side, top))

    def capped(self, group: IntArray, most: IntArray) -> Maximization:
        """The same question where it is known that groups of targets add ``most`` at most.

        No solution is lost; the solver knows earlier that it has the best one.

        Args:
            group: For each target its group, from 0.
            most: For each group a valid bound on what its targets add to the objective.
        """
        used = np.flatnonzero(self.objective)
        n = len(most)
        at = (group[self.target[used]], used)
        A = sparse.csr_array((self.objective[used], at), shape=(n, len(self.objective)))
        lowest = np.where(self.objective > 0, self.program.lower, self.program.upper)
        known = np.bincount(group, weights=self.constants, minlength=n).astype(np.int64)
        least = A @ lowest
        rows = LinearConstraints(A, least, np.maximum(most - known, least))
        return replace(self, program=with_rows(self.program, rows))


def interval_ends(
    program: IntegerProgram,
    targets: CellSums,
    at_lower: npt.NDArray[np.bool_],
    at_upper: npt.NDArray[np.bool_],
) -> Maximization:
    """How many of some interval ends one solution can reach; 0 means that none is ever reached.

    Args:
        program: The program.
        targets: With ``lower < upper`` where an end is asked for.
        at_lower: Targets whose lower end is asked for.
        at_upper: Targets whose upper end is asked for.
    """
    narrow = targets.width == 1
    # A target between two neighbouring counts is its own indicator.
    low, high = at_lower & narrow, at_upper & narrow
    objective = targets.sums.T @ (high.astype(np.int64) - low)
    constants = targets.upper * low - targets.lower * high
    low, high = np.flatnonzero(at_lower & ~narrow), np.flatnonzero(at_upper & ~narrow)
    wide = np.concatenate([low, high])
    # An indicator that is one forces its target to the end: the link is the interval's width.
    sign = np.repeat([1, -1], [len(low), len(high)])
    links = sparse.csr_array(sparse.diags_array(sign * targets.width[wide], dtype=np.int64))
    rows = LinearConstraints(
        sparse.csr_array(sparse.hstack([targets.sums[wide], links])),
        targets.lower[wide],
        targets.upper[wide],
    )
    wider = with_variables(program, np.ones(len(wide), dtype=np.int64))
    return Maximization(
        with_rows(wider, rows),
        np.concatenate([objective, np.ones(len(wide), dtype=np.int64)]),
        constants,
        np.concatenate([targets.of_cell, wide]),
    )


def distance_from(program: IntegerProgram, targets: CellSums, start: IntArray) -> Maximization:
    """How far a solution can be from ``start``: the sum of ``|target − start|``.

    Args:
        program: The program.
        targets: The targets that count.
        start: Value of each target to measure from, within its interval.
    """
    above, below = targets.upper - start, start - targets.lower
    up, down = below == 0, (above == 0) & (below > 0)
    objective = targets.sums.T @ (up.astype(np.int64) - down)
    constants = start * down - start * up
    # Only a target that can go both ways needs a side (z) and a distance (d) of its own:
    # d ≤ y − s + 2·below·(1 − z) and d ≤ s − y + 2·above·z.
    inner = np.flatnonzero((above > 0) & (below > 0))
    n = len(inner)
    ups, downs, middle = above[inner], below[inner], start[inner]
    one = sparse.eye_array(n, dtype=np.int64, format="csr")
    y = targets.sums[inner]
    first = sparse.hstack([y, -one, -_diagonal(2 * downs)])
    second = sparse.hstack([-y, -one, _diagonal(2 * ups)])
    rows = LinearConstraints(
        sparse.csr_array(sparse.vstack([first, second])),
        np.concatenate([middle - 2 * downs, -middle]),
        np.concatenate([middle + ups, 2 * ups - middle + downs]),
    )
    far = np.maximum(ups, downs)
    wider = with_variables(program, np.concatenate([far, np.ones(n, dtype=np.int64)]))
    gain = np.repeat([1, 0], n)
    return Maximization(
        with_rows(wider, rows),
        np.concatenate([objective, gain]),
        constants,
        np.concatenate([targets.of_cell, np.tile(inner, 2)]),
    )


def diameter(program: IntegerProgram, targets: CellSums) -> Maximization:
    """How far two solutions can be apart: the sum of ``|target of one − target of the other|``.

    The program's columns are the one solution, the other, distances and sides.
    """
    n = len(targets.lower)
    old = program.constraints
    twice = IntegerProgram(
        LinearConstraints(
            sparse.csr_array(sparse.block_diag([old.A, old.A], format="csr")),
            np.tile(old.least, 2),
            np.tile(old.most, 2),
        ),
        lower=np.tile(program.lower, 2),
        upper=np.tile(program.upper, 2),
    )
    width = targets.width
    one = sparse.eye_array(n, dtype=np.int64, format="csr")
    y = targets.sums
    # d ≤ x − y + 2·width·(1 − z) and d ≤ y − x + 2·width·z.
    first = sparse.hstack([y, -y, -one, -_diagonal(2 * width)])
    second = sparse.hstack([-y, y, -one, _diagonal(2 * width)])
    rows = LinearConstraints(
        sparse.csr_array(sparse.vstack([first, second])),
        np.concatenate([-2 * width, np.zeros(n, dtype=np.int64)]),
        np.concatenate([width, 3 * width]),
    )
    wider = with_variables(twice, np.concatenate([width, np.ones(n, dtype=np.int64)]))
    objective = np.repeat([0, 1, 0], [2 * len(program.lower), n, n])
    target = np.concatenate([np.tile(targets.of_cell, 2), np.tile(np.arange(n), 2)])
    return Maximization(with_rows(wider, rows), objective, np.zeros(n, dtype=np.int64), target)


def _diagonal(values: IntArray) -> sparse.csr_array:
    n = len(values)
    return sparse.csr_array((values, (np.arange(n), np.arange(n))), shape=(n, n))
