"""The linear relaxation of an integer program, by HiGHS's dual simplex.

Counts in margins are nearly network flows, so the vertices of the relaxation are mostly whole
numbers. Floating point only proposes: a solution is one because the integers say so, and that
none was found means nothing.

See *linear relaxation* and *dual* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.model.program import IntegerProgram

FloatArray = npt.NDArray[np.float64]

#: Deterministic seconds for one non-zero coefficient in one pivot, about as CP-SAT counts.
_PIVOT = 1e-9
#: What a pivot takes besides, in non-zero coefficients.
_OVERHEAD = 15_000
#: The effort besides pivots, in pivots.
_SETTING_UP = 200
#: More than any program takes; the engine counts them in 32 bits.
_MOST_PIVOTS = 10**9


@dataclass(frozen=True)
class Vertex:
    """A vertex of the relaxation with its duals.

    Attributes:
        values: A value of each variable, whole or not; empty if nothing was result.
        duals: For each row the change of the cost for one more in its bounds; likewise.
        deterministic_time: Seconds, counted in pivots.
    """

    values: FloatArray
    duals: FloatArray
    deterministic_time: float


def solve_relaxation(program: IntegerProgram, cost: FloatArray, limit: float) -> Vertex:
    """The vertex of the relaxation with the least ``cost @ x``.

    Args:
        program: The program.
        cost: Not negative, so that the simplex can begin where every variable is at its least.
        limit: Deterministic seconds.
    """
    rows = program.constraints
    pivot = _PIVOT * (rows.A.nnz + _OVERHEAD)
    pivots = int(min(limit / pivot - _SETTING_UP, _MOST_PIVOTS))
    if pivots <= 0 or not len(cost):
        return Vertex(np.empty(0), np.empty(0), 0.0)
    from scipy import optimize  # noqa: PLC0415 - a third of a second, 30 MB

    linprog: Any = optimize.linprog  # whose stubs have no sparse arrays
    equal = rows.least == rows.most
    ranges = rows.A[~equal]
    result = linprog(
        cost,
        A_eq=rows.A[equal],
        b_eq=rows.least[equal],
        A_ub=sparse.vstack([ranges, -ranges]),
        b_ub=np.concatenate([rows.most[~equal], -rows.least[~equal]]),
        bounds=np.stack([program.lower, program.upper], 1),
        method="highs-ds",
        # Presolving takes longer than solving, and would lose the beginning.
        options={"presolve": False, "maxiter": pivots},
    )
    elapsed = round((result.nit + _SETTING_UP) * pivot, 9)
    if result.x is None or not result.success:
        return Vertex(np.empty(0), np.empty(0), elapsed)
    duals = np.empty(len(equal))
    duals[equal] = result.eqlin.marginals
    most, least = np.split(result.ineqlin.marginals, 2)
    duals[~equal] = most - least
    return Vertex(np.asarray(result.x, dtype=np.float64), duals, elapsed)
