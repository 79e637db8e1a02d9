"""Near values that are no solution, one that is: the feasibility pump.

Rounding, and the nearest point of the linear relaxation, in turns (Fischetti, Glover and Lodi
2005). From what is nearly right the dual simplex takes a few hundred pivots, where CP-SAT would
look at everything anew; mostly one turn will do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram, deviation_program
from recon_cli.solve.linear_relaxation import FloatArray, solve_relaxation

#: A value so near to a whole number is one.
_WHOLE = 1e-6
_MOST_TURNS = 10


@dataclass(frozen=True)
class PumpResult:
    """What was found.

    Attributes:
        values: The last point of the relaxation, rounded; empty without one.
        is_solution: Whether they are a solution.
        broken: The variables where that point was no whole number, rising; rounding may have been
            enough.
        work: Deterministic seconds.
    """

    values: IntArray
    is_solution: bool
    broken: IntArray
    work: float


def pump(program: IntegerProgram, start: IntArray, limit: float) -> PumpResult:
    """A solution near ``start``; the nearest one, if the first point is whole.

    Args:
        program: The program.
        start: A value for each variable, within its bounds; the rows may be broken.
        limit: Deterministic seconds.
    """
    none = np.empty(0, dtype=np.int64)
    mended, work = PumpResult(none, is_solution=False, broken=none, work=0.0), 0.0
    for _ in range(_MOST_TURNS):
        point, cost = _nearest(program, start, limit - work)
        work += cost
        if not len(point):
            break
        values = np.rint(point).astype(np.int64)
        broken = np.flatnonzero(np.abs(point - values) > _WHOLE)
        mended = PumpResult(values, program.is_feasible(values), broken, work)
        if mended.is_solution or np.array_equal(values, start):
            break
        start = values
    return replace(mended, work=round(work, 9))


def _nearest(program: IntegerProgram, start: IntArray, limit: float) -> tuple[FloatArray, float]:
    """The point of the relaxation with the least ``Σ |x − start|``, and the work; or nothing."""
    change = deviation_program(program, start)
    vertex = solve_relaxation(change.program, np.ones(len(change.sign)), limit)
    if not len(vertex.values):
        return vertex.values, vertex.work
    return change.values_at(vertex.values), vertex.work
