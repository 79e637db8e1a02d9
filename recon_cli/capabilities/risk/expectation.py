"""Risk before a release: expectations over the noise, by enumeration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.measurements.density import NEGLIGIBLE, discrete_gaussian, reach
from recon_cli.capabilities.risk.log_odds import TIE, log_odds, posterior, require_positive
from recon_cli.capabilities.risk.two_levels import (
    SiblingPrior,
    TwoLevels,
    known_siblings_evidence,
    known_upper_evidence,
    published_log_odds,
)

#: Joint values of the noises whose log-odds are in memory at a time, and the most in all.
_AT_ONCE: Final = 1_000_000
_MOST: Final = 1e9


@dataclass(frozen=True)
class ExpectedRisk:
    """The expected belief of an adversary.

    Attributes:
        prior: Before the release.
        posterior: Expected probability that the target is in.
        correct: Probability that the decision is right: "in" if the posterior is above ½.
        tied: Probability that it is exactly ½; a tie is decided as "out".
    """

    prior: float
    posterior: float
    correct: float
    tied: float

    @property
    def ratio(self) -> float:
        """Return posterior over prior; no odds ratio, and at most 1/prior."""
        return self.posterior / self.prior


def expected(rho: float, p: float, *, truth: bool = True) -> ExpectedRisk:
    """Compute the risk of one noisy count. Eq. (expected).

    For a target who is unique on several levels ``rho`` is the sum of theirs.

    Args:
        rho: ρ of the count, for sensitivity 1.
        p: Prior.
        truth: True if the target is in.

    Raises:
        ValueError: ``rho`` or ``p`` is out of range.

    >>> round(expected(0.1, 0.5).posterior, 3)
    0.524
    """
    require_positive("rho", rho)
    _require_few(rho)
    noise = discrete_gaussian(rho)
    return summarize(log_odds(noise.values + truth, rho, p), noise.p, p, truth=truth)


def expected_two_level(
    levels: TwoLevels, p: float, siblings: int, prior: SiblingPrior, *, truth: bool = True
) -> ExpectedRisk:
    """Compute the risk of two levels with ``siblings`` as the unknown true count of the siblings.

    Raises:
        ValueError: A number is out of range.
    """
    _require_few(levels.rho1, levels.rho2, levels.rho_s)
    d1 = discrete_gaussian(levels.rho1).values + truth
    parts = (
        (log_odds(d1, levels.rho1, p)[:, None] + prior.evidence(d2, s, levels), weights)
        for d2, s, weights in _upper_points(levels, siblings, truth=truth)
    )
    return _summed(levels.rho1, p, parts, truth=truth)


def expected_known_upper(
    levels: TwoLevels,
    p: float,
    siblings: int,
    *,
    truth: bool = True,
    believed: int | None = None,
) -> ExpectedRisk:
    """Compute the risk of two levels if the adversary knows, or assumes, the true count above.

    Args:
        p: Prior.
        siblings: The siblings' true count.
        truth: True if the target is in.
        believed: Assumed count above; default the truth.

    Raises:
        ValueError: A number is out of range.
    """
    _require_few(levels.rho1, levels.rho_s)
    noise = discrete_gaussian(levels.rho_s)
    upper = np.asarray(siblings + truth if believed is None else believed)
    added = known_upper_evidence(upper, siblings + noise.values, levels)
    return _with_evidence(levels.rho1, p, added, noise.p, truth=truth)


def expected_known_siblings(levels: TwoLevels, p: float, *, truth: bool = True) -> ExpectedRisk:
    """Compute the risk of two levels for the strongest adversary, who knows the siblings' count.

    Raises:
        ValueError: A number is out of range.
    """
    _require_few(levels.rho1, levels.rho2)
    noise = discrete_gaussian(levels.rho2)
    added = known_siblings_evidence(noise.values + truth, np.asarray(0), levels.rho2)
    return _with_evidence(levels.rho1, p, added, noise.p, truth=truth)


def expected_published_sampler(
    levels: TwoLevels, p: float, siblings: int, *, truth: bool = True
) -> ExpectedRisk:
    """Compute the risk of two levels for an adversary who believes the published sampler.

    Raises:
        ValueError: A number is out of range.
    """
    _require_few(levels.rho1, levels.rho2, levels.rho_s, levels.rho_both)
    d1 = discrete_gaussian(levels.rho1).values + truth
    parts = (
        (np.stack([published_log_odds(each, d2, s, levels, p) for each in d1]), weights)
        for d2, s, weights in _upper_points(levels, siblings, truth=truth)
    )
    return _summed(levels.rho1, p, parts, truth=truth)


def summarize(odds: FloatArray, weights: FloatArray, p: float, *, truth: bool) -> ExpectedRisk:
    """Average log-odds.

    Args:
        odds: Log-odds that the target is in, any shape.
        weights: Their probabilities, of the same shape.
        p: The prior.
        truth: True if the target is in.
    """
    tied = np.abs(odds) < TIE
    right = (odds > 0) & ~tied if truth else (odds <= 0) | tied
    return ExpectedRisk(
        prior=p,
        posterior=float(np.sum(posterior(odds) * weights)),
        correct=float(np.sum(weights, where=right)),
        tied=float(np.sum(weights, where=tied)),
    )


def _with_evidence(
    rho1: float, p: float, added: FloatArray, weights: FloatArray, *, truth: bool
) -> ExpectedRisk:
    """Average over the noise of the own count and, independent of it, the evidence from above."""
    d1, step = discrete_gaussian(rho1).values + truth, _at_once(rho1)
    own = log_odds(d1, rho1, p)[:, None]
    parts = (
        (own + added[at : at + step], weights[at : at + step]) for at in range(0, len(added), step)
    )
    return _summed(rho1, p, parts, truth=truth)


def _summed(
    rho1: float, p: float, parts: Iterable[tuple[FloatArray, FloatArray]], *, truth: bool
) -> ExpectedRisk:
    """Average over the noise of the own count, and independent parts.

    Args:
        rho1: ρ of the geounit's own count.
        p: The prior.
        parts: (values of its noise × points) log-odds, and the (points,) probabilities.
        truth: True if the target is in.
    """
    own = discrete_gaussian(rho1).p[:, None]
    sums = [summarize(odds, own * weights, p, truth=truth) for odds, weights in parts]
    return ExpectedRisk(
        prior=p,
        posterior=math.fsum(each.posterior for each in sums),
        correct=math.fsum(each.correct for each in sums),
        tied=math.fsum(each.tied for each in sums),
    )


def _upper_points(
    levels: TwoLevels, siblings: int, *, truth: bool
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Yield (n,) d2, (n,) s and their joint probabilities, in batches."""
    if siblings < 0:
        raise ValueError(f"siblings' count: a number from 0 is expected, found {siblings}")
    above, beside = discrete_gaussian(levels.rho2), discrete_gaussian(levels.rho_s)
    points, step = len(above.p) * len(beside.p), _at_once(levels.rho1)
    for at in range(0, points, step):
        i, j = np.divmod(np.arange(at, min(at + step, points)), len(beside.p))
        d2 = above.values[i] + siblings + truth
        yield d2, beside.values[j] + siblings, above.p[i] * beside.p[j]


def _at_once(rho1: float) -> int:
    """Return how many points to combine with each value of the geounit's own noise."""
    return max(_AT_ONCE // (2 * reach(rho1) + 1), 1)


def _require_few(*rhos: float) -> None:
    """Refuse noises with too many joint values for a sum over them.

    Raises:
        ValueError: Says so, and what to change.
    """
    values = math.prod(2 * math.sqrt(NEGLIGIBLE / rho) + 3 for rho in rhos)
    if values > _MOST:
        raise ValueError(
            f"the noises have {values:.1g} joint values, and at most {_MOST:.0g} can be summed; "
            "choose a greater --rho, or fewer --siblings"
        )
