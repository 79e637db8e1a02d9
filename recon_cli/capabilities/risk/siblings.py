"""Evidence of siblings one by one: with a prior on each, their sum is not sufficient."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.measurements.density import reach
from recon_cli.capabilities.risk.log_odds import require_positive
from recon_cli.capabilities.risk.two_levels import Poisson, Uniform


@dataclass(frozen=True)
class EachSibling:
    """A prior on the count of every sibling by itself."""

    prior: Uniform | Poisson

    def evidence(self, noisy: IntArray, above: IntArray, rho1: float, rho2: float) -> FloatArray:
        """Compute `each_sibling_evidence` with this prior; arguments as there."""
        most = int(np.max(noisy, initial=0))
        weights = self.prior.log_weights(most + reach(rho1))
        return each_sibling_evidence(noisy, above, rho1, rho2, weights)


def each_sibling_evidence(
    noisy: IntArray, above: IntArray, rho1: float, rho2: float, log_prior: FloatArray
) -> FloatArray:
    """Compute the evidence of the level above and every sibling's own count. Eq. (siblings).

    Args:
        noisy: (n,) noisy counts of all geounits of a group, at least two.
        above: (n,) the group's noisy count less the others known in each geounit's cell.
        rho2: ρ of the count above.
        log_prior: (K + 1,) or (n, K + 1) log-probabilities of a geounit's true count 0, …, K, up
            to a constant.

    Returns:
        (n,) for the target of each geounit, the others being its siblings.

    Raises:
        ValueError: A number is out of range.
    """
    require_positive("rho", rho1)
    require_positive("rho of the upper level", rho2)
    if len(noisy) < 2:
        raise ValueError("siblings: at least two geounits are expected")
    counts = np.arange(log_prior.shape[-1])
    weights = log_prior - rho1 * (np.asarray(noisy)[:, None] - counts) ** 2
    posteriors = np.exp(weights - logsumexp(weights, axis=1, keepdims=True))
    others = leave_one_out_sums(posteriors)
    siblings = np.arange(others.shape[1])
    with np.errstate(divide="ignore"):
        log_others = np.log(others)
    distance = np.asarray(above)[:, None] - siblings
    h0, h1 = (logsumexp(log_others - rho2 * (distance - c) ** 2, axis=1) for c in (0, 1))
    found: FloatArray = h1 - h0
    return found


def leave_one_out_sums(laws: FloatArray) -> FloatArray:
    """Return for each of n independent integers the law of the sum of the others.

    Convolves those before with those after: no division, and no transform, whose rounding errors
    would exceed the tails.

    Args:
        laws: (n, K + 1) probabilities of 0, …, K.

    Returns:
        (n, (n − 1)K + 1) probabilities of 0, 1, ….
    """
    nothing = np.ones(1)
    before = list(itertools.accumulate(laws[:-1], np.convolve, initial=nothing))
    after = list(itertools.accumulate(laws[:0:-1], np.convolve, initial=nothing))[::-1]
    found: FloatArray = np.stack(
        [np.convolve(one, other) for one, other in zip(before, after, strict=True)]
    )
    return found
