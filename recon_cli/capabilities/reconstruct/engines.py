"""Integer programs by a selected engine: CP-SAT, HiGHS or SCIP.

The engine decides which solution is found, never what is proven. HiGHS and SCIP use floating point:
their solutions are checked in integers, infeasibility is certified by a second engine, and the
maximum of an objective is what CP-SAT proves.

See *integer program* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.errors import DisagreementError
from recon_cli.model.program import IntegerProgram
from recon_cli.solve import cp_sat
from recon_cli.solve.certificates import confirm_infeasible, program_as_json
from recon_cli.solve.cp_sat import Effort, Search, SolveResult, Status
from recon_cli.solve.feasibility import Feasibility, ProgramSolution
from recon_cli.solve.interruption import solve_interruptibly
from recon_cli.solve.linear_relaxation import highs_core, highs_engine, pivot_seconds
from recon_cli.solve.scip import run_scip

#: Deterministic seconds of one node of HiGHS's tree, per coefficient to the power of 3/2; and the
#: wall-clock seconds per deterministic second after which even a node is interrupted.
_NODE, _PATIENCE = 5e-8, 5.0
#: More than any tree has; the engine counts nodes in 32 bits.
_MOST_NODES = 2**31 - 1

Engine = Literal["cp-sat", "highs", "scip"]


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


#: The engines that count in floating point.
_FLOATING: Final = {"highs": run_highs, "scip": run_scip}


def find_solution(program: IntegerProgram, engine: Engine, effort: Effort) -> ProgramSolution:
    """Find a solution by one engine from nothing: no objective, no hint, the engine's own search.

    Raises:
        DisagreementError: Two engines disagree that there is none.
        SolverError: The engine fails.
    """
    if engine == "cp-sat":
        answer = cp_sat.find_feasible(program, replace(effort, search=Search.DEFAULT))
    else:
        answer = _FLOATING[engine](program, None, effort)
    outcome = Feasibility.SOLVED if len(answer.values) else Feasibility.UNDECIDED
    if answer.status is Status.INFEASIBLE and _is_certified(program, engine, effort):
        outcome = Feasibility.INFEASIBLE
    return ProgramSolution(outcome, answer.values, answer.deterministic_time)


def _is_certified(program: IntegerProgram, engine: Engine, effort: Effort) -> bool:
    """Test whether a second engine, too, finds no solution."""
    if engine != "scip":
        return confirm_infeasible(program, effort.limit)
    answer = cp_sat.find_feasible(program, effort)
    if len(answer.values):
        raise DisagreementError(
            f"SCIP finds an integer program of {program.shape[1]} variables infeasible, CP-SAT "
            "finds a solution: neither is believed",
            program_as_json(program),
        )
    return answer.status is Status.INFEASIBLE


def maximize(
    program: IntegerProgram, objective: IntArray, effort: Effort, engine: Engine = "cp-sat"
) -> SolveResult:
    """Find the solution with the greatest ``objective @ x``, checked by a second engine.

    CP-SAT proves the bound. HiGHS or SCIP are also run on the same program, and their solution is
    used if none is better.

    Raises:
        DisagreementError: Two engines claim different maxima.
        SolverError: An engine fails.
    """
    proven = cp_sat.maximize(program, objective, effort)
    if engine == "cp-sat" or effort.limit <= 0 or proven.status is Status.INFEASIBLE:
        return proven
    answer = _FLOATING[engine](program, objective, effort)
    if not len(answer.values):
        return proven
    is_beyond = answer.objective > proven.bound
    is_short = answer.status is Status.OPTIMAL and answer.objective < proven.objective
    if is_beyond or (is_short and len(proven.values)):
        raise DisagreementError(
            f"the greatest value of an integer program of {program.shape[1]} variables is "
            f"{proven.objective} to {proven.bound} by CP-SAT, {answer.objective} by {engine}: "
            "neither is believed",
            program_as_json(program),
        )
    if len(proven.values) and answer.objective < proven.objective:
        return proven
    status = Status.OPTIMAL if answer.objective == proven.bound else Status.FEASIBLE
    return replace(proven, status=status, values=answer.values, objective=answer.objective)
