"""What one noisy count says about a target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from recon_cli.arrays import FloatArray

Numbers = npt.NDArray[np.float64] | npt.NDArray[np.int64]

#: Log-odds nearer to 0 than this are a tie.
TIE: Final = 1e-9


def log_odds(d: Numbers | float, rho: float, p: float) -> FloatArray:
    """Log-odds that the target is in, from one noisy count. Eq. (onelevel).

    Args:
        d: Noisy count less the number of others known to be in the cell; any shape.
        rho: Of the count, for sensitivity 1.
        p: Prior, above 0 and below 1.

    Raises:
        ValueError: ``rho`` or ``p`` is out of range.
    """
    return logit(p) + evidence(d, rho)


def evidence(d: Numbers | float, rho: float) -> FloatArray:
    """What a noisy count adds to the log-odds: ρ(2d − 1).

    Raises:
        ValueError: ``rho`` is not above 0.
    """
    require_positive("rho", rho)
    return rho * (2 * np.asarray(d, dtype=np.float64) - 1)


def unique_log_odds(d: Sequence[Numbers | float], rho: Sequence[float], p: float) -> FloatArray:
    """Log-odds for a target known to be alone in the cell on several levels. Eq. (unique).

    Args:
        d: Noisy count of each level, less the others known there.
        rho: Of each level.
        p: Prior.

    Raises:
        ValueError: Different numbers of levels, or a number out of range.
    """
    total: FloatArray = np.asarray(logit(p))
    for level_d, level_rho in zip(d, rho, strict=True):
        total = total + evidence(level_d, level_rho)
    return total


def posterior(odds: FloatArray) -> FloatArray:
    """Probabilities of log-odds."""
    probabilities: FloatArray = expit(odds)
    return probabilities


def logit(p: float) -> float:
    """Log-odds of a prior.

    Raises:
        ValueError: ``p`` is not above 0 and below 1.
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
    """Log-odds after several releases, each posterior the next prior. Eq. (composition).

    Args:
        releases: Log-odds of each release by itself, all from the prior ``p``.
        p: The prior.

    Raises:
        ValueError: ``p`` is not above 0 and below 1.
    """
    start = logit(p)
    total: FloatArray = np.asarray(start)
    for odds in releases:
        total = total + (odds - start)
    return total
