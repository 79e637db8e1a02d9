"""The solution of a component that differs least from given values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.model.components import Component
from recon_cli.model.grain import IntArray
from recon_cli.model.rows import Rows
from recon_cli.solve.opinion import confirm_infeasible
from recon_cli.solve.program import Effort, Status, maximize


@dataclass(frozen=True)
class Nearest:
    """What was found.

    Attributes:
        values: A solution; empty without one.
        is_infeasible: Whether there is none, by two engines.
    """

    values: IntArray
    is_infeasible: bool


def find_nearest(component: Component, start: IntArray, effort: Effort) -> Nearest:
    """A solution near ``start``: the nearest one, if the effort is enough.

    Args:
        component: The program.
        start: A value for each cell; it need not be a solution.
        effort: How hard to try.

    Raises:
        SolverError: Two engines disagree that there is no solution, or the solver rejected the
            model or returned values that do not satisfy it.
    """
    A = component.rows.A
    base, size = A @ start, len(start)
    above, below = component.upper - start, start - component.lower
    change = Component(
        cells=np.arange(2 * size),
        rows=Rows(
            sparse.csr_array(sparse.hstack([A, -A])),
            component.rows.least - base,
            component.rows.most - base,
        ),
        lower=np.concatenate([np.maximum(-below, 0), np.maximum(-above, 0)]),
        upper=np.concatenate([np.maximum(above, 0), np.maximum(below, 0)]),
        origin=component.origin,
    )
    answer = maximize(change, np.full(2 * size, -1), effort)
    if answer.status is Status.INFEASIBLE:
        confirm_infeasible(component)
        return Nearest(answer.values, is_infeasible=True)
    if answer.status is Status.UNKNOWN:
        return Nearest(answer.values, is_infeasible=False)
    more, fewer = np.split(answer.values, 2)
    return Nearest(start + more - fewer, is_infeasible=False)
