"""Feasibility cuts: why some variables cannot have the values that a search proposes.

See *feasibility cut* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.model.placed import placed
from recon_cli.model.program import IntegerProgram, LinearConstraints, deviation_program, fix_others
from recon_cli.solve.dual_bounds import WeightedRows, whole_weights
from recon_cli.solve.linear_relaxation import solve_relaxation


@dataclass(frozen=True)
class Cut:
    """A feasibility cut, or none.

    Attributes:
        rows: One row over the variables in doubt, or none.
        deterministic_time: Seconds of the relaxation.
    """

    rows: LinearConstraints
    deterministic_time: float


def feasibility_cut(
    program: IntegerProgram, variables: IntArray, values: IntArray, limit: float
) -> Cut:
    """Find an inequality that ``values`` violate, if the relaxation excludes them: Eq. (cut).

    The duals are the derivatives of the least violation by each right-hand side, so their negatives
    are weights whose sum of rows bounds from above; this holds for any weights, rounded ones too.

    Args:
        variables: Variables in doubt, sorted; the inequality is over them.
        values: A value for each variable of the program: of ``variables`` the proposed one, of
            the others a start.
        limit: Deterministic seconds.
    """
    others = np.setdiff1d(np.arange(len(values)), variables)
    rest = fix_others(program, others, values)
    elastic, cost = _elastic(deviation_program(rest.program, values[others]).program)
    vertex = solve_relaxation(elastic, cost, limit)
    if not len(vertex.duals):
        return Cut(_no_rows(len(variables)), vertex.deterministic_time)
    duals = np.zeros(program.shape[0])
    duals[rest.rows] = vertex.duals
    weights = whole_weights(-duals)
    if not WeightedRows(program).has_room(np.zeros_like(values), weights):
        return Cut(_no_rows(len(variables)), vertex.deterministic_time)
    rows = _added_up(program, variables, others, weights)
    if rows.are_met_by(values[variables]):
        rows = _no_rows(len(variables))
    return Cut(rows, vertex.deterministic_time)


def _elastic(change: IntegerProgram) -> tuple[IntegerProgram, FloatArray]:
    """Relax the rows that are violated without a change, at a cost."""
    rows = change.constraints
    lacks, exceeds = np.maximum(rows.least, 0), np.maximum(-rows.most, 0)
    missed = np.flatnonzero(lacks + exceeds)
    sign = np.where(lacks[missed] > 0, 1, -1)
    size = len(missed)
    slack = placed(missed, len(lacks), sign)
    program = IntegerProgram(
        LinearConstraints(sparse.csr_array(sparse.hstack([rows.A, slack])), rows.least, rows.most),
        lower=np.concatenate([change.lower, np.zeros(size, dtype=np.int64)]),
        upper=np.concatenate([change.upper, (lacks + exceeds)[missed]]),
    )
    return program, np.repeat([0.0, 1.0], [len(change.lower), size])


def _added_up(
    program: IntegerProgram, variables: IntArray, others: IntArray, weights: IntArray
) -> LinearConstraints:
    """Return ``coefficients @ x[variables] ≤ most``, the weighted sum of all rows: Eq. (cut).

    A row with a positive weight contributes its upper bound, a row with a negative weight its lower
    bound; variables in ``others`` contribute the bound that makes the inequality valid for all.
    """
    rows = program.constraints
    coefficients: IntArray = rows.A.T @ weights
    lower, upper = program.lower, program.upper
    top = np.where(weights > 0, rows.most, rows.least) @ weights
    elsewhere = coefficients[others]
    most = top - np.where(elsewhere > 0, lower[others], upper[others]) @ elsewhere
    here = coefficients[variables]
    shared = max(int(np.gcd.reduce(here)), 1)
    here, most = here // shared, most // shared
    least = np.where(here > 0, lower[variables], upper[variables]) @ here
    return LinearConstraints(sparse.csr_array(here[None, :]), np.array([least]), np.array([most]))


def _no_rows(columns: int) -> LinearConstraints:
    none = np.empty(0, dtype=np.int64)
    return LinearConstraints(sparse.csr_array(np.empty((0, columns), dtype=np.int64)), none, none)
