"""The least total change: of values until they are a solution, of counts until there is one.

Both minimise an L1 deviation: of variables from given values (`min_l1_repair`), or of
right-hand sides from published counts (`min_l1_correction`).

See *repair* and *correction* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.errors import SolverError
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram, deviation_program
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Status, maximize

#: Deterministic seconds for the least correction of counts.
_LIMIT = 60.0


@dataclass(frozen=True)
class Repair:
    """A solution near given values.

    Attributes:
        values: A solution; empty without one.
        is_infeasible: Whether there is none, by two engines. Without values and proof it is
            undecided.
    """

    values: IntArray
    is_infeasible: bool


@dataclass(frozen=True)
class Correction:
    """Changes to right-hand sides under which a system has a solution.

    Attributes:
        change: For each row what to add to its count.
        is_least: Whether no smaller total change exists; else the search ran out of budget.
    """

    change: IntArray
    is_least: bool


def min_l1_repair(program: IntegerProgram, values: IntArray, effort: Effort) -> Repair:
    """The solution with the least ``Σ |x - values|``, or a near one if the effort ends before.

    Args:
        program: The program.
        values: A value for each variable; they need not be a solution.
        effort: How hard to try.

    Raises:
        SolverError: Two engines disagree that there is no solution, or the solver rejected the
            model or returned values that do not satisfy it.
    """
    deviations = deviation_program(program, values)
    answer = maximize(deviations.program, np.full(len(deviations.sign), -1), effort)
    if answer.status is Status.INFEASIBLE:
        return Repair(answer.values, is_infeasible=confirm_infeasible(program))
    if answer.status is Status.UNKNOWN:
        return Repair(answer.values, is_infeasible=False)
    return Repair(deviations.values_at(answer.values), is_infeasible=False)


def min_l1_correction(A: sparse.csr_array, rhs: IntArray, seed: int = 0) -> Correction:
    """Minimise ``Σ |change|`` such that ``A x = rhs + change`` has a solution: Eq. (slack).

    Args:
        A: Non-negative integer coefficients, of non-negative integers ``x``.
        rhs: Published counts.
        seed: For repeatable search.

    Raises:
        SolverError: The solver found nothing at all; a total change of ``Σ rhs`` always exists.
    """
    rows, columns = A.shape
    highest = int(rhs.max(initial=0))
    total = int(A.sum(axis=1).max(initial=1)) * highest
    one = sparse.eye_array(rows, dtype=np.int64, format="csr")
    program = IntegerProgram(
        LinearConstraints(sparse.csr_array(sparse.hstack([A, -one, one])), rhs, rhs),
        lower=np.zeros(columns + 2 * rows, dtype=np.int64),
        upper=np.repeat([highest, total], [columns, 2 * rows]),
    )
    objective = np.repeat([0, -1], [columns, 2 * rows])
    # Every count may be taken back whole: with this to begin with there is always an answer.
    known = np.concatenate([np.zeros(columns + rows, dtype=np.int64), rhs])
    answer = maximize(program, objective, Effort(seed, _LIMIT), known)
    if answer.status not in {Status.OPTIMAL, Status.FEASIBLE}:
        raise SolverError(f"least correction: CP-SAT ended with {answer.status.value}")
    change = A @ answer.values[:columns] - rhs
    return Correction(change, answer.status is Status.OPTIMAL)
