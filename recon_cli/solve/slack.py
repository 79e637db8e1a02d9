"""How little must change for contradicting counts to agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.errors import SolverError
from recon_cli.model.components import Component
from recon_cli.model.grain import IntArray
from recon_cli.model.rows import Rows
from recon_cli.solve.program import Program, Status

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
    rows, columns = A.shape
    most = int(rhs.max(initial=0))
    total = int(A.sum(axis=1).max(initial=1)) * most
    program = Program(_unbound(columns, most))
    changes = program.add_variables([0] * (2 * rows), [total] * (2 * rows))
    for row in range(rows):
        entries = slice(int(A.indptr[row]), int(A.indptr[row + 1]))
        up, down = changes[2 * row], changes[2 * row + 1]
        program.add_row(
            [*A.indices[entries].tolist(), up, down],
            [*A.data[entries].tolist(), -1, 1],
            int(rhs[row]),
            int(rhs[row]),
        )
    program.maximize(changes, [-1] * len(changes))
    answer = program.solve(seed, _LIMIT)
    if answer.status not in {Status.OPTIMAL, Status.FEASIBLE}:
        raise SolverError(f"least slack: CP-SAT ended with {answer.status.value}")
    change = A @ answer.values - rhs
    return Slack(change, answer.status is Status.OPTIMAL)


def _unbound(columns: int, most: int) -> Component:
    """Cells without rows; the rows come with slack."""
    none = np.empty(0, dtype=np.int64)
    return Component(
        cells=np.arange(columns),
        rows=Rows(sparse.csr_array((0, columns), dtype=np.int64), none, none),
        lower=np.zeros(columns, dtype=np.int64),
        upper=np.full(columns, most, dtype=np.int64),
        origin=none,
    )
