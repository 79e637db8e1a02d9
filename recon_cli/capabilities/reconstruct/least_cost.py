"""A solution of least cost, with a proof that none costs less.

The duals of the linear relaxation, in integers, give a lower bound of the cost and the contribution
of every variable to it. Variables that would add more than the gap stay at their cheap bound
(reduced-cost fixing), which leaves engines a fraction of the program. Units priced by these duals
are mostly integral by themselves (all of forty rounded wards are), so bounding them in integers
proves no more: the cost comes from fitting them together.

See *reduced cost* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.model.program import IntegerProgram, LinearConstraints, fix_others, with_rows
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, SolveResult, Status, maximize
from recon_cli.solve.dual_bounds import WeightedRows, whole_weights
from recon_cli.solve.linear_relaxation import LinearRelaxation, Vertex

#: Weights are rounded to multiples of its inverse, too finely to move a bound.
_SCALE = 720_720
#: The least cost is sought up to a distance above the relaxation: first the distance at which
#: 1/`_SHARE` more variables are open than at the bound itself, then `_FURTHER` times as far.
_SHARE, _FURTHER = 16, 4
#: Seconds for the second engine.
_CONFIRMATION = 20.0


@dataclass(frozen=True)
class LeastCost:
    """The result of the search.

    Attributes:
        values: The cheapest solution that was found; empty without one.
        is_least: Whether weights of rows in integers, or two engines, prove that none costs less.
        deterministic_time: Seconds of the engines.
    """

    values: IntArray
    is_least: bool
    deterministic_time: float


def least_cost(program: IntegerProgram, cost: IntArray, effort: Effort) -> LeastCost:
    """Find the solution with the least ``cost @ x``: Eq. (likely).

    Args:
        cost: Nonnegative cost of each variable.
        effort: Effort whose limit holds for the relaxation, and again for the first engine.

    Raises:
        DisagreementError: The second engine finds a cheaper solution.
    """
    vertex = LinearRelaxation(program).solve(cost.astype(np.float64), effort.limit)
    elapsed, known = vertex.deterministic_time, program.rounded(vertex.values)
    if not len(vertex.values):
        return LeastCost(known, False, elapsed)
    proven = _Proven.of(program, cost, vertex)
    if proven is None and len(known):
        return LeastCost(known, False, elapsed)
    if proven is None:
        searched = _searched(program, cost, effort)
        return LeastCost(searched.values, False, elapsed + searched.deterministic_time)
    if len(known) and int(cost @ known) <= proven.least:
        return LeastCost(known, True, elapsed)
    found = _search(proven, cost, effort, known)
    return replace(found, deterministic_time=elapsed + found.deterministic_time)


def _search(proven: _Proven, cost: IntArray, effort: Effort, known: IntArray) -> LeastCost:
    """Search just above the proven bound first; then for anything cheaper than that result.

    Args:
        effort: Effort whose limit holds for all searches; each gets half of the remaining seconds.
        known: A solution, or nothing.
    """
    highest, elapsed = proven.program.highest(cost), 0.0
    most = proven.nearest
    while True:
        # Leave out what costs as much as the known solution; higher costs can wait.
        least = int(cost @ known) if len(known) else highest + 1
        most = min(most, least - 1)
        part = proven.not_above(most)
        part = _at_most(part, cost, least - 1) if len(known) else part
        left = replace(effort, limit=(effort.limit - elapsed) / 2)
        found = _searched(part, cost, left)
        elapsed += found.deterministic_time
        known = found.values if len(found.values) else known
        if found.status is Status.OPTIMAL and int(cost @ known) > most:
            most = int(cost @ known) - 1
            continue
        is_settled = found.status in (Status.OPTIMAL, Status.INFEASIBLE)
        if len(known) and (not is_settled or int(cost @ known) <= most + 1):
            return LeastCost(known, is_settled and _is_least(proven, cost, known), elapsed)
        if most >= highest:
            return LeastCost(known, False, elapsed)
        most = proven.least + max(_FURTHER * (most - proven.least), 1)


def _is_least(proven: _Proven, cost: IntArray, known: IntArray) -> bool:
    """Test whether the second engine, too, finds nothing cheaper."""
    below = int(cost @ known) - 1
    return below < proven.least or _none_below(proven.not_above(below), cost, below)


def _searched(program: IntegerProgram, cost: IntArray, effort: Effort) -> SolveResult:
    """Find the cheapest solution by one engine."""
    free = np.flatnonzero(program.lower < program.upper)
    part = fix_others(program, free, program.lower).program
    answer = maximize(part, -cost[free], effort)
    if not len(answer.values) and answer.status is not Status.OPTIMAL:
        return answer
    values = program.lower.copy()
    values[free] = answer.values
    return replace(answer, values=values)


def _at_most(program: IntegerProgram, cost: IntArray, most: int) -> IntegerProgram:
    row = sparse.csr_array(cost[None])
    return with_rows(program, LinearConstraints(row, np.zeros(1, np.int64), np.array([most])))


def _none_below(program: IntegerProgram, cost: IntArray, most: int) -> bool:
    """Test whether the second engine, too, finds no solution of at most a given cost."""
    free = np.flatnonzero(program.lower < program.upper)
    if most < int(cost @ np.where(program.lower < program.upper, 0, program.lower)):
        return True
    part = fix_others(_at_most(program, cost, most), free, program.lower).program
    return confirm_infeasible(part, _CONFIRMATION)


@dataclass(frozen=True)
class _Proven:
    """The lower bound of the cost from weights of rows: Eq. (dual).

    Attributes:
        total: No solution costs less, in 1/`_SCALE`.
        rest: Increase of the bound by one more of each variable, in the same scale; where
            negative, by one less.
    """

    program: IntegerProgram
    total: int
    rest: IntArray

    @classmethod
    def of(cls, program: IntegerProgram, cost: IntArray, vertex: Vertex) -> _Proven | None:
        """Compute the bound from a vertex's duals; None if a sum might not fit into 64 bits."""
        added, weights = WeightedRows(program), whole_weights(vertex.duals, _SCALE)
        if not added.has_room(cost, weights, _SCALE):
            return None
        rest = added.rest(cost, weights, _SCALE)
        return cls(program, int(added.least(weights, rest)[0]), rest)

    @property
    def least(self) -> int:
        return -(-self.total // _SCALE)

    @property
    def nearest(self) -> int:
        """Return a cost slightly above `least`, up to which few further variables are open."""
        rests = np.sort(np.abs(self.rest))
        as_they_are = int(np.count_nonzero(rests == 0))
        at = min(as_they_are + as_they_are // _SHARE, len(rests) - 1)
        return max(self.least, (self.total + int(rests[at])) // _SCALE)

    def not_above(self, cost: int) -> IntegerProgram:
        """Remove the values that no solution of at most ``cost`` has.

        Args:
            cost: No less than `least`.
        """
        left = _SCALE * cost - self.total
        adds = self.rest != 0
        steps = np.where(adds, left // np.maximum(np.abs(self.rest), 1), 0)
        lower, upper = self.program.lower, self.program.upper
        # A value farther from the end where a variable adds nothing adds more than is left.
        return replace(
            self.program,
            lower=np.where(self.rest < 0, np.maximum(lower, upper - steps), lower),
            upper=np.where(self.rest > 0, np.minimum(upper, lower + steps), upper),
        )
