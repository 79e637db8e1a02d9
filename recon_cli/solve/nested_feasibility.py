"""A solution of a program whose rows nest: block by block, each as near as can be to those before.

Districts are solved alone, with all others anywhere within their bounds. What the region needs
besides is a small change of its districts: a vertex of least change is nearly always whole, and
the simplex begins where few rows fail.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.model.program import IntegerProgram, deviation_program
from recon_cli.solve.feasibility import (
    ROUNDING,
    Feasibility,
    ProgramSolution,
    solve_program,
)
from recon_cli.solve.linear_relaxation import solve_relaxation
from recon_cli.solve.near_vertices import BlockView

#: Vertices after which a block is left to the next level.
_ROUNDS = 24


def solve_nested(
    program: IntegerProgram, levels: Sequence[Sequence[IntArray]], seed: int
) -> ProgramSolution:
    """Find any solution of ``program``, as `recon_cli.solve.feasibility.solve_program` does.

    Args:
        levels: From fine to coarse, the blocks of each level, each its variables, rising.
        seed: Of random costs.
    """
    values, elapsed = program.lower.copy(), 0.0
    random, view = np.random.default_rng(seed), BlockView.of(program)
    # Units alone are put together from nothing as quickly with the district around them.
    for blocks in levels[1:] or levels:
        for columns in blocks:
            values[columns], seconds = _near(view.relaxed(columns), values[columns], random)
            elapsed += seconds
    if program.is_feasible(values):
        return ProgramSolution(Feasibility.SOLVED, values, elapsed)
    return solve_program(program, seed)


def _near(
    part: IntegerProgram, values: IntArray, random: np.random.Generator
) -> tuple[IntArray, float]:
    """A solution near some values, or what rounding comes to; and the seconds."""
    elapsed = 0.0
    for amplitude in range(1, _ROUNDS + 1):
        if part.is_feasible(values):
            break
        changes = deviation_program(part, values)
        # Costs that differ ever more: rounding may lead in a circle from which little noise is
        # no way out.
        cost = 1 + amplitude * random.random(len(changes.sign))
        vertex = solve_relaxation(changes.program, cost, ROUNDING)
        elapsed += vertex.deterministic_time
        if not len(vertex.values):
            break
        values = changes.values_at(np.rint(vertex.values).astype(np.int64))
    return values, elapsed
