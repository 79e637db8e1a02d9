"""A solution of one integer program, repeatable, with every outcome told apart.

A vertex of the linear relaxation, rounded and mended, is nearly always one. CP-SAT is asked where
it is not, or where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from recon_cli.errors import SolverError
from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Search, Status, find_feasible
from recon_cli.solve.feasibility_pump import pump
from recon_cli.solve.linear_relaxation import solve_relaxation


class Feasibility(StrEnum):
    """What is known of a program."""

    SOLVED = "solved"
    INFEASIBLE = "infeasible"


@dataclass(frozen=True)
class ProgramSolution:
    """The outcome of one program.

    Attributes:
        outcome: Solved, or infeasible by two engines.
        values: A value of each variable; empty when infeasible.
        work: Deterministic seconds: the engines' repeatable measure of their own effort.
    """

    outcome: Feasibility
    values: IntArray
    work: float


@dataclass(frozen=True)
class Attempt:
    """One attempt of CP-SAT: a limit in deterministic seconds, and how to look."""

    limit: float
    search: Search


#: Deterministic seconds for the relaxation; 60,000 variables take about 2.
ROUNDING = 30.0

#: Every rung is deterministic: one thread, fixed seed, effort limits in deterministic time.
ESCALATION = (
    Attempt(1.0, Search.PROPAGATION),
    Attempt(30.0, Search.RELAXATION),
    Attempt(120.0, Search.INTERLEAVED),
    Attempt(900.0, Search.INTERLEAVED),
)


def solve_program(program: IntegerProgram, seed: int) -> ProgramSolution:
    """Find any solution of ``program``.

    Raises:
        SolverError: No rung of the ladder decided, the solver rejected the model or returned
            values that do not satisfy it, or a second engine disagrees that it is infeasible.
    """
    rounded, work = _rounded(program, seed)
    if len(rounded):
        return ProgramSolution(Feasibility.SOLVED, rounded, work)
    for rung in ESCALATION:
        answer = find_feasible(program, Effort(seed, rung.limit, rung.search))
        work += answer.work
        if answer.status is Status.INFEASIBLE:
            confirm_infeasible(program)
            return ProgramSolution(Feasibility.INFEASIBLE, answer.values, work)
        if answer.status is not Status.UNKNOWN:
            return ProgramSolution(Feasibility.SOLVED, answer.values, work)
    rows, variables = program.shape
    raise SolverError(
        f"no solution and no proof within {work:.0f} deterministic seconds: an integer "
        f"program of {variables} variables and {rows} rows"
    )


def _rounded(program: IntegerProgram, seed: int) -> tuple[IntArray, float]:
    """A solution near a vertex of the relaxation, and the work; or nothing.

    Random costs prefer nobody's records to others. Where the tables leave open how many people
    there are, they prefer few.
    """
    cost = np.random.default_rng(seed).random(program.shape[1])
    vertex = solve_relaxation(program, cost, ROUNDING)
    if not len(vertex.values):
        return np.empty(0, dtype=np.int64), vertex.work
    values = np.rint(vertex.values).astype(np.int64)
    if program.is_feasible(values):
        return values, vertex.work
    mended = pump(program, values, ROUNDING - vertex.work)
    solution = mended.values if mended.is_solution else np.empty(0, dtype=np.int64)
    return solution, vertex.work + mended.work
