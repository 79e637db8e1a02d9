"""CP-SAT on one integer program: the only module that writes and reads its models.

Every solve is repeatable: one thread, a fixed seed, and limits in the solver's deterministic time.

See *deterministic time* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

import numpy as np

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.errors import SolverError
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.interruption import solve_interruptibly


class Status(Enum):
    """The status of a solve."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class SolveResult:
    """The outcome of one solve.

    Attributes:
        values: The best solution; empty without one.
        objective: The objective of `values`, 0 without one.
        bound: No solution has a greater objective.
        deterministic_time: The solver's repeatable measure of its effort, in seconds.
    """

    status: Status
    values: IntArray
    objective: int
    bound: int
    deterministic_time: float

    @classmethod
    def of_point(
        cls,
        program: IntegerProgram,
        objective: IntArray | None,
        status: Status,
        point: FloatArray,
        deterministic_time: float = 0.0,
    ) -> Self:
        """Keep the parts of a floating-point result that integers confirm.

        Args:
            objective: Objective of a maximum; None for any solution.
            status: Status that the engine reports.
            point: Solution that the engine reports; empty without one.

        Returns:
            The result, unknown if the rounded point is no solution, with the bound by variables.
        """
        bound = 0 if objective is None else program.highest(objective)
        nothing = np.empty(0, dtype=np.int64)
        if status in {Status.INFEASIBLE, Status.UNKNOWN}:
            return cls(status, nothing, 0, bound, deterministic_time)
        values = program.rounded(point)
        if not program.is_feasible(values):
            return cls(Status.UNKNOWN, nothing, 0, bound, deterministic_time)
        reached = 0 if objective is None else int(objective @ values)
        return cls(status, values, reached, bound, deterministic_time)


class Search(Enum):
    """A search strategy."""

    #: By propagation and clauses: fast where many solutions exist, and one is as good as another.
    PROPAGATION = "propagation"
    #: With the whole linear relaxation, which is nearly integral, as counts in margins are nearly
    #: network flows: the best solution is found about twenty times faster.
    RELAXATION = "relaxation"
    #: Alternating between strategies, for hard programs.
    INTERLEAVED = "interleaved"
    #: CP-SAT's default.
    DEFAULT = "default"


@dataclass(frozen=True)
class Effort:
    """The budget and strategy of a solve.

    Attributes:
        limit: Deterministic seconds.
    """

    seed: int
    limit: float
    search: Search = Search.RELAXATION


def find_feasible(program: IntegerProgram, effort: Effort) -> SolveResult:
    """Find any solution of a program; without budget nothing is tried."""
    if effort.limit <= 0:
        return SolveResult(Status.UNKNOWN, np.empty(0, dtype=np.int64), 0, 0, 0.0)
    return _solve(program, _model(program), None, effort)


def maximize(
    program: IntegerProgram, objective: IntArray, effort: Effort, hint: IntArray | None = None
) -> SolveResult:
    """Find the solution of a program with the greatest ``objective @ x``.

    Args:
        objective: Integer coefficient of each variable.
        hint: A known solution to begin with.

    Returns:
        The best solution found, and a bound; without a budget, the bound that the variables' own
        bounds give.
    """
    if effort.limit <= 0:
        return SolveResult(
            Status.UNKNOWN, np.empty(0, dtype=np.int64), 0, program.highest(objective), 0.0
        )
    model = _model(program)
    used = np.flatnonzero(objective)
    # CP-SAT minimises; the negative scaling factor turns what it reports around again.
    model.objective.vars.extend(used.tolist())
    model.objective.coeffs.extend((-objective[used]).tolist())
    model.objective.scaling_factor = -1.0
    if hint is not None:
        model.solution_hint.vars.extend(range(len(hint)))
        model.solution_hint.values.extend(hint.tolist())
    return _solve(program, model, objective, effort)


def _model(program: IntegerProgram) -> Any:
    """Build the CP-SAT model from arrays."""
    # The core below `cp_model`, which also imports pandas: half a second and 60 MB in every
    # worker. And not before it is needed, because most regions need no solver.
    from ortools.sat.python import cp_model_helper

    model: Any = cp_model_helper.CpModelProto()
    for low, high in zip(program.lower.tolist(), program.upper.tolist(), strict=True):
        model.variables.add().domain.extend([low, high])
    A = program.constraints.A
    indptr, variables, coefficients = A.indptr.tolist(), A.indices.tolist(), A.data.tolist()
    sides = zip(program.constraints.least.tolist(), program.constraints.most.tolist(), strict=True)
    for row, (least, most) in enumerate(sides):
        entries = slice(indptr[row], indptr[row + 1])
        linear = model.constraints.add().linear
        linear.vars.extend(variables[entries])
        linear.coeffs.extend(coefficients[entries])
        linear.domain.extend([least, most])
    return model


def _solve(
    program: IntegerProgram, model: Any, objective: IntArray | None, effort: Effort
) -> SolveResult:
    from ortools.sat.python import cp_model_helper  # see above

    statuses = {
        cp_model_helper.OPTIMAL: Status.OPTIMAL,
        cp_model_helper.FEASIBLE: Status.FEASIBLE,
        cp_model_helper.INFEASIBLE: Status.INFEASIBLE,
        cp_model_helper.UNKNOWN: Status.UNKNOWN,
    }
    parameters = cp_model_helper.SatParameters()
    parameters.num_workers = 1
    if effort.search is not Search.DEFAULT:
        parameters.linearization_level = 0 if effort.search is Search.PROPAGATION else 2
        # Neither finds anything in margins.
        parameters.cp_model_probing_level = 0
        parameters.symmetry_level = 0
        # The best solution needs the whole relaxation: row by row it takes twice the time. To find
        # any solution, some of the rows will do.
        parameters.add_lp_constraints_lazily = objective is None
        if objective is not None:
            parameters.max_presolve_iterations = 1  # what more of them find is not worth their time
    parameters.random_seed = effort.seed % 2**31
    parameters.interleave_search = effort.search is Search.INTERLEAVED
    parameters.max_deterministic_time = effort.limit
    # or Ctrl-C would look like a spent budget, and every solve would leave it unheard after that
    parameters.catch_sigint_signal = False
    solver: Any = cp_model_helper.SolveWrapper()
    solver.set_parameters(parameters)
    response = solve_interruptibly(lambda: solver.solve(model), solver.stop_search, effort.limit)
    if response.status not in statuses:
        reason = cp_model_helper.CpSatHelper.validate_model(model)
        raise SolverError(f"CP-SAT rejects the model: {reason}")
    status = statuses[response.status]
    # The last bits of deterministic time depend on what the process solved before.
    elapsed = round(float(response.deterministic_time), 9)
    if status not in {Status.OPTIMAL, Status.FEASIBLE}:
        bound = 0 if objective is None else program.highest(objective)
        return SolveResult(status, np.empty(0, dtype=np.int64), 0, bound, elapsed)
    values = np.array(response.solution, dtype=np.int64)
    if not program.is_feasible(values):
        raise SolverError("CP-SAT returned values that do not satisfy the model")
    if objective is None:
        return SolveResult(status, values, 0, 0, elapsed)
    reached = int(objective @ values)
    if status is Status.OPTIMAL:
        return SolveResult(status, values, reached, reached, elapsed)
    # What is minimised is the negative of the objective, in whole numbers, without an offset: its
    # bound is whole, too. `best_objective_bound` is the same as a rounded float.
    bound = min(-int(response.inner_objective_lower_bound), program.highest(objective))
    if bound < reached:
        raise SolverError("CP-SAT returned a solution beyond its own bound")
    return SolveResult(status, values, reached, bound, elapsed)
