"""SCIP on one integer program, with limits in tree nodes so that they repeat.

SCIP uses floating point with a relative tolerance of a millionth: its solutions are checked in
integers, and no other result is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.errors import SolverError
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.cp_sat import Effort, SolveResult, Status
from recon_cli.solve.interruption import solve_interruptibly

#: Seconds of one node of SCIP's tree, for each coefficient to the power of 3/2. Effort is counted
#: in nodes, because a loaded machine does not change their number.
_NODE = 5e-8
#: Wall-clock seconds for each of these, after which SCIP is stopped even within a node.
_PATIENCE = 5.0
#: More nodes than any tree has.
_MOST_NODES = 1e15


def run_scip(program: IntegerProgram, objective: IntArray | None, effort: Effort) -> SolveResult:
    """Find the solution with the greatest ``objective @ x``; any solution if it is None.

    Args:
        effort: Seed and limit; the search strategy is not used.

    Raises:
        SolverError: SCIP fails.
    """
    # The core below `model_builder`, which also imports pandas; not before it is needed.
    from ortools.linear_solver.python import model_builder_helper

    rows = program.constraints
    lower, upper, least, most = (
        ends.astype(np.float64) for ends in (program.lower, program.upper, rows.least, rows.most)
    )
    A = sparse.csr_matrix(rows.A, dtype=np.float64)
    gain = np.zeros(len(lower)) if objective is None else objective.astype(np.float64)
    model: Any = model_builder_helper.ModelBuilderHelper()
    model.fill_model_from_sparse_data(lower, upper, gain, least, most, A)
    model.set_maximize(objective is not None)
    for variable in range(len(lower)):
        model.set_var_integrality(variable, True)
    solver = model_builder_helper.ModelSolverHelper("scip")
    solver.set_time_limit_in_seconds(_PATIENCE * effort.limit)
    nodes = 1 + int(min(effort.limit / (_NODE * max(A.nnz, 1) ** 1.5), _MOST_NODES))
    # Ctrl-C is for the program: SCIP would take it for a reason to stop, and that for an answer.
    solver.set_solver_specific_parameters(
        f"misc/catchctrlc = FALSE\nlimits/totalnodes = {nodes}\n"
        f"randomization/randomseedshift = {effort.seed % 2**31}"
    )
    # what the engine offers to interrupt it has no effect on SCIP
    solve_interruptibly(lambda: solver.solve(model), None, effort.limit)
    outcomes = model_builder_helper.SolveStatus
    statuses = {
        outcomes.OPTIMAL: Status.OPTIMAL,
        outcomes.FEASIBLE: Status.FEASIBLE,
        outcomes.INFEASIBLE: Status.INFEASIBLE,
        outcomes.NOT_SOLVED: Status.UNKNOWN,
    }
    outcome = solver.status()
    if outcome not in statuses:
        raise SolverError(f"SCIP fails ({outcome.name.lower()})")
    has_values = statuses[outcome] in {Status.OPTIMAL, Status.FEASIBLE}
    point = np.array(solver.variable_values() if has_values else [], dtype=np.float64)
    return SolveResult.of_point(program, objective, statuses[outcome], point)
