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

from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.linear_relaxation import FloatArray, LinearRelaxation, Vertex

#: Weights are multiples of its inverse: divisible by 1 to 10, which are the usual denominators.
SCALE = 2520
#: Sums below this are exact in 64 bits, whatever their order.
SAFE = 2.0**60
#: A pivot this small, of a matrix of small integers, is none.
_RANK = 1e-9
#: Entries of a dense matrix that is factored to find combinations of rows.
_DENSE = 4_000_000


@dataclass(frozen=True)
class DualBound:
    """A proven least value of ``c·x``.

    Attributes:
        bound: No solution has less.
        weights: For each row of the program its weight, in units of 1/`SCALE`; all zero where the
            relaxation ended without an answer.
        vertex: Where the relaxation is least; empty without an answer.
        deterministic_time: Seconds.
    """

    bound: int
    weights: IntArray
    vertex: FloatArray
    deterministic_time: float


def least_value(
    program: IntegerProgram,
    functional: IntArray,
    limit: float,
    relaxation: LinearRelaxation | None = None,
) -> DualBound:
    """A lower bound of an integer functional, from the duals of the linear relaxation.

    Args:
        program: The program.
        functional: Integer coefficient of each variable; its negative gives an upper bound.
        limit: Deterministic seconds.
        relaxation: Of the program, where several functionals are asked for.
    """
    solver = LinearRelaxation(program) if relaxation is None else relaxation
    vertex = solver.solve(functional.astype(np.float64), limit)
    weights = rounded_weights(program, vertex)
    bound = weighted_bounds(program, functional[None], weights[None])
    return DualBound(int(bound[0]), weights, vertex.values, vertex.deterministic_time)


def rounded_weights(program: IntegerProgram, vertex: Vertex) -> IntArray:
    """The duals of a vertex in units of 1/`SCALE`; all zero where there is none."""
    if not len(vertex.duals):
        return np.zeros(program.shape[0], dtype=np.int64)
    weights: IntArray = np.rint(SCALE * vertex.duals).astype(np.int64)
    return weights


def weighted_bounds(program: IntegerProgram, functionals: IntArray, weights: IntArray) -> IntArray:
    """The lower bounds of ``functionals @ x`` that weighted rows prove: Eq. (dual).

    Where the sum might not fit into 64 bits, the bounds of the variables alone are added up.

    Args:
        program: The program.
        functionals: (functionals × variables) integer coefficients.
        weights: (functionals × rows) weights in units of 1/`SCALE`: any integers.
    """
    rows = program.constraints
    has_room = largest_sums(program, functionals, weights) < SAFE
    if not has_room.all():
        alone = np.array([program.lowest(each) for each in functionals[~has_room]], dtype=np.int64)
        bounds = np.zeros(len(functionals), dtype=np.int64)
        bounds[~has_room] = alone
        if has_room.any():
            bounds[has_room] = weighted_bounds(program, functionals[has_room], weights[has_room])
        return bounds
    of_rows = np.where(weights > 0, weights * rows.least, weights * rows.most).sum(axis=1)
    rest = SCALE * functionals - (rows.A.T @ weights.T).T
    of_variables = np.where(rest > 0, rest * program.lower, rest * program.upper).sum(axis=1)
    found: IntArray = -(-(of_rows + of_variables) // SCALE)
    return found


def largest_sums(program: IntegerProgram, functionals: IntArray, weights: IntArray) -> FloatArray:
    """What no sum in a proof by weighted rows exceeds, with whatever signs.

    Args:
        program: The program.
        functionals: (functionals × variables) integer coefficients.
        weights: (functionals × rows) weights in units of 1/`SCALE`.
    """
    rows = program.constraints
    sides = np.maximum(np.abs(rows.least.astype(np.float64)), np.abs(rows.most.astype(np.float64)))
    ends = np.maximum(np.abs(program.lower.astype(np.float64)), np.abs(program.upper))
    size = np.abs(weights.astype(np.float64))
    of_rows: FloatArray = size @ (sides + abs(rows.A).astype(np.float64) @ ends)
    of_variables: FloatArray = np.abs(functionals.astype(np.float64)) @ ends
    return of_rows + SCALE * of_variables


def row_combinations(
    program: IntegerProgram, functionals: IntArray
) -> tuple[npt.NDArray[np.bool_], IntArray]:
    """Which functionals are sums and differences of the program's equations.

    Args:
        program: The program.
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
    weights[:, equal[order[:rank]]] = np.rint(SCALE * basic.T).astype(np.int64)
    has_room = largest_sums(program, functionals, weights) < SAFE
    is_combination: npt.NDArray[np.bool_] = (
        SCALE * functionals == (program.constraints.A.T @ weights.T).T
    ).all(axis=1) & has_room
    weights[~is_combination] = 0
    return is_combination, weights
