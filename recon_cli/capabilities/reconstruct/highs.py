"""HiGHS on one integer program, in the build that scipy includes.

HiGHS uses floating point: its solutions are checked in integers, and no other result is used.
"""

from __future__ import annotations

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.cp_sat import Effort, SolveResult, Status
from recon_cli.solve.interruption import solve_interruptibly
from recon_cli.solve.linear_relaxation import highs_core, highs_engine, pivot_seconds

#: Seconds of one node of HiGHS's tree, by the number of coefficients, to the power of 3/2; and
#: wall-clock seconds for each of these, after which even a node is not waited for.
_NODE, _PATIENCE = 5e-8, 5.0
#: More than any tree has; the engine counts nodes in 32 bits.
_MOST_NODES = 2**31 - 1


def run_highs(program: IntegerProgram, objective: IntArray | None, effort: Effort) -> SolveResult:
    """Find the solution with the greatest ``objective @ x``, or any solution without one.

    Args:
        effort: Its search is not used.
    """
    core, width = highs_core(), program.shape[1]
    if not width:  # the engine takes a program without variables for an error
        status = Status.OPTIMAL if program.is_feasible(program.lower) else Status.INFEASIBLE
        return SolveResult.of_point(program, objective, status, np.empty(0))
    engine = highs_engine(core, program)
    pivot = pivot_seconds(program)
    nodes = effort.limit / (_NODE * max(program.constraints.A.nnz, 1) ** 1.5)
    for option, value in (
        *(("presolve", "choose"), ("solver", "choose"), ("random_seed", effort.seed % 2**31)),
        *(("mip_rel_gap", 0.0), ("mip_abs_gap", 0.5)),
        *(("mip_max_nodes", 1 + int(min(nodes, _MOST_NODES - 1))),),
        ("time_limit", _PATIENCE * effort.limit),
    ):
        engine.setOptionValue(option, value)
    at = np.arange(width, dtype=np.int32)
    engine.changeColsIntegrality(width, at, np.full(width, int(core.HighsVarType.kInteger)))
    if objective is not None:
        engine.changeColsCost(width, at, -objective.astype(np.float64))
    solve_interruptibly(engine.run, None, effort.limit)
    outcome, outcomes = engine.getModelStatus(), core.HighsModelStatus
    found, solutions = engine.getInfo(), core.SolutionStatus
    elapsed = round(max(found.simplex_iteration_count, 0) * pivot, 9)
    status, point = Status.UNKNOWN, np.empty(0)
    if outcome == outcomes.kInfeasible:
        status = Status.INFEASIBLE
    elif found.primal_solution_status == solutions.kSolutionStatusFeasible:
        status = Status.OPTIMAL if outcome == outcomes.kOptimal else Status.FEASIBLE
        point = np.array(engine.getSolution().col_value, dtype=np.float64)
    return SolveResult.of_point(program, objective, status, point, elapsed)
