"""The solution of a component that differs least from given values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recon_cli.model.components import Component, deviation_program
from recon_cli.model.grain import IntArray
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Status, maximize


@dataclass(frozen=True)
class Repair:
    """What was found.

    Attributes:
        values: A solution; empty without one.
        is_infeasible: Whether there is none, by two engines.
    """

    values: IntArray
    is_infeasible: bool


def min_l1_repair(component: Component, start: IntArray, effort: Effort) -> Repair:
    """A solution near ``start``: the nearest one, if the effort is enough.

    Args:
        component: The program.
        start: A value for each cell; it need not be a solution.
        effort: How hard to try.

    Raises:
        SolverError: Two engines disagree that there is no solution, or the solver rejected the
            model or returned values that do not satisfy it.
    """
    change, sign = deviation_program(component, start)
    answer = maximize(change, np.full(len(sign), -1), effort)
    if answer.status is Status.INFEASIBLE:
        confirm_infeasible(component)
        return Repair(answer.values, is_infeasible=True)
    if answer.status is Status.UNKNOWN:
        return Repair(answer.values, is_infeasible=False)
    values = start.copy()
    np.add.at(values, change.cells, sign * answer.values)
    return Repair(values, is_infeasible=False)
