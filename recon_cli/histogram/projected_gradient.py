"""Accelerated projected gradient descent, for least squares over histograms.

Source: Beck & Teboulle (2009), FISTA; restarts: O'Donoghue & Candès (2015), gradient scheme.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recon_cli.arrays import FloatArray


@dataclass(frozen=True)
class StoppingRule:
    """When the descent ends.

    Attributes:
        steps: At most.
        tolerance: In people: no entry moves further in a step.
    """

    steps: int = 3000
    tolerance: float = 0.0005


def descend(
    start: FloatArray,
    step: FloatArray,
    gradient: Callable[[FloatArray], FloatArray],
    project: Callable[[FloatArray], FloatArray],
    rule: StoppingRule,
) -> FloatArray:
    """The point that the descent ends at.

    Args:
        start: Where it begins; allowed or not.
        step: Broadcasts against ``start``: no longer than one over the curvature of each entry.
        gradient: Of the objective at a point.
        project: The nearest allowed point, in the norm that ``step`` gives.
        rule: When it ends.
    """
    found = project(start)
    ahead = found.copy()
    momentum, curvature = 1.0, 1 / step
    for _ in range(rule.steps):
        latest = gradient(ahead)
        latest *= -step
        latest += ahead
        latest = project(latest)
        moved = latest - found
        ahead -= latest
        ahead *= curvature
        if np.vdot(ahead, moved) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved * ((momentum - 1) / following)
        ahead += latest
        found, momentum = latest, following
        if max(moved.max(initial=0), -moved.min(initial=0)) < rule.tolerance:
            break
    return found
