"""A solution of one integer program, repeatable, with every outcome told apart.

A vertex of the linear relaxation, rounded and repaired, is nearly always one. CP-SAT decides
where it is not, or where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Search, Status, find_feasible
from recon_cli.solve.feasibility_pump import pump
from recon_cli.solve.linear_relaxation import solve_relaxation


class Feasibility(StrEnum):
    """What is known of a program."""

    SOLVED = "solved"
    INFEASIBLE = "infeasible"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class ProgramSolution:
    """The outcome of one program.

    Attributes:
        outcome: Solved, infeasible by two engines, or undecided within the effort.
        values: A value of each variable; empty without a solution.
        deterministic_time: The engines' repeatable measure of their own effort, in seconds.
    """

    outcome: Feasibility
    values: IntArray
    deterministic_time: float


@dataclass(frozen=True)
class Attempt:
    """One attempt of CP-SAT: a limit in deterministic seconds, and how to look."""

    limit: float
    search: Search


#: Deterministic seconds for the relaxation; 60,000 variables take about 2.
ROUNDING = 30.0

#: Every attempt is deterministic: one thread, fixed seed, effort limits in deterministic time.
ESCALATION = (
    Attempt(1.0, Search.PROPAGATION),
    Attempt(30.0, Search.RELAXATION),
    Attempt(120.0, Search.INTERLEAVED),
    Attempt(900.0, Search.INTERLEAVED),
)


def solve_program(
    program: IntegerProgram, seed: int, limit: float = float("inf")
) -> ProgramSolution:
    """Find any solution of ``program``.

    Args:
        limit: Deterministic seconds for everything, but for the word of a second engine.
    """
    rounded, elapsed = round_vertex(program, seed, min(ROUNDING, limit))
    if len(rounded):
        return ProgramSolution(Feasibility.SOLVED, rounded, elapsed)
    for attempt in ESCALATION:
        seconds = min(attempt.limit, limit - elapsed)
        answer = find_feasible(program, Effort(seed, seconds, attempt.search))
        elapsed += answer.deterministic_time
        if answer.status is Status.INFEASIBLE:
            # Without SCIP's word in time the claim is not believed, and nothing is known.
            is_certified = confirm_infeasible(program)
            outcome = Feasibility.INFEASIBLE if is_certified else Feasibility.UNDECIDED
            return ProgramSolution(outcome, answer.values, elapsed)
        if answer.status is not Status.UNKNOWN:
            return ProgramSolution(Feasibility.SOLVED, answer.values, elapsed)
    return ProgramSolution(Feasibility.UNDECIDED, np.empty(0, dtype=np.int64), elapsed)


def round_vertex(
    program: IntegerProgram, seed: int, limit: float = ROUNDING
) -> tuple[IntArray, float]:
    """A solution near a vertex of the relaxation, and the seconds; or nothing.

    Random non-negative costs favour no variable over another, and small totals over large ones.
    """
    cost = np.random.default_rng(seed).random(program.shape[1])
    vertex = solve_relaxation(program, cost, limit)
    if not len(vertex.values):
        return np.empty(0, dtype=np.int64), vertex.deterministic_time
    values = np.rint(vertex.values).astype(np.int64)
    if program.is_feasible(values):
        return values, vertex.deterministic_time
    pumped = pump(program, values, limit - vertex.deterministic_time)
    solution = pumped.values if pumped.is_solution else np.empty(0, dtype=np.int64)
    return solution, vertex.deterministic_time + pumped.deterministic_time
