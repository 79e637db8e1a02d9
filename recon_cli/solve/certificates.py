"""Certificates of infeasibility: what CP-SAT claims, SCIP confirms.

Single engines have declared feasible programs infeasible, so no such claim rests on one alone.

See *certificate* in docs/glossary.md.
"""

from __future__ import annotations

import datetime
import json

from recon_cli.errors import DisagreementError, SolverError
from recon_cli.model.program import IntegerProgram

#: Wall-clock seconds: SCIP has no repeatable measure of its effort. Confirmations take
#: milliseconds mostly, so that this limit decides nothing on ordinary programs.
_SECONDS = 600.0


def confirm_infeasible(program: IntegerProgram, seconds: float = _SECONDS) -> bool:
    """Whether SCIP, too, finds ``program`` infeasible; False if its time ends before it knows.

    Args:
        program: A program that CP-SAT finds infeasible.
        seconds: Wall-clock seconds for SCIP.

    Raises:
        DisagreementError: SCIP finds a solution.
        SolverError: SCIP fails.
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
    limit = datetime.timedelta(seconds=seconds)
    result = mathopt.solve(
        model,
        mathopt.SolverType.GSCIP,
        params=mathopt.SolveParameters(threads=1, time_limit=limit, gscip=deaf),
    )
    reason = result.termination.reason
    reasons = mathopt.TerminationReason
    if reason in {reasons.INFEASIBLE, reasons.INFEASIBLE_OR_UNBOUNDED}:
        return True  # every variable is bounded
    if reason is reasons.NO_SOLUTION_FOUND:
        return False
    claim = f"CP-SAT finds an integer program of {program.shape[1]} variables infeasible"
    if reason in {reasons.OPTIMAL, reasons.FEASIBLE}:
        raise DisagreementError(
            f"{claim}, SCIP finds a solution: neither is believed", _as_json(program)
        )
    raise SolverError(f"{claim}, SCIP fails ({reason.name.lower()}): not believed")


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
