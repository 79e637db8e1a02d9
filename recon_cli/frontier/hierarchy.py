"""Best linear estimates in a balanced hierarchy of geounits, each level measured with noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl


def hierarchy_variances(own: Sequence[float], branching: Sequence[int]) -> list[float]:
    """Variance of one count at each level after least squares: Eq. (hierarchy).

    One pass up combines each geounit with the sum of those below it, one down corrects it by
    what lies above.

    Args:
        own: Variance of each level's measurement, the whole first; infinite where none is made.
        branching: How many geounits each of the level above has; one less than levels.

    Raises:
        ValueError: The lengths do not fit, or nothing is measured at or below some level.
    """
    if len(own) != len(branching) + 1:
        raise ValueError(f"{len(own)} levels need {len(own) - 1} branchings, not {len(branching)}")
    up = [0.0] * len(own)
    for level in range(len(own) - 1, -1, -1):
        below = math.inf if level == len(own) - 1 else branching[level] * up[level + 1]
        up[level] = _combined(own[level], below)
    found = [up[0]]
    for level, b in enumerate(branching, start=1):
        above, here = found[-1], up[level]
        # of a level that is not measured, only an even share of what lies above is known
        found.append(math.inf if math.isinf(here) else here * (1 - 1 / b) + above / b**2)
    return found


def level_variances(
    epsilon: float, shares: Sequence[float], sensitivity: float = 1.0
) -> list[float]:
    """Variances of one Laplace count at each level: 2(Δ/ε_l)², infinite where the share is 0."""
    return [
        math.inf if share == 0 else 2 * (sensitivity / (epsilon * share)) ** 2 for share in shares
    ]


def hierarchy_errors(branching: Sequence[int], epsilons: Sequence[float]) -> pl.DataFrame:
    """Errors of one count at each level after least squares, for three ways to spend ε.

    Args:
        branching: As for `hierarchy_variances`.
        epsilons: Of all levels together; Laplace noise, sensitivity 1.

    Returns:
        ``budget`` (``finest``: all at the finest level; ``even``; ``not finest``: even over the
        others), ``depth`` (0 is the whole), ``epsilon`` and ``rmse``, null where nothing is known.
    """
    levels = len(branching) + 1
    budgets = {
        "finest": [0.0] * (levels - 1) + [1.0],
        "even": [1 / levels] * levels,
        "not finest": [1 / max(levels - 1, 1)] * (levels - 1) + [0.0],
    }
    rows = [
        (budget, depth, epsilon, None if math.isinf(variance) else math.sqrt(variance))
        for budget, shares in budgets.items()
        if any(shares)
        for epsilon in epsilons
        for depth, variance in enumerate(
            hierarchy_variances(level_variances(epsilon, shares), branching)
        )
    ]
    return pl.DataFrame(rows, schema=["budget", "depth", "epsilon", "rmse"], orient="row")


def _combined(one: float, other: float) -> float:
    precision = 1 / one + 1 / other
    return math.inf if precision == 0 else 1 / precision
