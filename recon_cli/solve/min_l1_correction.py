"""How little must change for contradicting counts to agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.errors import SolverError
from recon_cli.model.components import Component
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import IntArray
from recon_cli.solve.cp_sat import Effort, Status, maximize

_LIMIT = 60.0


@dataclass(frozen=True)
class Correction:
    """Changes to right-hand sides under which a system has a solution.

    Attributes:
        change: For each row what to add to its count.
        is_least: Whether no smaller total change exists; else the search ran out of budget.
    """

    change: IntArray
    is_least: bool


def min_l1_correction(A: sparse.csr_array, rhs: IntArray, seed: int = 0) -> Correction:
    """Minimise ``Σ |change|`` such that ``A x = rhs + change`` has a non-negative integer ``x``.

    Args:
        A: Non-negative integer coefficients.
        rhs: Published counts.
        seed: For repeatable search.

    Raises:
        SolverError: The solver found nothing at all; a total change of ``Σ rhs`` always exists.
    """
    rows, columns = A.shape
    highest = int(rhs.max(initial=0))
    total = int(A.sum(axis=1).max(initial=1)) * highest
    one = sparse.eye_array(rows, dtype=np.int64, format="csr")
    program = Component(
        cells=np.arange(columns + 2 * rows),
        rows=LinearConstraints(sparse.csr_array(sparse.hstack([A, -one, one])), rhs, rhs),
        lower=np.zeros(columns + 2 * rows, dtype=np.int64),
        upper=np.repeat([highest, total], [columns, 2 * rows]),
        origin=np.arange(rows),
    )
    objective = np.repeat([0, -1], [columns, 2 * rows])
    # Everything may be taken back: with this to start from there is always an answer.
    start = np.concatenate([np.zeros(columns + rows, dtype=np.int64), rhs])
    answer = maximize(program, objective, Effort(seed, _LIMIT), start)
    if answer.status not in {Status.OPTIMAL, Status.FEASIBLE}:
        raise SolverError(f"least slack: CP-SAT ended with {answer.status.value}")
    change = A @ answer.values[:columns] - rhs
    return Correction(change, answer.status is Status.OPTIMAL)
