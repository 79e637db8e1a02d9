"""The least change of right-hand sides under which a system of counts has a solution.

See *correction* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.errors import SolverError
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram, with_rows
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Status, maximize
from recon_cli.solve.dual_bounds import least_value

#: Deterministic seconds of each search.
_LIMIT = 60.0
#: Wall-clock seconds for the second engine.
_SECONDS = 60.0


@dataclass(frozen=True)
class Correction:
    """Changes to right-hand sides under which a system has a solution.

    Attributes:
        change: For each row what to add to its count.
        is_least: Whether it is proven, by two engines, that no smaller total change exists.
        has_alternative: Whether another change with the same total, of other rows too, is known.
    """

    change: IntArray
    is_least: bool
    has_alternative: bool

    @property
    def total(self) -> int:
        """``Σ |change|``."""
        return int(np.abs(self.change).sum())


def min_l1_correction(A: sparse.csr_array, rhs: IntArray, seed: int = 0) -> Correction:
    """Minimise ``Σ |change|`` such that ``A x = rhs + change`` has a solution: Eq. (slack).

    Args:
        A: (rows × variables) non-negative integer coefficients, of non-negative integers ``x``.
        rhs: Published counts.
        seed: For repeatable search.

    Raises:
        SolverError: The solver found nothing at all; a total change of ``Σ rhs`` always exists.
            Or two engines disagree on what is least.
    """
    rows, columns = A.shape
    program = _correction_program(A, rhs)
    cost = np.repeat([0, 1], [columns, 2 * rows])
    found = _least_by_duals(program, cost)
    if found is not None:
        change, total = A @ found[:columns] - rhs, int(cost @ found)
        other = total > 0 and _has_alternative(program, cost, found, total, seed)
        return Correction(change, is_least=True, has_alternative=other)
    # Every count may be taken back whole: with this to begin with there is always an answer.
    known = np.concatenate([np.zeros(columns + rows, dtype=np.int64), rhs])
    answer = maximize(program, -cost, Effort(seed, _LIMIT), known)
    if answer.status not in {Status.OPTIMAL, Status.FEASIBLE}:
        raise SolverError(f"least correction: CP-SAT ended with {answer.status.value}")
    change = A @ answer.values[:columns] - rhs
    total = -answer.objective
    if answer.status is not Status.OPTIMAL:
        return Correction(change, is_least=False, has_alternative=False)
    if total == 0:
        return Correction(change, is_least=True, has_alternative=False)
    if not confirm_infeasible(with_rows(program, _at_most(cost, total - 1)), _SECONDS):
        return Correction(change, is_least=False, has_alternative=False)
    other = _has_alternative(program, cost, answer.values, total, seed)
    return Correction(change, is_least=True, has_alternative=other)


def _least_by_duals(program: IntegerProgram, cost: IntArray) -> IntArray | None:
    """The solution of least cost, if the relaxation's vertex is whole and its duals prove it.

    The duals are added up in integers, so that no second engine is needed: Eq. (dual).
    """
    found = least_value(program, cost, _LIMIT)
    if not len(found.vertex):
        return None
    values = np.rint(found.vertex).astype(np.int64)
    is_least = program.is_feasible(values) and int(cost @ values) == found.bound
    return values if is_least else None


def _correction_program(A: sparse.csr_array, rhs: IntArray) -> IntegerProgram:
    """Variables: ``x``, then what is added to each count, then what is taken from each."""
    rows, columns = A.shape
    # More people than the greatest count raise every count that they are in beyond it.
    highest = int(rhs.max(initial=0))
    total = int(A.sum(axis=1).max(initial=1)) * highest
    one = sparse.eye_array(rows, dtype=np.int64, format="csr")
    return IntegerProgram(
        LinearConstraints(sparse.csr_array(sparse.hstack([A, -one, one])), rhs, rhs),
        lower=np.zeros(columns + 2 * rows, dtype=np.int64),
        upper=np.repeat([highest, total], [columns, 2 * rows]),
    )


def _at_most(cost: IntArray, total: int) -> LinearConstraints:
    return LinearConstraints(sparse.csr_array(cost[None, :]), np.array([0]), np.array([total]))


def _has_alternative(
    program: IntegerProgram, cost: IntArray, known: IntArray, total: int, seed: int
) -> bool:
    """Whether a change with the same total is found that changes the same counts less.

    Args:
        program: As from `_correction_program`.
        cost: 1 for each variable that adds to a count or takes from it.
        known: A least correction.
        total: What it costs.
        seed: For repeatable search.
    """
    used = ((known > 0) & (cost > 0)).astype(np.int64)
    both = (total + 1) * cost + used
    found = _least_by_duals(program, both)
    if found is not None:
        return bool(cost @ found == total > used @ found)
    answer = maximize(program, -both, Effort(seed, _LIMIT), known)
    return len(answer.values) > 0 and cost @ answer.values == total > used @ answer.values
