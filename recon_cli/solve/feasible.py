"""A solution of one component by CP-SAT, repeatable, with every outcome told apart."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from recon_cli.errors import SolverError
from recon_cli.model.components import Component
from recon_cli.model.grain import IntArray
from recon_cli.solve.opinion import confirm_infeasible
from recon_cli.solve.program import Effort, Search, Status, find


class Outcome(StrEnum):
    """What is known of a component."""

    SOLVED = "solved"
    INFEASIBLE = "infeasible"


@dataclass(frozen=True)
class Solution:
    """The outcome of one component.

    Attributes:
        outcome: Solved, or infeasible by two engines.
        values: People in each of the component's cells; empty when infeasible.
        work: Deterministic seconds: the solver's repeatable measure of its own effort.
    """

    outcome: Outcome
    values: IntArray
    work: float


@dataclass(frozen=True)
class Rung:
    """One attempt: a limit in deterministic seconds, and how to look."""

    limit: float
    search: Search


#: Every rung is deterministic: one thread, fixed seed, effort limits in deterministic time.
LADDER = (
    Rung(1.0, Search.PROPAGATION),
    Rung(30.0, Search.RELAXATION),
    Rung(120.0, Search.INTERLEAVED),
    Rung(900.0, Search.INTERLEAVED),
)


def solve_component(component: Component, seed: int) -> Solution:
    """Find any solution of ``component``.

    Raises:
        SolverError: No rung of the ladder decided, the solver rejected the model or returned
            values that do not satisfy it, or a second engine disagrees that it is infeasible.
    """
    work = 0.0
    for rung in LADDER:
        answer = find(component, Effort(seed, rung.limit, rung.search))
        work += answer.work
        if answer.status is Status.INFEASIBLE:
            confirm_infeasible(component)
            return Solution(Outcome.INFEASIBLE, answer.values, work)
        if answer.status is not Status.UNKNOWN:
            return Solution(Outcome.SOLVED, answer.values, work)
    raise SolverError(
        f"no solution and no proof within {work:.0f} deterministic seconds: a component of "
        f"{len(component.cells)} cells and {len(component.rows.most)} rows"
    )
