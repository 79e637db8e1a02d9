"""The least change of right-hand sides for which a system of counts has a solution.

See *correction* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.errors import SolverError
from recon_cli.frames import OPEN
from recon_cli.model.program import IntegerProgram, LinearConstraints, with_rows
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Status, maximize
from recon_cli.solve.dual_bounds import least_value
from recon_cli.solve.feasibility import round_vertex

#: Deterministic seconds of each search.
_LIMIT = 60.0
#: Random vertices that are rounded before CP-SAT is asked.
_ATTEMPTS = 4
#: Seconds for the second engine.
_SECONDS = 60.0


@dataclass(frozen=True)
class Correction:
    """Changes to right-hand sides for which a system has a solution.

    Attributes:
        change: For each row what to add to its count, or to both its ends.
        is_least: Whether it is proven, by two engines, that no smaller total change exists.
        has_alternative: Whether another change with the same total, of other rows too, is known.
    """

    change: IntArray
    is_least: bool
    has_alternative: bool

    @property
    def total(self) -> int:
        """Return ``Σ |change|``."""
        return int(np.abs(self.change).sum())


def min_l1_correction(counts: LinearConstraints, seed: int = 0) -> Correction:
    """Minimise ``Σ |change|`` such that ``least <= A x - change <= most`` for some x: Eq. (slack).

    Args:
        counts: (rows × variables) non-negative integer coefficients of non-negative integer
            variables, with the least and the greatest value of each count.

    Raises:
        SolverError: The solver found no change, though one of ``Σ least`` always exists, or two
            engines disagree on what is least.
    """
    rows, columns = counts.A.shape
    program = _correction_program(counts)
    cost = np.repeat([0, 1], [columns, 2 * rows])
    proven = _least_by_duals(program, cost, seed)
    if len(proven.values):
        return _least_correction(program, cost, proven.values, seed)
    # Every count can be changed to zero: with this as a start there is always an answer.
    known = np.concatenate([np.zeros(columns + rows, dtype=np.int64), counts.least])
    answer = maximize(program, -cost, Effort(seed, _LIMIT), known)
    if answer.status not in {Status.OPTIMAL, Status.FEASIBLE}:
        raise SolverError(f"least correction: CP-SAT ended with {answer.status.value}")
    total = -answer.objective
    is_least = total == proven.least or (
        answer.status is Status.OPTIMAL
        and confirm_infeasible(with_rows(program, _at_most(cost, total - 1)), _SECONDS)
    )
    if not is_least:
        return Correction(_change(program, answer.values), is_least=False, has_alternative=False)
    return _least_correction(program, cost, answer.values, seed)


def _least_correction(
    program: IntegerProgram, cost: IntArray, values: IntArray, seed: int
) -> Correction:
    """Return the correction of a solution that provably costs least."""
    total = int(cost @ values)
    other = total > 0 and _has_alternative(program, cost, values, total, seed)
    return Correction(_change(program, values), is_least=True, has_alternative=other)


def _change(program: IntegerProgram, values: IntArray) -> IntArray:
    more, less = np.split(values[-2 * program.shape[0] :], 2)
    return more - less


@dataclass(frozen=True)
class _Bound:
    """A lower bound of the cost from the relaxation.

    Attributes:
        least: No solution costs less: the duals, added up in integers, prove it. Eq. (dual).
        values: A solution that costs no more, so that no second engine is needed; empty if none
            is found near a vertex.
    """

    least: int
    values: IntArray


def _least_by_duals(program: IntegerProgram, cost: IntArray, seed: int) -> _Bound:
    found, nothing = least_value(program, cost, _LIMIT), np.empty(0, dtype=np.int64)
    if not len(found.vertex):
        return _Bound(found.bound, nothing)
    values = program.rounded(found.vertex)
    if len(values) and int(cost @ values) == found.bound:
        return _Bound(found.bound, values)
    cheapest = with_rows(program, _at_most(cost, found.bound))
    near = (round_vertex(cheapest, seed + attempt)[0] for attempt in range(_ATTEMPTS))
    return _Bound(found.bound, next((each for each in near if len(each)), nothing))


def _correction_program(counts: LinearConstraints) -> IntegerProgram:
    """Build the program with variables ``x``, additions to each count, and subtractions."""
    rows, columns = counts.A.shape
    is_open = counts.most >= OPEN
    # More people than the greatest count raise every count that they are in beyond it.
    highest = int(np.where(is_open, counts.least, counts.most).max(initial=0))
    total = int(counts.A.sum(axis=1).max(initial=1)) * highest
    one = sparse.eye_array(rows, dtype=np.int64, format="csr")
    return IntegerProgram(
        LinearConstraints(
            sparse.csr_array(sparse.hstack([counts.A, -one, one])),
            counts.least,
            np.where(is_open, np.maximum(total, counts.least), counts.most),
        ),
        lower=np.zeros(columns + 2 * rows, dtype=np.int64),
        upper=np.repeat([highest, total], [columns, 2 * rows]),
    )


def _at_most(cost: IntArray, total: int) -> LinearConstraints:
    return LinearConstraints(sparse.csr_array(cost[None, :]), np.array([0]), np.array([total]))


def _has_alternative(
    program: IntegerProgram, cost: IntArray, known: IntArray, total: int, seed: int
) -> bool:
    """Search for a change of the same total that changes the same counts less.

    Args:
        cost: 1 for each variable that adds to a count or takes from it.
        known: A least correction.
    """
    used = ((known > 0) & (cost > 0)).astype(np.int64)
    both = (total + 1) * cost + used
    found = _least_by_duals(program, both, seed)
    if found.least >= both @ known:
        return False
    if len(found.values):
        return bool(cost @ found.values == total > used @ found.values)
    answer = maximize(program, -both, Effort(seed, _LIMIT), known)
    return len(answer.values) > 0 and cost @ answer.values == total > used @ answer.values
