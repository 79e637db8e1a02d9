"""Exact feasibility intervals: the least and most people in each histogram cell.

Each solve asks for a solution that reaches as many open ends as possible. Ends that are reached
are exact; when none can be, all of them move in by one, and two engines must agree to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from recon_cli.model.components import Component
from recon_cli.model.grain import IntArray
from recon_cli.solve.opinion import confirm_infeasible
from recon_cli.solve.program import Effort, Status, maximize
from recon_cli.solve.question import Targets, ask_ends


@dataclass(frozen=True)
class Extremes:
    """Intervals of targets, valid in any case.

    Attributes:
        targets: With the intervals found.
        lowest: The least of each target in a known solution.
        is_exact: For each target whether both ends are reached by solutions.
        work: Deterministic seconds.
    """

    targets: Targets
    lowest: IntArray
    is_exact: npt.NDArray[np.bool_]
    work: float


def find_extremes(
    component: Component, targets: Targets, known: Sequence[IntArray], effort: Effort
) -> Extremes:
    """Tighten the intervals of targets until solutions reach both ends.

    Args:
        component: The program.
        targets: Valid intervals, such as propagation gives.
        known: Solutions of the component, at least one; different ones save solves.
        effort: Its limit is for all solves together.

    Raises:
        SolverError: Two engines disagree on an end that is never reached.
    """
    reached_by = [targets.sums @ solution for solution in known]
    lowest, highest = np.minimum.reduce(reached_by), np.maximum.reduce(reached_by)
    work = 0.0
    cells = len(component.lower)
    while True:
        at_lower, at_upper = targets.lower < lowest, targets.upper > highest
        left = effort.limit - work
        if left <= 0 or not (at_lower.any() or at_upper.any()):
            break
        question = ask_ends(component, targets, at_lower, at_upper)
        answer = maximize(question.program, question.objective, replace(effort, limit=left))
        work += answer.work
        if answer.status is Status.UNKNOWN:
            break
        reached = answer.objective + question.constant
        if reached > 0:
            values = targets.sums @ answer.values[:cells]
            lowest, highest = np.minimum(lowest, values), np.maximum(highest, values)
        elif answer.status is Status.OPTIMAL:
            confirm_infeasible(question.at_least(1))
            targets = replace(
                targets, lower=targets.lower + at_lower, upper=targets.upper - at_upper
            )
        else:
            break
    is_exact = (targets.lower == lowest) & (targets.upper == highest)
    return Extremes(targets, lowest, is_exact, work)
