"""The feasibility pump: a solution near values that are none.

Rounding, and the nearest point of the linear relaxation, in turns (Fischetti, Glover and Lodi
2005). From what is nearly right the dual simplex takes a few hundred pivots, where CP-SAT would
look at everything anew; mostly one turn will do.

See *feasibility pump* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.model.program import IntegerProgram, deviation_program
from recon_cli.solve.linear_relaxation import solve_relaxation

#: A value so near to an integer is one.
_INTEGRAL = 1e-6
_MOST_TURNS = 10


@dataclass(frozen=True)
class PumpResult:
    """Where the pump ended.

    Attributes:
        values: The last point of the relaxation, rounded; empty without one.
        is_solution: Whether they are a solution.
        fractional: The variables where that point was not integral, rising; rounding may have
            been enough.
        deterministic_time: Seconds of the relaxation.
    """

    values: IntArray
    is_solution: bool
    fractional: IntArray
    deterministic_time: float


def pump(program: IntegerProgram, values: IntArray, limit: float) -> PumpResult:
    """A solution near ``values``; the nearest one, if the first point is integral.

    Eq. (pump) of docs/method.md, in turns with rounding.

    Args:
        values: A value for each variable, within its bounds; the rows may be broken.
        limit: Deterministic seconds.
    """
    none = np.empty(0, dtype=np.int64)
    result, elapsed = (
        PumpResult(none, is_solution=False, fractional=none, deterministic_time=0.0),
        0.0,
    )
    for _ in range(_MOST_TURNS):
        point, seconds = _nearest(program, values, limit - elapsed)
        elapsed += seconds
        if not len(point):
            break
        rounded = np.rint(point).astype(np.int64)
        fractional = np.flatnonzero(np.abs(point - rounded) > _INTEGRAL)
        result = PumpResult(rounded, program.is_feasible(rounded), fractional, elapsed)
        if result.is_solution or np.array_equal(rounded, values):
            break
        values = rounded
    return replace(result, deterministic_time=round(elapsed, 9))


def _nearest(program: IntegerProgram, values: IntArray, limit: float) -> tuple[FloatArray, float]:
    """The point of the relaxation with the least ``Σ |x − values|``, and the seconds; or nothing.

    Eq. (pump) of docs/method.md.
    """
    change = deviation_program(program, values)
    vertex = solve_relaxation(change.program, np.ones(len(change.sign)), limit)
    if not len(vertex.values):
        return vertex.values, vertex.deterministic_time
    return change.values_at(vertex.values), vertex.deterministic_time
