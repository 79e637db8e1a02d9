"""Solutions among the variables that a vertex of the relaxation makes likely.

Where a vertex is not whole, a solution near it is mostly one of its own variables and of those
whose reduced cost is least, a few for each row: a program that the engine solves at once, though
the whole one may take it minutes (restricted as in price-and-branch, Desaulniers et al. 2005).
What is not found there may still exist.

See *reduced cost* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.model.program import IntegerProgram, fix_others
from recon_cli.solve.cp_sat import Effort, find_feasible, maximize
from recon_cli.solve.feasibility import Feasibility, ProgramSolution, solve_within
from recon_cli.solve.linear_relaxation import Vertex, solve_relaxation

#: Variables for each row, time after time, and the share of the effort that each time is given.
_TIMES = ((2, 0.2), (4, 0.5), (8, 0.7))


@dataclass(frozen=True)
class FirstSolution:
    """Where the search for any solution ended.

    Attributes:
        solution: What is known.
        likely: Variables that the relaxation makes likely, rising; under them it has a point.
    """

    solution: ProgramSolution
    likely: IntArray


def first_solution(program: IntegerProgram, effort: Effort) -> FirstSolution:
    """Find any solution of a program, as long as the effort lasts.

    Args:
        effort: Its limit is for everything, but for the word of a second engine.
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
    """The variables of a vertex, and those of the least reduced cost, rising.

    Args:
        cost: What the vertex is the least of.
        times: How many for each row.
    """
    score = np.abs(cost - program.constraints.A.T @ vertex.duals)
    score[program.upper == 0] = np.inf
    score[(vertex.values > 0) | (program.lower > 0)] = -1.0
    number = max(times * program.shape[0], int(np.count_nonzero(score < 0)))
    return np.sort(np.argsort(score, kind="stable")[:number])


def solution_among(
    program: IntegerProgram, variables: IntArray, cost: IntArray | None, effort: Effort
) -> tuple[IntArray, float]:
    """A solution in which all but some variables are at their least, and the seconds; or nothing.

    Args:
        variables: Those that may rise.
        cost: Of each variable, whole; of a solution that is as cheap as the effort lets it be.
            None for any.
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
