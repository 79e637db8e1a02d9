"""Certificates of infeasibility: what CP-SAT claims, SCIP confirms.

Single engines have declared feasible programs infeasible, so no such claim rests on one alone.

See *certificate* in docs/glossary.md.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from scipy import sparse

from recon_cli.errors import DisagreementError, SolverError
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.interruption import solve_interruptibly

#: Seconds for a confirmation; most take milliseconds.
_SECONDS = 600.0
#: Seconds of one node of SCIP's tree, by the number of coefficients, to the power of 3/2: nodes
#: are what it counts that a loaded machine does not change.
_NODE = 5e-8
#: Wall-clock seconds for each of these, after which even a node is not waited for.
_PATIENCE = 5.0
#: More than any tree has.
_MOST_NODES = 1e15


def confirm_infeasible(program: IntegerProgram, seconds: float = _SECONDS) -> bool:
    """Whether SCIP, too, finds ``program`` infeasible; False if it gives up before it knows.

    SCIP adds up in floating point, and takes for met what misses a large count by a millionth of
    it: what it finds is a solution if the integers say so, and says nothing else.

    Args:
        program: A program that CP-SAT finds infeasible.
        seconds: For SCIP, counted in nodes of its tree, so that they are the same everywhere.

    Raises:
        DisagreementError: SCIP finds a solution.
        SolverError: SCIP fails.
    """
    if seconds <= 0:  # which the engine takes for no limit
        return False
    # The core below `model_builder`, which also imports pandas; not before it is needed.
    from ortools.linear_solver.python import model_builder_helper  # noqa: PLC0415

    rows = program.constraints
    lower, upper, least, most = (
        ends.astype(np.float64) for ends in (program.lower, program.upper, rows.least, rows.most)
    )
    A = sparse.csr_matrix(rows.A, dtype=np.float64)
    model: Any = model_builder_helper.ModelBuilderHelper()
    model.fill_model_from_sparse_data(lower, upper, np.zeros(len(lower)), least, most, A)
    for variable in range(len(lower)):
        model.set_var_integrality(variable, True)
    solver = model_builder_helper.ModelSolverHelper("scip")
    solver.set_time_limit_in_seconds(_PATIENCE * seconds)
    nodes = 1 + int(min(seconds / (_NODE * max(A.nnz, 1) ** 1.5), _MOST_NODES))
    # Ctrl-C is for the program: SCIP would take it for a reason to stop, and that for an answer.
    solver.set_solver_specific_parameters(f"misc/catchctrlc = FALSE\nlimits/totalnodes = {nodes}")
    # what the engine offers to interrupt it has no effect on SCIP
    solve_interruptibly(lambda: solver.solve(model), None, seconds)
    status, outcomes = solver.status(), model_builder_helper.SolveStatus
    if status == outcomes.INFEASIBLE:
        return True
    if status == outcomes.NOT_SOLVED:
        return False
    claim = f"CP-SAT finds an integer program of {program.shape[1]} variables infeasible"
    if status in {outcomes.OPTIMAL, outcomes.FEASIBLE}:
        if not program.is_feasible(np.rint(solver.variable_values()).astype(np.int64)):
            return False
        raise DisagreementError(
            f"{claim}, SCIP finds a solution: neither is believed", _as_json(program)
        )
    raise SolverError(f"{claim}, SCIP fails ({status.name.lower()}): not believed")


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
