"""The solution of an integer program that deviates least, in total, from given values.

See *repair* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.model.program import IntegerProgram, deviation_program
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Status, maximize


@dataclass(frozen=True)
class Repair:
    """A solution near given values.

    Attributes:
        values: A solution; empty without one.
        is_infeasible: Whether there is none, by two engines. Without values and proof it is
            undecided.
    """

    values: IntArray
    is_infeasible: bool


def min_l1_repair(program: IntegerProgram, values: IntArray, effort: Effort) -> Repair:
    """The solution with the least ``Σ |x - values|``, or a near one if the effort ends before.

    Args:
        values: A value for each variable; they need not be a solution.
        effort: How hard to try.

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
