"""Sifting: the linear relaxation of a wide program, most of whose variables are never built.

A vertex has no more variables above zero than the program has rows. So the engine holds a few times
as many; the duals price all other variables at once, and those that would lower the cost enter, as
long as there are any (Bixby et al. 1992). Variables that entered for one cost stay for the next.

If a vertex is not integral, a solution near it mostly consists of its own variables and of those
with the least reduced cost, a few for each row: a program that the engine solves at once, though
the whole one may take minutes (restricted as in price-and-branch, Desaulniers et al. 2005).
Solutions not found there may still exist.

See *sifting* and *reduced cost* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.model.program import IntegerProgram, LinearConstraints, fix_others
from recon_cli.solve.cp_sat import Effort, find_feasible, maximize
from recon_cli.solve.feasibility import Feasibility, ProgramSolution, solve_within
from recon_cli.solve.linear_relaxation import LinearRelaxation, Vertex, solve_relaxation

#: Reduced costs smaller than this are taken as zero.
_TOLERANCE = 1e-7
#: Variables for each row, `_ENTER` more in all, up to which all are held.
_FEW = 4
#: Variables that enter at a time: as many as half the rows, and this many more.
_ENTER = 100
#: Deterministic seconds to price one coefficient.
_PRICED = 2e-9
#: Attempts: variables for each row, and share of the effort.
_TIMES = ((2, 0.2), (4, 0.5), (8, 0.7))


class SiftedRelaxation:
    """The relaxation of one program, for several costs in turn.

    Like `recon_cli.solve.linear_relaxation.LinearRelaxation`, over the variables that matter.
    """

    def __init__(self, program: IntegerProgram, variables: IntArray) -> None:
        """Set up the relaxation.

        Args:
            program: The program; variables that are not held stay at their lower bound, 0.
            variables: Variables to begin with, over which the relaxation has a point; variables
                with a lower bound above 0 are held, too.
        """
        self._by_variable = sparse.csr_array(program.constraints.A.T.astype(np.float64))
        self._upper = program.upper
        self._is_held = program.lower > 0
        self._is_held[variables] = True
        rows, width = program.shape
        self._is_held |= width <= _FEW * rows + _ENTER
        self._held: IntArray = np.flatnonzero(self._is_held)
        self._relaxation = LinearRelaxation(_over(program, self._held))

    def solve(self, cost: FloatArray, limit: float) -> Vertex:
        """Find a vertex with the least ``cost @ x``.

        Args:
            limit: Deterministic seconds.
        """
        elapsed = 0.0
        while True:
            vertex = self._relaxation.solve(cost[self._held], limit - elapsed)
            elapsed += vertex.deterministic_time + _PRICED * self._by_variable.nnz
            if not len(vertex.values):
                return Vertex(np.empty(0), np.empty(0), round(elapsed, 9))
            reduced = cost - self._by_variable @ vertex.duals
            paying = np.flatnonzero((reduced < -_TOLERANCE) & ~self._is_held & (self._upper > 0))
            if not len(paying):
                values = np.zeros(len(cost))
                values[self._held] = vertex.values
                return Vertex(values, vertex.duals, round(elapsed, 9))
            most = self._by_variable.shape[1] // 2 + _ENTER
            if len(paying) > most:
                paying = paying[np.argpartition(reduced[paying], most)[:most]]
            self._enter(np.sort(paying))

    def _enter(self, variables: IntArray) -> None:
        self._relaxation.append(self._by_variable[variables], self._upper[variables])
        self._is_held[variables] = True
        self._held = np.concatenate([self._held, variables])


def _over(program: IntegerProgram, variables: IntArray) -> IntegerProgram:
    """Restrict a program's rows to some variables."""
    rows = program.constraints
    kept = LinearConstraints(sparse.csr_array(rows.A[:, variables]), rows.least, rows.most)
    return IntegerProgram(kept, program.lower[variables], program.upper[variables])


@dataclass(frozen=True)
class FirstSolution:
    """The result of the search for any solution.

    Attributes:
        likely: Sorted variables that the relaxation makes likely; over them it has a point.
    """

    solution: ProgramSolution
    likely: IntArray


def first_solution(program: IntegerProgram, effort: Effort) -> FirstSolution:
    """Find any solution of a program within the budget.

    Args:
        effort: Its limit covers everything except a second engine's confirmation.
    """
    cost = np.random.default_rng(effort.seed).random(program.shape[1])
    vertex = solve_relaxation(program, cost, effort.limit)
    elapsed, likely = vertex.deterministic_time, np.arange(program.shape[1])
    if len(vertex.values):
        likely = likely_variables(program, cost, vertex, _TIMES[0][0])
        rounded = np.rint(vertex.values).astype(np.int64)
        if program.is_feasible(rounded):
            return FirstSolution(_solved(rounded, elapsed), likely)
        for times, share in _TIMES:
            tried = likely_variables(program, cost, vertex, times)
            part = replace(effort, limit=share * (effort.limit - elapsed))
            values, seconds = solution_among(program, tried, None, part)
            elapsed += seconds
            if len(values):
                return FirstSolution(_solved(values, elapsed), likely)
    found = solve_within(program, replace(effort, limit=(effort.limit - elapsed) / 2))
    elapsed = round(elapsed + found.deterministic_time, 9)
    return FirstSolution(replace(found, deterministic_time=elapsed), likely)


def _solved(values: IntArray, elapsed: float) -> ProgramSolution:
    return ProgramSolution(Feasibility.SOLVED, values, elapsed)


def likely_variables(
    program: IntegerProgram, cost: FloatArray, vertex: Vertex, times: int
) -> IntArray:
    """Return the variables of a vertex and those of least reduced cost, sorted.

    Args:
        cost: Cost that the vertex minimises.
        times: Number of variables for each row.
    """
    score = np.abs(cost - program.constraints.A.T @ vertex.duals)
    score[program.upper == 0] = np.inf
    score[(vertex.values > 0) | (program.lower > 0)] = -1.0
    number = max(times * program.shape[0], int(np.count_nonzero(score < 0)))
    return np.sort(np.argsort(score, kind="stable")[:number])


def solution_among(
    program: IntegerProgram, variables: IntArray, cost: IntArray | None, effort: Effort
) -> tuple[IntArray, float]:
    """Find a solution with all other variables at their lower bounds; return also the seconds.

    Args:
        variables: Variables that may be above their lower bounds.
        cost: Integral cost of each variable; the solution is as cheap as the budget allows.
    """
    part = fix_others(program, variables, program.lower).program
    if cost is None:
        answer = find_feasible(part, effort)
    else:
        answer = maximize(part, -cost[variables], effort)
    if not len(answer.values):
        return answer.values, answer.deterministic_time
    values = program.lower.copy()
    values[variables] = answer.values
    return values, answer.deterministic_time
