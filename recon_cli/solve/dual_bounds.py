"""Bounds and equations from weighted sums of rows, computed in integers.

The linear relaxation only proposes the weights. Any weights give a valid bound, so rounding them
costs no rigour: Eq. (dual) of docs/method.md. Duals are rounded by `whole_weights`.

See *dual* and *certificate* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.model.ledger import Combination
from recon_cli.model.program import ConnectedParts, IntegerProgram
from recon_cli.solve.linear_relaxation import solve_relaxation

#: Weights are multiples of 1/SCALE; it is divisible by 1 to 10, the usual denominators.
SCALE = 2520
#: Sums below this are exact in 64 bits, whatever their order.
SAFE = 2.0**60
#: Stands for a missing bound of a row or a variable, from which nothing follows.
FREE = 2**40
#: Whole numbers below this are exact as doubles.
EXACT = 2.0**53
#: Smaller pivots, in a matrix of small integers, count as zero.
_RANK = 1e-9
#: Most entries of a dense matrix that is factored to find combinations of rows.
_DENSE = 4_000_000


def whole_weights(duals: FloatArray, scale: int = SCALE) -> IntArray:
    """Round duals to units of 1/``scale``; 0 for non-numbers and values too large for a double."""
    proposed = np.rint(scale * duals)
    return np.where(np.abs(proposed) < EXACT, proposed, 0).astype(np.int64)


class WeightedRows:
    """The rows of a program, to be summed with integer weights: Eq. (dual).

    Weights are in units of 1/``scale`` if given, else of 1/`SCALE`.
    """

    def __init__(self, program: IntegerProgram, parts: ConnectedParts | None = None) -> None:
        """Prepare the rows of a program.

        Args:
            parts: Parts that are summed separately: no row and no functional spans two.
        """
        self.program = program
        self.parts = ConnectedParts.whole(program) if parts is None else parts
        rows = program.constraints
        self._by_column = sparse.csr_array(rows.A.T)
        self._ends = _size(program.lower, program.upper)
        self._sides = _size(rows.least, rows.most) + abs(rows.A).astype(np.float64) @ self._ends

    def has_room(self, functional: IntArray, weights: IntArray, scale: int = SCALE) -> bool:
        """Test whether every sum is exact in 64 bits, whatever the signs, with `FREE` as 0."""
        of_rows = np.abs(weights.astype(np.float64)) @ self._sides
        of_variables = np.abs(functional.astype(np.float64)) @ self._ends
        return bool(of_rows + scale * of_variables < SAFE)

    def rest(self, functional: IntArray, weights: IntArray, scale: int = SCALE) -> IntArray:
        """Return what the weighted rows leave of a functional, in 1/``scale``, by variable."""
        rest: IntArray = scale * functional - self._by_column @ weights
        return rest

    def least(self, weights: IntArray, rest: IntArray) -> IntArray:
        """Return for each part the least value of weighted rows plus rest, in 1/``scale``."""
        rows, program = self.program.constraints, self.program
        sums = np.zeros(self.parts.count, dtype=np.int64)
        of_rows = np.where(weights > 0, weights * rows.least, weights * rows.most)
        of_variables = np.where(rest > 0, rest * program.lower, rest * program.upper)
        np.add.at(sums, self.parts.of_row, of_rows)
        np.add.at(sums, self.parts.of_variable, of_variables)
        return sums

    def bounds(self, functional: IntArray, weights: IntArray) -> IntArray:
        """Return for each part a lower bound of the functional there: Eq. (dual).

        If a sum might not fit into 64 bits, only the bounds of the variables are used.

        Args:
            functional: Integer coefficient of each variable.
            weights: For each row any integer, in units of 1/`SCALE`.
        """
        if not self.has_room(functional, weights):
            return self.least(np.zeros_like(weights), functional)
        return -(-self.least(weights, self.rest(functional, weights)) // SCALE)


def _size(below: IntArray, above: IntArray) -> FloatArray:
    """Return the larger absolute value of each pair of bounds, with `FREE` as 0."""
    ends = np.abs(np.stack([below, above]).astype(np.float64))
    size: FloatArray = np.where(ends == FREE, 0, ends).max(axis=0)
    return size


@dataclass(frozen=True)
class DualBound:
    """A proven lower bound of a functional.

    Attributes:
        bound: No solution has less.
        why: The rows that prove it; none where the relaxation ended without an answer.
        vertex: Point of the relaxation where the functional is least; empty without an answer.
        deterministic_time: Seconds.
    """

    bound: int
    why: Combination
    vertex: FloatArray
    deterministic_time: float


def least_value(program: IntegerProgram, functional: IntArray, limit: float) -> DualBound:
    """Bound an integer functional from below, by the duals of the linear relaxation.

    Args:
        functional: Integer coefficient of each variable; its negative gives an upper bound.
        limit: Deterministic seconds.
    """
    vertex = solve_relaxation(program, functional.astype(np.float64), limit)
    added, weights = WeightedRows(program), np.zeros(program.shape[0], dtype=np.int64)
    if len(vertex.duals) and added.has_room(functional, whole_weights(vertex.duals)):
        weights = whole_weights(vertex.duals)
    bound = int(added.bounds(functional, weights)[0])
    why = Combination.of(SCALE, weights)
    return DualBound(bound, why, vertex.values, vertex.deterministic_time)


def row_combinations(program: IntegerProgram, functionals: IntArray) -> tuple[BoolArray, IntArray]:
    """Find which functionals are sums and differences of the program's equations.

    Args:
        functionals: (functionals × variables) integer coefficients.

    Returns:
        For each functional whether weights were found, and (functionals × rows) these weights, in
        units of 1/`SCALE`: ``weights @ A == SCALE * functionals``, checked in integers.
    """
    rows, variables = program.shape
    weights = np.zeros((len(functionals), rows), dtype=np.int64)
    equal = np.flatnonzero(program.constraints.least == program.constraints.most)
    if not len(equal) or not len(functionals) or len(equal) * variables > _DENSE:
        return np.zeros(len(functionals), dtype=bool), weights
    from scipy import linalg  # slow to load, and most units need no solver

    A = sparse.csr_array(program.constraints.A[equal])
    q, r, order = linalg.qr(A.T.toarray().astype(np.float64), mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(r)) > _RANK).sum())
    basic = linalg.solve_triangular(r[:rank, :rank], q[:, :rank].T @ functionals.T)
    weights[:, equal[order[:rank]]] = whole_weights(basic.T)
    added = WeightedRows(program)
    is_combination = np.array(
        [
            added.has_room(functional, each) and not added.rest(functional, each).any()
            for functional, each in zip(functionals, weights, strict=True)
        ],
        dtype=bool,
    )
    weights[~is_combination] = 0
    return is_combination, weights
