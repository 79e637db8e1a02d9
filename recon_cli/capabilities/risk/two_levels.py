"""Evidence of a second level: the noisy count of the geounit above, and those of the siblings.

The siblings are the m other geounits in the one above; S is their true total, and ``s`` the sum of
their noisy counts. The density of ``s`` is approximated by one discrete Gaussian of m times the
variance: total variation 1e-15 at ρ₁ = 0.1, 6e-4 at 1.

Every prior on S gives *evidence*, a term added to the log-odds of one level.

The published sampler's limit is computed without sampling. The sampler draws the geounit's count
given the upper count, and the upper count given the geounit's. The first draw ignores that the
upper count is at least the lower, so the draws do not belong to one model, and the limit is not the
posterior of the stated model. It serves for comparison, and is never a default.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, gammaln, logsumexp

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.measurements.density import reach
from recon_cli.capabilities.risk.log_odds import log_odds, require_positive

#: Below this precision a sum over all integers is an integral to 1e-16, wherever its centre is.
_SMOOTH = 0.25


@dataclass(frozen=True)
class TwoLevels:
    """Budgets of a geounit and the one above it.

    Attributes:
        rho1: ρ of each geounit's count, for sensitivity 1.
        rho2: ρ of the count of the geounit above.
        m: Siblings: other geounits in the one above, at least 1.

    Raises:
        ValueError: A number is out of range.
    """

    rho1: float
    rho2: float
    m: int

    def __post_init__(self) -> None:
        require_positive("rho", self.rho1)
        require_positive("rho of the upper level", self.rho2)
        if self.m < 1:
            raise ValueError(f"siblings: at least 1 is expected, found {self.m}")

    @property
    def rho_s(self) -> float:
        """Return ρ of the siblings' sum: ρ₁/m."""
        return self.rho1 / self.m

    @property
    def rho_both(self) -> float:
        """Return ρ′ = ρ₂ + ρ₁/m, the precision of S given both sums."""
        return self.rho2 + self.rho_s


class SiblingPrior(Protocol):
    """A prior on the siblings' true count."""

    def evidence(self, d2: IntArray, s: IntArray, levels: TwoLevels) -> FloatArray:
        """Return the evidence of the upper level and the siblings.

        Args:
            d2: Noisy count above, less the others known to be in the geounit's cell.
            s: Sum of the siblings' noisy counts; broadcasts with ``d2``.
        """


@dataclass(frozen=True)
class Flat:
    """The flat prior: every S ≥ 0 equally likely."""

    def evidence(self, d2: IntArray, s: IntArray, levels: TwoLevels) -> FloatArray:
        """Return κ(2(d₂ − s) − 1) + ln Θ(μ₁) − ln Θ(μ₀). Eq. (twolevels)."""
        d2, s = np.broadcast_arrays(d2, s)
        precision = levels.rho_both
        kappa = levels.rho2 * levels.rho_s / precision
        above = np.asarray(kappa * (2 * (d2 - s).astype(np.float64) - 1))
        centre = np.asarray((levels.rho2 * d2 + levels.rho_s * s) / precision)
        shift = levels.rho2 / precision
        near = np.ones(centre.shape, dtype=np.bool_)
        if precision <= _SMOOTH:  # Θ is the same wherever zero is far
            near = centre - shift < reach(precision)
        above[near] += _over_box(levels, d2[near], s[near])
        return above


@dataclass(frozen=True)
class Uniform:
    """The uniform prior on S from 0 to ``top``."""

    top: int

    def __post_init__(self) -> None:
        if self.top < 0:
            raise ValueError(f"uniform: a number from 0 is expected, found {self.top}")

    def evidence(self, d2: IntArray, s: IntArray, levels: TwoLevels) -> FloatArray:
        """Return the evidence of the prior: ln h₁ − ln h₀. Eq. (prior)."""
        return prior_evidence(d2, s, levels, self.log_weights(self.top))

    def log_weights(self, most: int) -> FloatArray:  # noqa: ARG002 - it has an end of its own
        return np.zeros(self.top + 1)


@dataclass(frozen=True)
class Poisson:
    """A Poisson prior on S."""

    mean: float

    def __post_init__(self) -> None:
        require_positive("poisson", self.mean)

    def evidence(self, d2: IntArray, s: IntArray, levels: TwoLevels) -> FloatArray:
        """Return the evidence of the prior: ln h₁ − ln h₀. Eq. (prior)."""
        most = max(int(np.max(d2, initial=0)), int(np.max(s, initial=0)), math.ceil(self.mean))
        return prior_evidence(d2, s, levels, self.log_weights(most + reach(levels.rho_both)))

    def log_weights(self, most: int) -> FloatArray:
        """Return log-probabilities of 0, 1, … up to a constant; none is likely beyond ``most``."""
        counts = np.arange(most + int(12 * np.sqrt(self.mean)) + 1, dtype=np.float64)
        weights: FloatArray = counts * np.log(self.mean) - gammaln(counts + 1)
        return weights


def two_level(
    d1: IntArray,
    d2: IntArray,
    s: IntArray,
    levels: TwoLevels,
    p: float,
    *,
    prior: SiblingPrior | None = None,
) -> FloatArray:
    """Compute exact log-odds that the target is in, from two levels. Eq. (twolevels).

    Args:
        d1: Noisy count less the others known to be in the cell.
        d2: Noisy count of the geounit above, less the same number.
        s: Sum of the siblings' noisy counts.
        p: Prior of the target, above 0 and below 1.
        prior: On the siblings' true count; default `Flat`.

    Raises:
        ValueError: A number is out of range.
    """
    return log_odds(d1, levels.rho1, p) + (prior or Flat()).evidence(d2, s, levels)


def prior_evidence(
    d2: IntArray, s: IntArray, levels: TwoLevels, log_prior: FloatArray
) -> FloatArray:
    """Compute the evidence of any prior on S: ln h₁ − ln h₀. Eq. (prior).

    Args:
        d2: Noisy count above, less the others known.
        s: Sum of the siblings' noisy counts; broadcasts with ``d2``.
        log_prior: (K + 1,) log-probabilities of S = 0, …, K, up to a constant.
    """
    d2, s = np.broadcast_arrays(d2, s)
    siblings = np.arange(len(log_prior))
    from_siblings = log_prior - levels.rho_s * (s[..., None] - siblings) ** 2
    h0, h1 = (
        logsumexp(from_siblings - levels.rho2 * (d2[..., None] - c - siblings) ** 2, axis=-1)
        for c in (0, 1)
    )
    difference: FloatArray = np.asarray(h1 - h0)
    return difference


def known_upper_evidence(b: IntArray, s: IntArray, levels: TwoLevels) -> FloatArray:
    """Compute the siblings' evidence for a known count above: ρₛ(2(B − s) − 1). Eq. (known).

    Args:
        b: True count above, less the others known to be in the geounit's cell.
        s: Sum of the siblings' noisy counts.
    """
    difference = np.asarray(b, dtype=np.float64) - s
    return levels.rho_s * (2 * difference - 1)


def known_siblings_evidence(d2: IntArray, siblings: IntArray, rho2: float) -> FloatArray:
    """Compute the upper level's evidence for an adversary who knows S. Eq. (strongest).

    Args:
        d2: Noisy count above, less the others known to be in the geounit's cell.
        siblings: S.
        rho2: ρ of the upper count.
    """
    return rho2 * (2 * (np.asarray(d2, dtype=np.float64) - siblings) - 1)


def _over_box(levels: TwoLevels, d2: IntArray, s: IntArray) -> FloatArray:
    """Compute the information in S ≥ 0, once for each pair in the range if these are fewer."""

    def information(d2: IntArray, s: IntArray) -> FloatArray:
        centre = np.asarray((levels.rho2 * d2 + levels.rho_s * s) / levels.rho_both)
        shift = levels.rho2 / levels.rho_both
        return log_theta(centre - shift, levels.rho_both) - log_theta(centre, levels.rho_both)

    if d2.size == 0:
        return np.zeros(d2.shape)
    low2, low = int(d2.min()), int(s.min())
    height, width = int(d2.max()) - low2 + 1, int(s.max()) - low + 1
    if height * width > d2.size:
        return information(d2, s)
    table = information(np.arange(low2, low2 + height)[:, None], np.arange(low, low + width))
    found: FloatArray = table.ravel().take((d2 - low2) * width + (s - low))
    return found


def log_theta(mu: FloatArray, rho: float) -> FloatArray:
    """Compute the logarithm of Θ(μ) = Σ exp(−ρ(S − μ)²) over the integers S ≥ 0. Eq. (theta).

    Only terms above e^−36 of the greatest are summed.
    """
    width = reach(rho)
    nearest = np.maximum(np.rint(mu), 0)
    first = np.maximum(nearest - width, 0)
    greatest = (nearest - mu) ** 2
    total = np.zeros_like(mu)
    for step in range(2 * width + 1):
        total += np.exp(-rho * ((first + step - mu) ** 2 - greatest))
    logs: FloatArray = np.log(total) - rho * greatest
    return logs


def published_log_odds(
    d1: IntArray, d2: IntArray, s: IntArray, levels: TwoLevels, p: float
) -> FloatArray:
    """Compute log-odds that the target is in, in the sampler's limit. Eq. (sampler).

    Args:
        d1: Noisy count less the others known to be in the cell; all broadcast.
        d2: Noisy count of the geounit above, less the same number.
        s: Sum of the siblings' noisy counts.
        p: Prior.

    Raises:
        ValueError: ``p`` is not above 0 and below 1.
    """
    _, laws, stay = _transitions(d1, d2, s, levels, p)
    enter, leave = np.sum(laws[0] * stay, axis=-1), np.sum(laws[1] * (1 - stay), axis=-1)
    odds: FloatArray = np.log(enter) - np.log(leave)
    return odds


def published_upper_law(
    d1: int, d2: int, s: int, levels: TwoLevels, p: float
) -> tuple[IntArray, FloatArray]:
    """Return the sampler's law of the upper count less the known others: values, probabilities."""
    point = np.asarray(d1), np.asarray(d2), np.asarray(s)
    counts, laws, _ = _transitions(*point, levels, p)
    inside = float(expit(published_log_odds(*point, levels, p)))
    return counts, (1 - inside) * laws[0] + inside * laws[1]


def _transitions(
    d1: IntArray, d2: IntArray, s: IntArray, levels: TwoLevels, p: float
) -> tuple[IntArray, tuple[FloatArray, FloatArray], FloatArray]:
    """Return upper counts; their laws given out and in; probability of in given each."""
    d1, d2, s = (each[..., None] for each in np.broadcast_arrays(d1, d2, s))
    width = reach(levels.rho_both)
    centre = (levels.rho2 * d2 + levels.rho_s * s) / levels.rho_both
    first = np.maximum(np.rint(centre).astype(np.int64) - width, 0)
    counts = first + np.arange(2 * width + 2)
    laws = []
    for c in (0, 1):
        weight = -levels.rho2 * (d2 - counts) ** 2 - levels.rho_s * (s - counts + c) ** 2
        weight = np.where(counts >= c, weight, -np.inf)
        law = np.exp(weight - weight.max(axis=-1, keepdims=True))
        laws.append(law / law.sum(axis=-1, keepdims=True))
    beside = levels.rho_s * (2 * (counts - s) - 1)
    inside: FloatArray = expit(log_odds(d1, levels.rho1, p) + beside)
    return counts, (laws[0], laws[1]), inside
