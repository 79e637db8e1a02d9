"""Bounds on integer functionals from weighted sums of rows, added up in integers.

The linear relaxation only proposes the weights. Any weights give a valid bound, so that rounding
them costs no rigour: Eq. (dual) of docs/method.md.

See *dual* and *certificate* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.model.ledger import Combination
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.linear_relaxation import LinearRelaxation
from recon_cli.solve.rounding import ConnectedParts

#: Weights are multiples of its inverse: divisible by 1 to 10, which are the usual denominators.
SCALE = 2520
#: Sums below this are exact in 64 bits, whatever their order.
SAFE = 2.0**60
#: A pivot this small, of a matrix of small integers, is none.
_RANK = 1e-9
#: Entries of a dense matrix that is factored to find combinations of rows.
_DENSE = 4_000_000


def whole_weights(duals: FloatArray) -> IntArray:
    """Duals in units of 1/`SCALE`."""
    weights: IntArray = np.rint(SCALE * duals).astype(np.int64)
    return weights


class WeightedRows:
    """The rows of a program, to be added up with one weight each: Eq. (dual)."""

    def __init__(self, program: IntegerProgram, parts: ConnectedParts) -> None:
        """Of a program.

        Args:
            parts: What is added up apart from each other: no row and no functional is over two.
        """
        self.program, self.parts = program, parts
        rows = program.constraints
        self._by_column = sparse.csr_array(rows.A.T)
        least, most = (side.astype(np.float64) for side in (rows.least, rows.most))
        lower, upper = (end.astype(np.float64) for end in (program.lower, program.upper))
        self._ends: FloatArray = np.maximum(np.abs(lower), np.abs(upper))
        self._sides: FloatArray = np.maximum(np.abs(least), np.abs(most))
        self._sides = self._sides + abs(rows.A).astype(np.float64) @ self._ends

    def has_room(self, functional: IntArray, weights: IntArray) -> bool:
        """Whether every sum is exact in 64 bits, with whatever signs."""
        of_rows = np.abs(weights.astype(np.float64)) @ self._sides
        of_variables = np.abs(functional.astype(np.float64)) @ self._ends
        return bool(of_rows + SCALE * of_variables < SAFE)

    def rest(self, functional: IntArray, weights: IntArray) -> IntArray:
        """What the weighted rows leave of a functional, in 1/`SCALE`, for each variable."""
        rest: IntArray = SCALE * functional - self._by_column @ weights
        return rest

    def least(self, weights: IntArray, rest: IntArray) -> IntArray:
        """For each part the least that its weighted rows and the rest come to, in 1/`SCALE`."""
        rows, program = self.program.constraints, self.program
        sums = np.zeros(self.parts.count, dtype=np.int64)
        of_rows = np.where(weights > 0, weights * rows.least, weights * rows.most)
        of_variables = np.where(rest > 0, rest * program.lower, rest * program.upper)
        np.add.at(sums, self.parts.of_row, of_rows)
        np.add.at(sums, self.parts.of_variable, of_variables)
        return sums

    def bounds(self, functional: IntArray, weights: IntArray) -> IntArray:
        """For each part what no solution's functional is below there: Eq. (dual).

        Where a sum might not fit into 64 bits, the bounds of the variables alone are added up.

        Args:
            functional: Integer coefficient of each variable.
            weights: For each row any integer, in units of 1/`SCALE`.
        """
        if not self.has_room(functional, weights):
            weights = np.zeros_like(weights)
        return -(-self.least(weights, self.rest(functional, weights)) // SCALE)


@dataclass(frozen=True)
class DualBound:
    """A proven least value of a functional.

    Attributes:
        bound: No solution has less.
        why: The rows that prove it; none where the relaxation ended without an answer.
        vertex: Where the relaxation is least; empty without an answer.
        deterministic_time: Seconds.
    """

    bound: int
    why: Combination
    vertex: FloatArray
    deterministic_time: float


def least_value(program: IntegerProgram, functional: IntArray, limit: float) -> DualBound:
    """A lower bound of an integer functional, from the duals of the linear relaxation.

    Args:
        functional: Integer coefficient of each variable; its negative gives an upper bound.
        limit: Deterministic seconds.
    """
    vertex = LinearRelaxation(program).solve(functional.astype(np.float64), limit)
    added = WeightedRows(program, ConnectedParts.whole(program))
    weights = np.zeros(program.shape[0], dtype=np.int64)
    if len(vertex.duals) and added.has_room(functional, whole_weights(vertex.duals)):
        weights = whole_weights(vertex.duals)
    bound = int(added.bounds(functional, weights)[0])
    why = Combination.of(SCALE, weights)
    return DualBound(bound, why, vertex.values, vertex.deterministic_time)


def row_combinations(
    program: IntegerProgram, functionals: IntArray
) -> tuple[npt.NDArray[np.bool_], IntArray]:
    """Which functionals are sums and differences of the program's equations.

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
    from scipy import linalg  # noqa: PLC0415 - slow to load, and most units need no solver

    A = sparse.csr_array(program.constraints.A[equal])
    q, r, order = linalg.qr(A.T.toarray().astype(np.float64), mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(r)) > _RANK).sum())
    basic = linalg.solve_triangular(r[:rank, :rank], q[:, :rank].T @ functionals.T)
    weights[:, equal[order[:rank]]] = whole_weights(basic.T)
    added = WeightedRows(program, ConnectedParts.whole(program))
    is_combination = np.array(
        [
            added.has_room(functional, each) and not added.rest(functional, each).any()
            for functional, each in zip(functionals, weights, strict=True)
        ],
        dtype=bool,
    )
    weights[~is_combination] = 0
    return is_combination, weights
