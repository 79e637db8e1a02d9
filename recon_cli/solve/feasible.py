"""A solution of one component by CP-SAT, repeatable, with every outcome told apart."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from recon_cli.errors import SolverError
from recon_cli.model.components import Component
from recon_cli.model.grain import IntArray
from recon_cli.solve.opinion import confirm_infeasible


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
    """One attempt: a limit in deterministic seconds, and whether to interleave strategies."""

    limit: float
    interleave: bool


#: Every rung is deterministic: one thread, fixed seed, effort limits in deterministic time.
LADDER = (Rung(30.0, interleave=False), Rung(120.0, interleave=True), Rung(900.0, interleave=True))


def solve_component(component: Component, seed: int) -> Solution:
    """Find any solution of ``component``.

    Raises:
        SolverError: No rung of the ladder decided, the solver rejected the model or returned
            values that do not satisfy it, or a second engine disagrees that it is infeasible.
    """
    model = _model(component)
    work = 0.0
    for rung in LADDER:
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = seed % 2**31
        solver.parameters.interleave_search = rung.interleave
        solver.parameters.max_deterministic_time = rung.limit
        status = solver.solve(model)
        response = solver.response_proto
        work += response.deterministic_time
        match status:
            case cp_model.OPTIMAL | cp_model.FEASIBLE:
                values = np.array(response.solution, dtype=np.int64)
                _check(component, values)
                return Solution(Outcome.SOLVED, values, work)
            case cp_model.INFEASIBLE:
                confirm_infeasible(component)
                return Solution(Outcome.INFEASIBLE, np.empty(0, dtype=np.int64), work)
            case cp_model.MODEL_INVALID:
                raise SolverError(f"CP-SAT rejects the model: {model.validate()}")
    raise SolverError(
        f"no solution and no proof within {work:.0f} deterministic seconds: a component of "
        f"{len(component.cells)} cells and {len(component.rhs)} rows"
    )


def digest_seed(seed: int, *names: str) -> int:
    """A seed for a named part, the same however the work is split.

    >>> digest_seed(1, "01073005103") == digest_seed(1, "01073005103")
    True
    """
    text = "\x1f".join([str(seed), *names])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def _model(component: Component) -> Any:
    """The component as a CP-SAT model, filled from arrays."""
    model = cp_model.CpModel()
    proto = model.proto
    for low, high in zip(component.lower.tolist(), component.upper.tolist(), strict=True):
        proto.variables.add().domain.extend([low, high])
    indptr = component.A.indptr.tolist()
    cells = component.A.indices.tolist()
    coefficients = component.A.data.tolist()
    for row, side in enumerate(component.rhs.tolist()):
        linear = proto.constraints.add().linear
        entries = slice(indptr[row], indptr[row + 1])
        linear.vars.extend(cells[entries])
        linear.coeffs.extend(coefficients[entries])
        linear.domain.extend([side, side])
    return model


def _check(component: Component, values: IntArray) -> None:
    if (
        len(values) != len(component.cells)
        or (values < component.lower).any()
        or (values > component.upper).any()
        or (component.A @ values != component.rhs).any()
    ):
        raise SolverError("CP-SAT returned values that do not satisfy the model")
