"""A second engine's word. Solvers have declared feasible models infeasible; two seldom agree."""

from __future__ import annotations

import datetime
import json

from recon_cli.errors import DisagreementError
from recon_cli.model.program import IntegerProgram

_LIMIT = datetime.timedelta(minutes=10)


def confirm_infeasible(program: IntegerProgram) -> None:
    """Return if SCIP, too, finds ``program`` infeasible.

    Raises:
        DisagreementError: SCIP finds a solution, or cannot decide.
    """
    from ortools.math_opt.python import mathopt  # noqa: PLC0415 - see `program`
    from ortools.math_opt.solvers.gscip import gscip_pb2  # noqa: PLC0415

    model = mathopt.Model()
    variables = [
        model.add_integer_variable(lb=low, ub=high)
        for low, high in zip(program.lower.tolist(), program.upper.tolist(), strict=True)
    ]
    A = program.constraints.A
    indptr, indices, data = A.indptr.tolist(), A.indices.tolist(), A.data.tolist()
    sides = zip(program.constraints.least.tolist(), program.constraints.most.tolist(), strict=True)
    for row, (least, most) in enumerate(sides):
        constraint = model.add_linear_constraint(lb=least, ub=most)
        for at in range(indptr[row], indptr[row + 1]):
            constraint.set_coefficient(variables[indices[at]], data[at])
    # Ctrl-C is for the program: SCIP would take it for a reason to stop, and that for an answer.
    deaf = gscip_pb2.GScipParameters(bool_params={"misc/catchctrlc": False})
    result = mathopt.solve(
        model,
        mathopt.SolverType.GSCIP,
        params=mathopt.SolveParameters(threads=1, time_limit=_LIMIT, gscip=deaf),
    )
    reason = result.termination.reason
    infeasible = mathopt.TerminationReason
    if reason not in {infeasible.INFEASIBLE, infeasible.INFEASIBLE_OR_UNBOUNDED}:
        raise DisagreementError(
            f"CP-SAT says a program of {program.shape[1]} variables has no solution, "
            f"SCIP says {reason.name.lower()}: neither is believed",
            _as_json(program),
        )


def _as_json(program: IntegerProgram) -> str:
    """The integer program ``least <= A x <= most``, ``lower <= x <= upper`` as JSON."""
    A = program.constraints.A.tocoo()
    return json.dumps(
        {
            "lower": program.lower.tolist(),
            "upper": program.upper.tolist(),
            "least": program.constraints.least.tolist(),
            "most": program.constraints.most.tolist(),
            "row": A.row.tolist(),
            "column": A.col.tolist(),
            "coefficient": A.data.tolist(),
        }
    )
