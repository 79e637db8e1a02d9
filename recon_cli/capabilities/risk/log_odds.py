"""Log-odds of a target from one noisy count, or any number of levels by recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.measurements.density import reach

Numbers = npt.NDArray[np.float64] | npt.NDArray[np.int64]
#: Log-odds nearer to 0 than this are a tie.
TIE: Final = 1e-9
#: Log-probabilities, up to a constant, of siblings' counts.
LogPrior = Callable[[IntArray], FloatArray]


def log_odds(d: Numbers | float, rho: float, p: float) -> FloatArray:
    """Compute log-odds that the target is in, from one noisy count. Eq. (onelevel).

    Args:
        d: Noisy count less the number of others known to be in the cell; any shape.
        rho: ρ of the count, for sensitivity 1.
        p: Prior, above 0 and below 1.

    Raises:
        ValueError: ``rho`` or ``p`` is out of range.
    """
    return logit(p) + evidence(d, rho)


def evidence(d: Numbers | float, rho: float) -> FloatArray:
    """Return the log-odds that a noisy count adds: ρ(2d − 1).

    Raises:
        ValueError: ``rho`` is not above 0.

    >>> evidence(np.array([1]), 0.1).round(3).tolist()
    [0.1]
    """
    require_positive("rho", rho)
    return rho * (2 * np.asarray(d, dtype=np.float64) - 1)


def unique_log_odds(d: Sequence[Numbers | float], rho: Sequence[float], p: float) -> FloatArray:
    """Compute log-odds for a target alone in the cell on several levels. Eq. (unique).

    Args:
        d: Noisy count of each level, less the others known there.
        rho: ρ of each level.
        p: Prior.

    Raises:
        ValueError: Different numbers of levels, or a number out of range.
    """
    total: FloatArray = np.asarray(logit(p))
    for level_d, level_rho in zip(d, rho, strict=True):
        total = total + evidence(level_d, level_rho)
    return total


def posterior(odds: FloatArray) -> FloatArray:
    """Convert log-odds to probabilities.

    >>> posterior(np.array([0.0])).tolist()
    [0.5]
    """
    probabilities: FloatArray = expit(odds)
    return probabilities


def logit(p: float) -> float:
    """Return log-odds of a prior.

    Raises:
        ValueError: ``p`` is not above 0 and below 1.

    >>> logit(0.5)
    0.0
    """
    if not 0 < p < 1:
        raise ValueError(f"prior: a number above 0 and below 1 is expected, found {p:g}")
    return float(np.log(p) - np.log1p(-p))


def require_positive(name: str, value: float) -> None:
    """Refuse numbers that are not above 0.

    Raises:
        ValueError: Names ``name``.
    """
    if not (value > 0 and np.isfinite(value)):
        raise ValueError(f"{name}: a number above 0 is expected, found {value:g}")


def compose(releases: Iterable[FloatArray], p: float) -> FloatArray:
    """Combine several releases, each posterior the next prior: log-odds. Eq. (composition).

    Args:
        releases: Log-odds of each release by itself, all from the prior ``p``.
        p: The prior.

    Raises:
        ValueError: ``p`` is not above 0 and below 1.

    >>> compose([np.array([0.2]), np.array([0.3])], p=0.5).round(3).tolist()
    [0.5]
    """
    start = logit(p)
    total: FloatArray = np.asarray(start)
    for odds in releases:
        total = total + (odds - start)
    return total


def flat(counts: IntArray) -> FloatArray:
    """Return equal weights for all counts."""
    return np.zeros(counts.shape)


@dataclass(frozen=True)
class MeasuredLevel:
    """One level of a chain from the target's geounit to the top.

    Attributes:
        d: Noisy count less the others known to be in the lowest geounit's cell.
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
    """Compute log-odds that the target is in, from a chain of levels. Eq. (chain).

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
    """Return the counts of each level that matter; 0 and 1 at the lowest.

    Every level below and at a place, with the siblings between, estimates the count there; where
    the estimates differ, the likely counts lie between them.
    """
    windows = [np.array([0, 1])]
    estimates, precision = [0, 1], min(level.rho / max(level.m, 1) for level in levels)
    width = reach(precision)
    for below, level in pairwise(levels):
        estimates = [each + below.s for each in estimates] + [level.d]
        low = max(min(estimates) - width, 0)
        windows.append(np.arange(low, max(*estimates, 0) + width + 2))
    return windows
