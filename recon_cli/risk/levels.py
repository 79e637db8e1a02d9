"""Any number of levels, by recursion from the top."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.noise.density import reach
from recon_cli.risk.one_level import logit, require_positive

#: Log-probabilities, up to a constant, of siblings' counts.
LogPrior = Callable[[IntArray], FloatArray]


def flat(counts: IntArray) -> FloatArray:
    """Every count alike."""
    return np.zeros(counts.shape)


@dataclass(frozen=True)
class MeasuredLevel:
    """One level of a chain from the target's geounit to the top.

    Attributes:
        d: Noisy count less the others known to be in the lowest geounit's cell.
        rho: Of each count of the level.
        s: Sum of the siblings' noisy counts; not used at the top.
        m: Siblings; 0 at the top, at least 1 below.
        prior: On the siblings' true count.

    Raises:
        ValueError: A number is out of range.
    """

    d: int
    rho: float
    s: int = 0
    m: int = 0
    prior: LogPrior = flat

    def __post_init__(self) -> None:
        require_positive("rho", self.rho)
        if self.m < 0:
            raise ValueError(f"siblings: a number from 0 is expected, found {self.m}")


def chain_log_odds(levels: Sequence[MeasuredLevel], p: float) -> float:
    """Log-odds that the target is in, from a chain of levels. Eq. (chain).

    Args:
        levels: From the target's geounit up; all but the last have siblings.
        p: Prior.

    Raises:
        ValueError: No level, or one below the top has no siblings.
    """
    if not levels:
        raise ValueError("at least one level is expected")
    if any(level.m < 1 for level in levels[:-1]):
        raise ValueError("every level below the top needs siblings")
    counts = _windows(levels)
    message = _own(levels[-1], counts[-1])
    for place in range(len(levels) - 2, -1, -1):
        level = levels[place]
        siblings = counts[place + 1][None, :] - counts[place][:, None]
        beside = -level.rho / level.m * (siblings - level.s) ** 2 + level.prior(
            np.maximum(siblings, 0)
        )
        joint = np.where(siblings >= 0, beside + message[None, :], -np.inf)
        message = _own(level, counts[place]) + logsumexp(joint, axis=1)
    return logit(p) + float(message[1] - message[0])


def _own(level: MeasuredLevel, counts: IntArray) -> FloatArray:
    distance = (counts - level.d).astype(np.float64)
    return -level.rho * distance**2


def _windows(levels: Sequence[MeasuredLevel]) -> list[IntArray]:
    """Counts of each level that matter; 0 and 1 at the lowest.

    Every level below and at a place, with the siblings between, estimates the count there; where
    the estimates differ, what is likely lies between them.
    """
    windows = [np.array([0, 1])]
    estimates, precision = [0, 1], min(level.rho / max(level.m, 1) for level in levels)
    width = reach(precision)
    for below, level in pairwise(levels):
        estimates = [each + below.s for each in estimates] + [level.d]
        low = max(min(estimates) - width, 0)
        windows.append(np.arange(low, max(*estimates, 0) + width + 2))
    return windows
