"""A solution of one component, repeatable, with every outcome told apart.

A vertex of the linear relaxation, rounded and mended, is nearly always one. CP-SAT is asked where
it is not, or where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from recon_cli.errors import SolverError
from recon_cli.model.components import Component
from recon_cli.model.grain import IntArray
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Search, Status, find_feasible
from recon_cli.solve.feasibility_pump import pump
from recon_cli.solve.linear_relaxation import solve_relaxation


class Feasibility(StrEnum):
    """What is known of a component."""

    SOLVED = "solved"
    INFEASIBLE = "infeasible"


@dataclass(frozen=True)
class ComponentSolution:
    """The outcome of one component.

    Attributes:
        outcome: Solved, or infeasible by two engines.
        values: People in each of the component's cells; empty when infeasible.
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


#: Deterministic seconds for the relaxation; 60,000 cells take about 2.
ROUNDING = 30.0

#: Every rung is deterministic: one thread, fixed seed, effort limits in deterministic time.
ESCALATION = (
    Attempt(1.0, Search.PROPAGATION),
    Attempt(30.0, Search.RELAXATION),
    Attempt(120.0, Search.INTERLEAVED),
    Attempt(900.0, Search.INTERLEAVED),
)


def solve_component(component: Component, seed: int) -> ComponentSolution:
    """Find any solution of ``component``.

    Raises:
        SolverError: No rung of the ladder decided, the solver rejected the model or returned
            values that do not satisfy it, or a second engine disagrees that it is infeasible.
    """
    rounded, work = _rounded(component, seed)
    if len(rounded):
        return ComponentSolution(Feasibility.SOLVED, rounded, work)
    for rung in ESCALATION:
        answer = find_feasible(component, Effort(seed, rung.limit, rung.search))
        work += answer.work
        if answer.status is Status.INFEASIBLE:
            confirm_infeasible(component)
            return ComponentSolution(Feasibility.INFEASIBLE, answer.values, work)
        if answer.status is not Status.UNKNOWN:
            return ComponentSolution(Feasibility.SOLVED, answer.values, work)
    raise SolverError(
        f"no solution and no proof within {work:.0f} deterministic seconds: a component of "
        f"{len(component.cells)} cells and {len(component.rows.most)} rows"
    )


def _rounded(component: Component, seed: int) -> tuple[IntArray, float]:
    """A solution near a vertex of the relaxation, and the work; or nothing.

    Random costs prefer nobody's records to others. Where the tables leave open how many people
    there are, they prefer few.
    """
    cost = np.random.default_rng(seed).random(len(component.cells))
    vertex = solve_relaxation(component, cost, ROUNDING)
    if not len(vertex.values):
        return np.empty(0, dtype=np.int64), vertex.work
    values = np.rint(vertex.values).astype(np.int64)
    if component.is_met_by(values):
        return values, vertex.work
    mended = pump(component, values, ROUNDING - vertex.work)
    solution = mended.values if mended.is_solution else np.empty(0, dtype=np.int64)
    return solution, vertex.work + mended.work
