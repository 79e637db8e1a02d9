"""Certificates of infeasibility: claims of CP-SAT must be confirmed by SCIP.

Single engines have declared feasible programs infeasible, so no such claim rests on one alone.

See *certificate* in docs/glossary.md.
"""

from __future__ import annotations

import json
from typing import Final

from recon_cli.errors import DisagreementError, SolverError
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.cp_sat import Effort, Status
from recon_cli.solve.scip import run_scip

#: Seconds for a confirmation; most take milliseconds.
_SECONDS = 600.0
#: Seconds to confirm one claim of many; after that the claim is not made.
CONFIRMATION: Final = 60.0


def confirm_infeasible(program: IntegerProgram, seconds: float = _SECONDS) -> bool:
    """Test whether SCIP, too, finds ``program`` infeasible; False if it gives up.

    Args:
        program: A program that CP-SAT finds infeasible.
        seconds: Budget of SCIP, counted in nodes of its tree, so that it is the same everywhere.

    Raises:
        DisagreementError: SCIP finds a solution.
        SolverError: SCIP fails.
    """
    if seconds <= 0:  # which the engine takes for no limit
        return False
    claim = f"CP-SAT finds an integer program of {program.shape[1]} variables infeasible"
    try:
        answer = run_scip(program, None, Effort(0, seconds))
    except SolverError as error:
        raise SolverError(f"{claim}, {error}: not believed") from error
    if len(answer.values):
        raise DisagreementError(
            f"{claim}, SCIP finds a solution: neither is believed", program_as_json(program)
        )
    return answer.status is Status.INFEASIBLE


def program_as_json(program: IntegerProgram) -> str:
    """Serialise the program ``least <= A x <= most``, ``lower <= x <= upper`` as JSON."""
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
