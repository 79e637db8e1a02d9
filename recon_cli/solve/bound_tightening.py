"""Exact feasibility intervals: the least and most people in each histogram cell.

Each solve asks for a solution that reaches as many open ends as possible. Ends that are reached
are exact; when none can be, all of them move in by one, and two engines must agree to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram, connected_parts, connected_subset
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Status, maximize
from recon_cli.solve.objectives import CellSums, interval_ends


@dataclass(frozen=True)
class TightenedBounds:
    """Intervals of targets, valid in any case.

    Attributes:
        targets: With the intervals found.
        lowest: The least of each target in a known solution.
        is_exact: For each target whether both ends are reached by solutions.
        work: Deterministic seconds.
    """

    targets: CellSums
    lowest: IntArray
    is_exact: npt.NDArray[np.bool_]
    work: float


def tighten_bounds(
    program: IntegerProgram, targets: CellSums, known: Sequence[IntArray], effort: Effort
) -> TightenedBounds:
    """Tighten the intervals of targets until solutions reach both ends.

    Args:
        program: The program.
        targets: Valid intervals, such as propagation gives.
        known: Solutions of the program, at least one; different ones save solves.
        effort: Its limit is for all solves together.

    Raises:
        SolverError: Two engines disagree on an end that is never reached.
    """
    reached_by = [targets.sums @ solution for solution in known]
    lowest, highest = np.minimum.reduce(reached_by), np.maximum.reduce(reached_by)
    _, part = connected_parts(program.constraints.A, targets.of_cell)
    part_of_target = targets.sums @ part // np.maximum(np.diff(targets.sums.indptr), 1)
    lower, upper = targets.lower.copy(), targets.upper.copy()
    work = 0.0
    while effort.limit > work:
        is_open = (lower < lowest) | (upper > highest)
        if not is_open.any():
            break
        # Parts without open ends are settled; the others share no row with them.
        here = np.flatnonzero(np.isin(part_of_target, part_of_target[is_open]))
        cells = np.flatnonzero(np.isin(part, part_of_target[is_open]))
        sums = sparse.csr_array(targets.sums[here][:, cells])
        low, high = lower[here] < lowest[here], upper[here] > highest[here]
        asked = CellSums(sums, lower[here], upper[here])
        question = interval_ends(connected_subset(program, cells).program, asked, low, high)
        left = replace(effort, limit=effort.limit - work)
        answer = maximize(question.program, question.objective, left)
        work += answer.work
        if answer.status is Status.UNKNOWN:
            break
        if answer.objective + question.constant > 0:
            values = sums @ answer.values[: len(cells)]
            lowest[here] = np.minimum(lowest[here], values)
            highest[here] = np.maximum(highest[here], values)
        elif answer.status is Status.OPTIMAL:
            confirm_infeasible(question.at_least(1))
            lower[here] += low
            upper[here] -= high
        else:
            break
    targets = CellSums(targets.sums, lower, upper)
    is_exact = (targets.lower == lowest) & (targets.upper == highest)
    return TightenedBounds(targets, lowest, is_exact, work)
