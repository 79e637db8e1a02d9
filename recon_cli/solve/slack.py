"""How little must change for contradicting counts to agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model
from scipy import sparse

from recon_cli.errors import SolverError
from recon_cli.model.grain import IntArray

_LIMIT = 60.0


@dataclass(frozen=True)
class Slack:
    """Changes to right-hand sides under which a system has a solution.

    Attributes:
        change: For each row what to add to its count.
        is_least: Whether no smaller total change exists; else the search ran out of budget.
    """

    change: IntArray
    is_least: bool


def least_slack(A: sparse.csr_array, rhs: IntArray, seed: int = 0) -> Slack:
    """Minimise ``Σ |change|`` such that ``A x = rhs + change`` has a non-negative integer ``x``.

    Args:
        A: Non-negative integer coefficients.
        rhs: Published counts.
        seed: For repeatable search.

    Raises:
        SolverError: The solver found nothing at all; a total change of ``Σ rhs`` always exists.
    """
    model = cp_model.CpModel()
    proto = model.proto
    most = int(rhs.max(initial=0))
    rows, columns = A.shape
    for _ in range(columns):
        proto.variables.add().domain.extend([0, most])
    total = int(A.sum(axis=1).max(initial=1)) * most
    for _ in range(2 * rows):
        proto.variables.add().domain.extend([0, total])
    for row in range(rows):
        entries = slice(int(A.indptr[row]), int(A.indptr[row + 1]))
        up, down = columns + 2 * row, columns + 2 * row + 1
        linear = proto.constraints.add().linear
        linear.vars.extend([*A.indices[entries].tolist(), up, down])
        linear.coeffs.extend([*A.data[entries].tolist(), -1, 1])
        linear.domain.extend([int(rhs[row]), int(rhs[row])])
    proto.objective.vars.extend(range(columns, columns + 2 * rows))
    proto.objective.coeffs.extend([1] * (2 * rows))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = _LIMIT
    status = solver.solve(model)
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        raise SolverError(f"least slack: CP-SAT ended with {solver.status_name(status)}")
    values = np.array(solver.response_proto.solution, dtype=np.int64)[columns:]
    return Slack(values[::2] - values[1::2], status == cp_model.OPTIMAL)
