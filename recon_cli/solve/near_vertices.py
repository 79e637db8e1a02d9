"""Vertices near a known solution that move a functional as far as the relaxation allows.

A block of variables is examined in two ways at once: with all other variables free within their
bounds, which loses no solution and so gives proofs; and with all others fixed at a known solution,
which gives solutions. In one linear program, falling short of the goal costs most, moving other
variables less, and any change a little. Its duals prove how far the functional can move; and if no
other variable has to move, its vertex, which is nearly always integral, is a solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.frames import OPEN
from recon_cli.model.ledger import Combination
from recon_cli.model.placed import placed
from recon_cli.model.program import IntegerProgram, LinearConstraints, activity_bounds
from recon_cli.solve.dual_bounds import FREE, WeightedRows, whole_weights
from recon_cli.solve.linear_relaxation import LinearRelaxation

#: Costs of moving a person in the block, of moving one elsewhere, of falling short by one.
_MOVE, _ELSEWHERE, _SHORT = 1.0, 1e3, 1e6
#: Greatest random difference of people's costs after a vertex that is not integral.
_NOISE = 0.05
#: Scales of weights, from what is easily read to what loses nothing: 720,720 is divisible by 1 to
#: 16, and so fine that rounding to it moves no bound of a program this size.
_SCALES = (1, 2, 12, 2520, 720_720)


@dataclass(frozen=True)
class Block:
    """Some variables of a program, around a known solution.

    Attributes:
        columns: The variables, sorted.
        rows: The rows over them that can bind.
        A: Sparse (rows × columns).
        outer: Least and greatest change of each row for any values of other variables; ±2^40
            where nothing bounds them.
        inner: Least and greatest change of each row while other variables stay.
        down: How far each variable can decrease.
        up: How far each variable can increase, 2^40 if unbounded.
    """

    columns: IntArray
    rows: IntArray
    A: sparse.csr_array
    outer: tuple[IntArray, IntArray]
    inner: tuple[IntArray, IntArray]
    down: IntArray
    up: IntArray

    @cached_property
    def weighted(self) -> WeightedRows:
        """Return the rows of the block, for sums that hold for any values of other variables."""
        program = IntegerProgram(LinearConstraints(self.A, *self.outer), -self.down, self.up)
        return WeightedRows(program)

    def is_solution(self, change: IntArray) -> bool:
        """Test whether a change of the block alone turns the known solution into another."""
        return self._is_within(change, self.inner)

    def is_met(self, change: IntArray) -> bool:
        """Test whether a change of the block satisfies the block's own rows."""
        return self._is_within(change, self.outer)

    def _is_within(self, change: IntArray, ends: tuple[IntArray, IntArray]) -> bool:
        if (change > self.up).any() or (-change > self.down).any():
            return False
        total, (least, most) = self.A @ change, ends
        return bool((total >= least).all() and (total <= most).all())


@dataclass(frozen=True)
class BlockView:
    """A program indexed by variables, for fast selection of blocks.

    Attributes:
        is_open: Variables that nothing bounds from above.
        ends: For each row its open variables with a negative, and with a positive coefficient.
        reach: Least and greatest value of each row within the bounds of the variables.
    """

    program: IntegerProgram
    by_column: sparse.csc_array
    is_open: BoolArray
    ends: tuple[IntArray, IntArray]
    reach: tuple[IntArray, IntArray]

    @classmethod
    def of(cls, program: IntegerProgram) -> BlockView:
        A = program.constraints.A
        is_open: BoolArray = program.upper >= OPEN
        reach = activity_bounds(A, program.lower, program.upper)
        return cls(program, sparse.csc_array(A), is_open, _open_ends(A, is_open), reach)

    def around(self, known: IntArray, total: IntArray, columns: IntArray) -> Block:
        """Select some variables, around a known solution.

        Args:
            known: The solution.
            total: Values of the rows in it.
            columns: The variables, sorted.
        """
        program = self.program
        A, rows = self._part(columns)
        lower = program.lower[columns] - known[columns]
        upper = program.upper[columns] - known[columns]
        fall, rise = activity_bounds(A, lower, upper)
        least = program.constraints.least[rows] - total[rows]
        most = program.constraints.most[rows] - total[rows]
        # Other variables move a row by what all variables can, less what the block can.
        others_fall = self.reach[0][rows] - total[rows] - fall
        others_rise = self.reach[1][rows] - total[rows] - rise
        own = _open_ends(A, self.is_open[columns])
        falls_open, rises_open = (
            every[rows] > here for every, here in zip(self.ends, own, strict=True)
        )
        falls_open |= program.constraints.most[rows] >= OPEN
        binds = np.flatnonzero((fall < least) | (rise > most))
        least, most = least[binds], most[binds]
        return Block(
            columns=columns,
            rows=rows[binds],
            A=sparse.csr_array(A[binds]),
            outer=(
                np.where(rises_open[binds], -FREE, least - others_rise[binds]),
                np.where(falls_open[binds], FREE, most - others_fall[binds]),
            ),
            inner=(least, most),
            down=-lower,
            up=np.where(self.is_open[columns], FREE, upper),
        )

    def inner(self, known: IntArray, total: IntArray, columns: IntArray) -> IntegerProgram:
        """Restrict the program to some variables, with the others as in a known solution.

        Args:
            known: The solution.
            total: Values of the rows in it.
            columns: The variables, sorted.
        """
        A, rows = self._part(columns)
        others = total[rows] - A @ known[columns]
        least, most = (
            ends[rows] - others
            for ends in (self.program.constraints.least, self.program.constraints.most)
        )
        constraints = LinearConstraints(A, least, most)
        return IntegerProgram(constraints, self.program.lower[columns], self.program.upper[columns])

    def relaxed(self, columns: IntArray) -> IntegerProgram:
        """Restrict the program to some variables, with the others free within their bounds."""
        program = self.program
        A, rows = self._part(columns)
        lower, upper = program.lower[columns], program.upper[columns]
        fall, rise = activity_bounds(A, lower, upper)
        least = program.constraints.least[rows] - (self.reach[1][rows] - rise)
        most = program.constraints.most[rows] - (self.reach[0][rows] - fall)
        binds = np.flatnonzero((fall < least) | (rise > most))
        constraints = LinearConstraints(sparse.csr_array(A[binds]), least[binds], most[binds])
        return IntegerProgram(constraints, lower, upper)

    def _part(self, columns: IntArray) -> tuple[sparse.csr_array, IntArray]:
        """Return the matrix of some variables, and its nonempty rows."""
        part = sparse.csc_array(self.by_column[:, columns])
        rows, at = np.unique(part.indices, return_inverse=True)
        shape = (len(rows), len(columns))
        entries = (part.data, at.ravel(), part.indptr)
        return sparse.csr_array(sparse.csc_array(entries, shape=shape)), rows.astype(np.int64)


def _open_ends(A: sparse.csr_array, is_open: BoolArray) -> tuple[IntArray, IntArray]:
    """Count for each row its open variables with a negative, and with a positive coefficient."""
    here = sparse.csr_array(A[:, np.flatnonzero(is_open)])
    row = np.repeat(np.arange(A.shape[0]), np.diff(here.indptr))
    falls = np.bincount(row[here.data < 0], minlength=A.shape[0])
    return falls, np.bincount(row[here.data > 0], minlength=A.shape[0])


@dataclass(frozen=True)
class NearVertex:
    """The vertex found for one goal.

    Attributes:
        change: Change of each of the block's variables, integral or not; empty without an answer.
        weights: Weight of each of the block's rows where the functional has 1; empty if it has 0.
        deterministic_time: Seconds.
    """

    change: FloatArray
    weights: FloatArray
    deterministic_time: float


class NearVertices:
    """Vertices of one block around one known solution: Eq. (near) of docs/method.md."""

    def __init__(
        self, block: Block, functionals: sparse.csr_array, short: tuple[IntArray, IntArray]
    ) -> None:
        """Set up the linear program of the block.

        Args:
            functionals: Sparse (functionals × columns): the functionals to be moved.
            short: Gap of the known solution to the proven bounds, below and above.
        """
        self._block = block
        below, above = short
        slack_low = block.inner[0] - block.outer[0]
        slack_high = block.outer[1] - block.inner[1]
        low, high = np.flatnonzero(slack_low > 0), np.flatnonzero(slack_high > 0)
        height, width = block.A.shape
        asked = functionals.shape[0]
        self._width, self._height = width, height
        people = sparse.vstack([block.A, functionals])
        elastic = [placed(low, height + asked), -placed(high, height + asked)]
        goal = placed(np.arange(height, height + asked), height + asked)
        A = sparse.csr_array(sparse.hstack([people, -people, *elastic, -goal, goal]))
        free = np.full(asked, FREE)
        constraints = LinearConstraints(
            A, np.concatenate([block.inner[0], -free]), np.concatenate([block.inner[1], free])
        )
        stretch = (slack_low[low], slack_high[high])
        upper = np.concatenate([block.up, block.down, *stretch, below, above])
        program = IntegerProgram(constraints, np.zeros(len(upper), dtype=np.int64), upper)
        self._relaxation = LinearRelaxation(program)
        self._goal: int | None = None
        cost = np.repeat([_MOVE, _ELSEWHERE, _SHORT], [2 * width, len(low) + len(high), 2 * asked])
        self._cost = cost.astype(np.float64)

    def reach(
        self,
        functional: int,
        sign: int,
        goal: int,
        limit: float,
        noise: np.random.Generator | None = None,
    ) -> NearVertex:
        """Find the vertex nearest to a change of a functional by ``goal``.

        Args:
            sign: 1 to make it smaller, −1 to make it larger.
            goal: The change of the functional, negative to make it smaller.
            limit: Deterministic seconds.
            noise: Generator of different costs, for another vertex.
        """
        row = self._height + functional
        if self._goal is not None:
            self._relaxation.bound_row(self._goal, -FREE, FREE)
        self._goal = row
        ends = (-FREE, goal) if sign > 0 else (goal, FREE)
        self._relaxation.bound_row(row, *ends)
        cost = self._cost
        if noise is not None:
            cost = cost.copy()
            cost[: 2 * self._width] += _NOISE * noise.random(2 * self._width)
        vertex = self._relaxation.solve(cost, limit)
        if not len(vertex.values):
            return NearVertex(np.empty(0), np.empty(0), vertex.deterministic_time)
        width = self._width
        change = vertex.values[:width] - vertex.values[width : 2 * width]
        own = abs(float(vertex.duals[row]))
        weights = vertex.duals[: self._height] / own if own > _MOVE else np.empty(0)
        return NearVertex(change, weights, vertex.deterministic_time)


def best_combination(
    block: Block, functional: IntArray, weights: FloatArray, wanted: int
) -> tuple[int, Combination] | None:
    """Find the least provable change of a functional, by the simplest sufficient weights.

    Args:
        functional: Coefficient of each of the block's variables.
        weights: Weights of the block's rows, proposed by a linear program.
        wanted: Bound that is sufficient.

    Returns:
        The bound and the weights of the whole program's rows; None where they are not finite.
    """
    best: tuple[int, Combination] | None = None
    added, (least, most) = block.weighted, block.outer
    for scale in _SCALES if len(weights) else ():
        w = whole_weights(weights, scale)
        # A bound that is missing cannot be added up.
        w[((w > 0) & (least <= -FREE)) | ((w < 0) & (most >= FREE))] = 0
        rest = added.rest(functional, w, scale)
        if not added.has_room(functional, w, scale) or (block.up[rest < 0] >= FREE).any():
            continue
        bound = -(-int(added.least(w, rest)[0]) // scale)
        if best is None or bound > best[0]:
            used = np.flatnonzero(w)
            best = bound, Combination(scale, block.rows[used], w[used])
        if best[0] >= wanted:
            break
    return best
