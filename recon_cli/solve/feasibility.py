"""Solutions of one integer program, any or near given values, with every outcome distinguished.

A vertex of the linear relaxation, rounded and repaired by the feasibility pump, is nearly always a
solution; it costs the simplex a few hundred pivots, while CP-SAT would start from nothing. CP-SAT
decides where the pump fails, or where there is no solution.

See *feasibility pump* and *repair* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.model.program import IntegerProgram, deviation_program
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Search, Status, find_feasible, maximize
from recon_cli.solve.linear_relaxation import WHOLE, solve_relaxation
from recon_cli.solve.near_vertices import BlockView


class Feasibility(StrEnum):
    """The proven status of a program."""

    SOLVED = "solved"
    INFEASIBLE = "infeasible"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class ProgramSolution:
    """The outcome of one program.

    Attributes:
        outcome: Solved, infeasible by two engines, or undecided within the effort.
        values: A value of each variable; empty without a solution.
        deterministic_time: The engines' repeatable measure of their own effort, in seconds.
    """

    outcome: Feasibility
    values: IntArray
    deterministic_time: float


@dataclass(frozen=True)
class Attempt:
    """One attempt of CP-SAT: a limit in deterministic seconds, and a search strategy."""

    limit: float
    search: Search


#: Deterministic seconds for the relaxation; 60,000 variables take about 2.
ROUNDING = 30.0
#: Most turns of the feasibility pump, without and with random costs.
_MOST_TURNS, _RANDOM_TURNS = 10, 24

#: Every attempt is deterministic: one thread, fixed seed, effort limits in deterministic time.
ESCALATION = (
    Attempt(1.0, Search.PROPAGATION),
    Attempt(30.0, Search.RELAXATION),
    Attempt(120.0, Search.INTERLEAVED),
    Attempt(900.0, Search.INTERLEAVED),
)


def solve_program(program: IntegerProgram, seed: int) -> ProgramSolution:
    """Find any solution of ``program``."""
    rounded, elapsed = round_vertex(program, seed)
    if len(rounded):
        return ProgramSolution(Feasibility.SOLVED, rounded, elapsed)
    for attempt in ESCALATION:
        answer = find_feasible(program, Effort(seed, attempt.limit, attempt.search))
        elapsed += answer.deterministic_time
        if answer.status is Status.INFEASIBLE:
            # Without SCIP's word in time the claim is not believed, and nothing is known.
            is_certified = confirm_infeasible(program)
            outcome = Feasibility.INFEASIBLE if is_certified else Feasibility.UNDECIDED
            return ProgramSolution(outcome, answer.values, elapsed)
        if answer.status is not Status.UNKNOWN:
            return ProgramSolution(Feasibility.SOLVED, answer.values, elapsed)
    return ProgramSolution(Feasibility.UNDECIDED, np.empty(0, dtype=np.int64), elapsed)


def solve_within(program: IntegerProgram, effort: Effort) -> ProgramSolution:
    """Find any solution of ``program`` within a budget for each of two methods."""
    rounded, elapsed = round_vertex(program, effort.seed, effort.limit)
    if len(rounded):
        return ProgramSolution(Feasibility.SOLVED, rounded, elapsed)
    answer = find_feasible(program, effort)
    elapsed += answer.deterministic_time
    if answer.status is Status.INFEASIBLE and confirm_infeasible(program, effort.limit):
        return ProgramSolution(Feasibility.INFEASIBLE, answer.values, elapsed)
    outcome = Feasibility.SOLVED if len(answer.values) else Feasibility.UNDECIDED
    return ProgramSolution(outcome, answer.values, elapsed)


def round_vertex(
    program: IntegerProgram, seed: int, limit: float = ROUNDING
) -> tuple[IntArray, float]:
    """Round a vertex of the relaxation to a solution (empty on failure); return also the seconds.

    Random non-negative costs favour no variable over another, and small totals over large ones.
    """
    cost = np.random.default_rng(seed).random(program.shape[1])
    vertex = solve_relaxation(program, cost, limit)
    nothing, elapsed = np.empty(0, dtype=np.int64), vertex.deterministic_time
    if not len(vertex.values):
        return nothing, elapsed
    pumped = pump(program, np.rint(vertex.values).astype(np.int64), limit - elapsed)
    solution = pumped.values if pumped.is_solution else nothing
    return solution, elapsed + pumped.deterministic_time


@dataclass(frozen=True)
class PumpResult:
    """The result of the feasibility pump.

    Attributes:
        values: The last point of the relaxation, rounded; empty without one.
        fractional: The variables where that point was not integral, sorted; its rounding may be a
            solution nevertheless.
        deterministic_time: Seconds of the relaxation.
    """

    values: IntArray
    is_solution: bool
    fractional: IntArray
    deterministic_time: float


def pump(
    program: IntegerProgram,
    values: IntArray,
    limit: float,
    random: np.random.Generator | None = None,
) -> PumpResult:
    """Find a solution near values: the nearest one if the first point is integral.

    Eq. (pump) of docs/method.md: find the point of the relaxation with the least ``Σ |x − values|``
    and round it, in turns (Fischetti, Glover & Lodi 2005). One iteration is mostly enough.

    Args:
        values: A value for each variable, within its bounds; the rows may be broken.
        limit: Deterministic seconds.
        random: Generator of costs that vary more in every turn, since rounding may cycle and
            little noise does not end a cycle. None: all costs are equal.
    """
    none = np.empty(0, dtype=np.int64)
    if program.is_feasible(values):
        return PumpResult(values, is_solution=True, fractional=none, deterministic_time=0.0)
    result = PumpResult(none, is_solution=False, fractional=none, deterministic_time=0.0)
    elapsed = 0.0
    for turn in range(1, 1 + (_MOST_TURNS if random is None else _RANDOM_TURNS)):
        change = deviation_program(program, values)
        cost = np.ones(len(change.sign))
        if random is not None:
            cost += turn * random.random(len(cost))
        vertex = solve_relaxation(change.program, cost, limit - elapsed)
        elapsed += vertex.deterministic_time
        if not len(vertex.values):
            break
        point = change.values_at(vertex.values)
        rounded = np.rint(point).astype(np.int64)
        fractional = np.flatnonzero(np.abs(point - rounded) > WHOLE)
        result = PumpResult(rounded, program.is_feasible(rounded), fractional, elapsed)
        if result.is_solution or (random is None and np.array_equal(rounded, values)):
            break
        values = rounded
    return replace(result, deterministic_time=round(elapsed, 9))


def solve_nested(
    program: IntegerProgram,
    levels: Sequence[Sequence[IntArray]],
    seed: int,
    effort: Effort | None = None,
) -> ProgramSolution:
    """Find any solution of a program whose rows nest, block by block, as `solve_program` does.

    Districts are solved alone, with all others free within their bounds. The region then needs only
    a small change of its districts: a vertex of least change is nearly always integral, and the
    simplex starts with few violated rows.

    Args:
        levels: From fine to coarse, the blocks of each level; a block is its sorted variables.
        seed: Seed of random costs.
        effort: Effort of `solve_within` if blocks do not suffice; None for `solve_program`.
    """
    values, elapsed = program.lower.copy(), 0.0
    random, view = np.random.default_rng(seed), BlockView.of(program)
    # Solving single units first would save no time in their districts.
    for blocks in levels[1:] or levels:
        for columns in blocks:
            near = pump(view.relaxed(columns), values[columns], _RANDOM_TURNS * ROUNDING, random)
            elapsed += near.deterministic_time
            # What is not met is left to the next level.
            values[columns] = near.values if len(near.values) else values[columns]
    if program.is_feasible(values):
        return ProgramSolution(Feasibility.SOLVED, values, elapsed)
    return solve_program(program, seed) if effort is None else solve_within(program, effort)


@dataclass(frozen=True)
class Repair:
    """A solution near given values.

    Attributes:
        values: A solution; empty without one.
        is_infeasible: Whether two engines found that there is no solution; if not, and without
            values, that is undecided.
    """

    values: IntArray
    is_infeasible: bool


def min_l1_repair(program: IntegerProgram, values: IntArray, effort: Effort) -> Repair:
    """Find the solution with the least ``Σ |x - values|``, or a near one within the budget.

    Args:
        values: A value for each variable; they need not be a solution.

    Raises:
        SolverError: Two engines disagree that there is no solution, or the solver rejected the
            model or returned values that do not satisfy it.
    """
    deviations = deviation_program(program, values)
    answer = maximize(deviations.program, np.full(len(deviations.sign), -1), effort)
    if answer.status is Status.INFEASIBLE:
        return Repair(answer.values, is_infeasible=confirm_infeasible(program))
    if answer.status is Status.UNKNOWN:
        return Repair(answer.values, is_infeasible=False)
    return Repair(deviations.values_at(answer.values), is_infeasible=False)
