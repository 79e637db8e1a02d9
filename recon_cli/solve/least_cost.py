"""A solution of least cost, and what shows that none costs less.

The duals of the linear relaxation, in whole numbers, say what every variable adds to the cost that
none is below. Variables that add more than is still in question stay at the end where they add
nothing (reduced-cost fixing), which leaves engines a fraction of the program.

See *reduced cost* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.program import IntegerProgram, fix_others, with_rows
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Status, maximize
from recon_cli.solve.linear_relaxation import LinearRelaxation, Vertex

#: Weights are multiples of its inverse, so fine that rounding to it moves no bound.
_SCALE = 720_720
#: Sums below this are exact in 64 bits, whatever their order.
_SAFE = 2.0**60
#: How far above the relaxation the least cost is looked for: as a share of the cost of what is
#: not whole at its vertex, and so many times as far where it is not there.
_SHARE, _FURTHER = 8, 4
#: Seconds for the second engine.
_CONFIRMATION = 20.0
#: What a whole number may be missed by.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class LeastCost:
    """Where the search ended.

    Attributes:
        values: The cheapest solution that was found; empty without one.
        is_least: Whether no solution costs less: by whole-numbered weights of rows, or two engines.
        deterministic_time: Seconds of the engines.
    """

    values: IntArray
    is_least: bool
    deterministic_time: float


def least_cost(program: IntegerProgram, cost: IntArray, effort: Effort) -> LeastCost:
    """The solution with the least ``cost @ x``: Eq. (likely).

    Args:
        cost: Of each variable, not negative.
        effort: Its limit is for the relaxation, and again for the first engine.

    Raises:
        DisagreementError: The second engine finds a cheaper solution.
    """
    vertex = LinearRelaxation(program).solve(cost.astype(np.float64), effort.limit)
    nothing = np.empty(0, dtype=np.int64)
    if not len(vertex.values):
        return LeastCost(nothing, is_least=False, deterministic_time=vertex.deterministic_time)
    values = np.rint(vertex.values).astype(np.int64)
    known = values if program.is_feasible(values) else nothing
    proven = _Proven.of(program, cost, vertex)
    if proven is None:
        if not len(known):
            known, elapsed, _ = _searched(program, cost, effort)
            return LeastCost(known, False, vertex.deterministic_time + elapsed)
        return LeastCost(known, False, vertex.deterministic_time)
    if len(known) and int(cost @ known) <= proven.least:
        return LeastCost(known, True, vertex.deterministic_time)
    return _search(proven, cost, effort, vertex, known)


def _search(
    proven: _Proven, cost: IntArray, effort: Effort, vertex: Vertex, known: IntArray
) -> LeastCost:
    """Farther and farther above what is proven, until the cheapest solution is there.

    Args:
        proven: By the duals of the vertex.
        cost: Of each variable.
        effort: Its limit is for all searches.
        vertex: Of the relaxation.
        known: A solution, or nothing.
    """
    is_broken = np.abs(vertex.values - np.rint(vertex.values)) > _ROUNDING
    most = proven.least + 1 + int(cost[is_broken].sum()) // _SHARE
    highest, elapsed = proven.program.highest(cost), 0.0
    while True:
        left = replace(effort, limit=effort.limit - elapsed)
        values, seconds, is_best = _searched(proven.not_above(min(most, highest)), cost, left)
        elapsed += seconds
        # Beyond what was looked at others may be cheaper.
        if is_best and int(cost @ values) <= most:
            least = int(cost @ values)
            is_least = least <= proven.least or _none_below(
                proven.not_above(least - 1), cost, least - 1
            )
            return LeastCost(values, is_least, vertex.deterministic_time + elapsed)
        if len(values) and (not len(known) or int(cost @ values) < int(cost @ known)):
            known = values
        if most >= highest or elapsed >= effort.limit:
            return LeastCost(known, False, vertex.deterministic_time + elapsed)
        most = proven.least + _FURTHER * (most - proven.least)


def _searched(
    program: IntegerProgram, cost: IntArray, effort: Effort
) -> tuple[IntArray, float, bool]:
    """The cheapest solution that one engine finds, its seconds, and whether it says it is that."""
    free = np.flatnonzero(program.lower < program.upper)
    part = fix_others(program, free, program.lower).program
    answer = maximize(part, -cost[free], effort)
    values = np.empty(0, dtype=np.int64)
    if len(answer.values) or answer.status is Status.OPTIMAL:
        values = program.lower.copy()
        values[free] = answer.values
    return values, answer.deterministic_time, answer.status is Status.OPTIMAL


def _none_below(program: IntegerProgram, cost: IntArray, most: int) -> bool:
    """Whether the second engine, too, knows no solution that costs at most so much."""
    free = np.flatnonzero(program.lower < program.upper)
    fixed = np.where(program.lower < program.upper, 0, program.lower)
    left = most - int(cost @ fixed)
    if left < 0:
        return True
    part = fix_others(program, free, program.lower).program
    row = sparse.csr_array(cost[free][None])
    below = LinearConstraints(row, np.zeros(1, dtype=np.int64), np.array([left]))
    return confirm_infeasible(with_rows(part, below), _CONFIRMATION)


@dataclass(frozen=True)
class _Proven:
    """What weights of rows prove of the cost: Eq. (dual).

    Attributes:
        total: No solution costs less, in 1/`_SCALE`.
        rest: What one more of each variable adds to that, likewise; negative: one less.
    """

    program: IntegerProgram
    total: int
    rest: IntArray

    @classmethod
    def of(cls, program: IntegerProgram, cost: IntArray, vertex: Vertex) -> _Proven | None:
        """By the duals of a vertex; None where a sum might not fit into 64 bits."""
        rows = program.constraints
        proposed = np.rint(_SCALE * vertex.duals)
        ends = np.maximum(np.abs(program.lower), np.abs(program.upper)).astype(np.float64)
        sides = np.maximum(np.abs(rows.least), np.abs(rows.most)).astype(np.float64)
        size = np.abs(proposed) @ (sides + abs(rows.A).astype(np.float64) @ ends)
        if not size + _SCALE * (cost.astype(np.float64) @ ends) < _SAFE:
            return None
        weights = proposed.astype(np.int64)
        rest: IntArray = _SCALE * cost - rows.A.T @ weights
        total = np.where(weights > 0, weights * rows.least, weights * rows.most).sum()
        total += np.where(rest > 0, rest * program.lower, rest * program.upper).sum()
        return cls(program, int(total), rest)

    @property
    def least(self) -> int:
        """No solution costs less."""
        return -(-self.total // _SCALE)

    def not_above(self, cost: int) -> IntegerProgram:
        """The program without values that no solution of at most ``cost`` has.

        Args:
            cost: No less than `least`.
        """
        left = _SCALE * cost - self.total
        adds = self.rest != 0
        steps = np.where(adds, left // np.maximum(np.abs(self.rest), 1), 0)
        lower, upper = self.program.lower, self.program.upper
        # What is farther from the end where a variable adds nothing adds more than is left.
        return replace(
            self.program,
            lower=np.where(self.rest < 0, np.maximum(lower, upper - steps), lower),
            upper=np.where(self.rest > 0, np.minimum(upper, lower + steps), upper),
        )
