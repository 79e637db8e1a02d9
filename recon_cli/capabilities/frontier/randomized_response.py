"""Randomized response: privacy loss, variance, accuracy and its price.

Person i has a sensitive bit (share π, to be estimated) and an innocuous one (share μ, known,
independent). With probability ρ the first is published, else the second.

See *randomized response* in docs/glossary.md.
"""

from __future__ import annotations

import math


def privacy_loss(rho: float, mu: float = 0.5) -> float:
    """Return ε of one answer: Eq. (rrloss).

    Source: Abowd & Schmutte, Eq. (B-2), (B-3).

    >>> round(privacy_loss(0.5), 3), round(privacy_loss(0.5, 0.25), 3)
    (1.099, 1.609)
    """
    _check(rho, mu)
    odds = rho / (1 - rho)
    return math.log1p(odds / min(mu, 1 - mu))


def truthful_share(epsilon: float, mu: float = 0.5) -> float:
    """Return ρ for a privacy loss of ε, the inverse of `privacy_loss`.

    >>> round(privacy_loss(truthful_share(1.3, 0.2), 0.2), 12)
    1.3
    """
    if not epsilon > 0:
        raise ValueError(f"epsilon: a number above 0 is expected, found {epsilon:g}")
    k = min(mu, 1 - mu) * math.expm1(epsilon)
    return k / (1 + k)


def estimate(mean: float, rho: float, mu: float = 0.5) -> float:
    """Estimate π from the mean of the published answers: unbiased, possibly outside 0 to 1.

    >>> round(estimate(0.5, rho=0.5, mu=0.5), 3)
    0.5
    """
    _check(rho, mu)
    return (mean - mu * (1 - rho)) / rho


def variance(rho: float, share: float, people: int, mu: float = 0.5) -> float:
    """Return the variance of `estimate`: Eq. (rrvariance).

    Args:
        rho: Probability that the sensitive answer is published.
        people: N.
        mu: Share of the innocuous bit.
    """
    p = rho * (share - mu) + mu
    return p * (1 - p) / (rho**2 * people)


def response_accuracy(epsilon: float, share: float, people: int, mu: float = 0.5) -> float:
    """Return I = Var(ρ = 1) − Var(ρ) at privacy loss ε, for shares π and μ: Eq. (rrprior)."""
    rho = truthful_share(epsilon, mu)
    return variance(1.0, share, people, mu) - variance(rho, share, people, mu)


def _check(rho: float, mu: float) -> None:
    if not (0 < rho < 1 and 0 < mu < 1):
        raise ValueError(f"rho and mu above 0 and below 1 are expected, found {rho:g}, {mu:g}")
