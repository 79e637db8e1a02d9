"""Risk before a release: expectations over the noise, by enumeration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recon_cli.noise.density import FloatArray, IntArray, discrete_gaussian
from recon_cli.risk.one_level import TIE, log_odds, posterior
from recon_cli.risk.published_sampler import published_log_odds
from recon_cli.risk.two_levels import (
    SiblingPrior,
    TwoLevels,
    known_siblings_evidence,
    known_upper_evidence,
)


@dataclass(frozen=True)
class ExpectedRisk:
    """What an adversary is expected to believe.

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
        """Posterior over prior; no odds ratio, and at most 1/prior."""
        return self.posterior / self.prior


def expected(rho: float, p: float, *, truth: bool = True) -> ExpectedRisk:
    """Risk of one noisy count. Eq. (expected).

    For a target who is unique on several levels ``rho`` is the sum of theirs.

    Args:
        rho: Of the count, for sensitivity 1.
        p: Prior.
        truth: Whether the target is in.

    Raises:
        ValueError: ``rho`` or ``p`` is out of range.
    """
    noise = discrete_gaussian(rho)
    return summarize(log_odds(noise.values + truth, rho, p), noise.p, p, truth=truth)


def expected_two_level(
    levels: TwoLevels, p: float, siblings: int, prior: SiblingPrior, *, truth: bool = True
) -> ExpectedRisk:
    """Risk of two levels if the siblings' true count is ``siblings``, which nobody knows.

    Raises:
        ValueError: A number is out of range.
    """
    d2, s, weights = _upper_grid(levels, siblings, truth=truth)
    return _with_evidence(levels.rho1, p, prior.evidence(d2, s, levels), weights, truth=truth)


def expected_known_upper(
    levels: TwoLevels, p: float, siblings: int, *, truth: bool = True
) -> ExpectedRisk:
    """Risk of two levels if the adversary knows the true count above.

    Raises:
        ValueError: A number is out of range.
    """
    noise = discrete_gaussian(levels.rho_s)
    upper = np.asarray(siblings + truth)
    added = known_upper_evidence(upper, siblings + noise.values, levels)
    return _with_evidence(levels.rho1, p, added, noise.p, truth=truth)


def expected_known_siblings(levels: TwoLevels, p: float, *, truth: bool = True) -> ExpectedRisk:
    """Risk of two levels for the strongest adversary, who knows the siblings' true count.

    Raises:
        ValueError: A number is out of range.
    """
    noise = discrete_gaussian(levels.rho2)
    added = known_siblings_evidence(noise.values + truth, np.asarray(0), levels.rho2)
    return _with_evidence(levels.rho1, p, added, noise.p, truth=truth)


def expected_published_sampler(
    levels: TwoLevels, p: float, siblings: int, *, truth: bool = True
) -> ExpectedRisk:
    """Risk of two levels for an adversary who believes the published sampler.

    Raises:
        ValueError: A number is out of range.
    """
    d2, s, weights = _upper_grid(levels, siblings, truth=truth)
    noise = discrete_gaussian(levels.rho1)
    odds = np.stack(
        [published_log_odds(np.asarray(d1), d2, s, levels, p) for d1 in noise.values + truth]
    )
    return summarize(odds, noise.p[:, None] * weights, p, truth=truth)


def summarize(odds: FloatArray, weights: FloatArray, p: float, *, truth: bool) -> ExpectedRisk:
    """Average log-odds.

    Args:
        odds: Log-odds that the target is in, any shape.
        weights: Their probabilities, of the same shape.
        p: The prior.
        truth: Whether the target is in.
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
    """Over the noise of the geounit's own count and, independent of it, the evidence from above."""
    noise = discrete_gaussian(rho1)
    odds = log_odds(noise.values + truth, rho1, p)[:, None] + added.ravel()
    return summarize(odds, noise.p[:, None] * weights.ravel(), p, truth=truth)


def _upper_grid(
    levels: TwoLevels, siblings: int, *, truth: bool
) -> tuple[IntArray, IntArray, FloatArray]:
    """(n,) d2, (n,) s and their joint probabilities."""
    if siblings < 0:
        raise ValueError(f"siblings' count: a number from 0 is expected, found {siblings}")
    above, beside = discrete_gaussian(levels.rho2), discrete_gaussian(levels.rho_s)
    d2, s = np.meshgrid(above.values + siblings + truth, beside.values + siblings, indexing="ij")
    return d2.ravel(), s.ravel(), np.outer(above.p, beside.p).ravel()
