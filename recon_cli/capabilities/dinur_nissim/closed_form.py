"""Share of bits that random subset sums determine: limits for many bits, and bounds.

n bits, m sums of a fair random half of them, noise of standard deviation σ on each. Equations
without a source are our own; they describe box least squares, and are tested against it.

See *subset sum* in docs/glossary.md.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq, minimize_scalar, root
from scipy.special import gammaln, ndtr
from scipy.stats import binom

from recon_cli.arrays import FloatArray

#: Normal variables of the integrals in `below_half`, and their mass.
_GRID = np.linspace(-9, 9, 3601)
_MASS = np.exp(-(_GRID**2) / 2)
_MASS /= _MASS.sum()
#: Entropy of Laplace noise below that of normal noise of its variance, in bits.
LAPLACE_BITS = math.log2(math.sqrt(2 * math.pi * math.e)) - math.log2(math.sqrt(2) * math.e)


def unique_probability(bits: int, queries: int) -> float:
    """Return the probability that exact sums leave one point of the cube: Eq. (unique_cube).

    Source: Wendel, A problem in geometric probability (1962).

    >>> unique_probability(bits=2, queries=4)
    1.0
    """
    return float(binom.cdf(queries - 1, bits - 1, 0.5))


def exact_share(bits: int, queries: int) -> float:
    """Return the share of bits right without noise, nearest the centre: Eq. (below).

    The share is 1 if the solution is unique; else it is the limit for many bits, which is vertical
    at one half and therefore evaluated one query below. Both are weighted by their probabilities.

    Raises:
        ValueError: There are fewer than three bits.
    """
    unique = unique_probability(bits, queries)
    return unique + (1 - unique) * below_half(min(queries / bits, 0.5 - 1 / bits))


def below_half(ratio: float) -> float:
    """Return the share right for m/n below one half: Φ(√δ/t).

    Args:
        ratio: δ = m/n, above 0.

    Raises:
        ValueError: No solution is found for this ratio.
    """

    def conditions(point: FloatArray) -> list[float]:
        b, t = np.exp(point)
        k = b * math.sqrt(ratio) / t
        w = np.clip((k + b * _GRID) / (1 + k), -1, 1) - 1
        square, slope = float(_MASS @ w**2), float(_MASS @ (_GRID * w))
        return [t**2 - square, math.sqrt(ratio) * t - slope]

    found = root(conditions, np.log([0.5, 1.0]))
    if not found.success:
        raise ValueError(f"no share is known at {ratio:g} queries a bit")
    return float(ndtr(math.sqrt(ratio) / math.exp(found.x[1])))


def noisy_share(bits: int, queries: int, sd: float) -> float:
    """Return the share right of box least squares under normal noise: Eq. (above).

    Args:
        queries: m, above n/2.
        sd: σ, above 0.
    """
    ratio, signal = queries / bits, bits / (16 * sd**2)

    def energy(log_tau: float) -> float:
        tau = math.exp(log_tau)
        c = 2 / tau
        density = math.exp(-(c**2) / 2) / math.sqrt(2 * math.pi)
        tail = (1 + c**2) * float(ndtr(-c)) - c * density
        return tau / 2 * (ratio - 0.5) + 1 / (2 * tau * signal) + tau / 2 * tail

    found = minimize_scalar(energy, bounds=(-12, 12), method="bounded", options={"xatol": 1e-10})
    return float(ndtr(math.exp(-found.x)))


def small_noise_share(bits: int, queries: int, sd: float) -> float:
    """Return the limit of `noisy_share` for little noise, Φ(√(m − n/2)/4σ): Eq. (smallnoise)."""
    return float(ndtr(math.sqrt(max(queries - bits / 2, 0)) / (4 * sd)))


def sum_accuracy(bits: int, epsilon: float) -> float:
    """Return the mean of 1 − |S̃ − S|/S for a sum S with rounded Laplace noise: Eq. (onesum)."""
    k = np.arange(1, bits + 1)
    inverse = float(binom.pmf(k, bits, 0.5) @ (1 / k)) / (1 - 0.5**bits)
    return 1 - inverse / (2 * math.sinh(epsilon / 2))


def any_attacker_gaussian(queries: int, sd: float) -> float:
    """Bound the share right of an attacker who knows all other bits, normal noise: Φ(√(m/2)/2σ).

    >>> round(any_attacker_gaussian(queries=8, sd=1.0), 3)
    0.841
    """
    return float(ndtr(math.sqrt(queries / 2) / (2 * sd)))


def fano_share(bits: int, information: float) -> float:
    """Bound the mean share right for this many bits of information: Eq. (fano).

    h₂(1 − f) ≥ 1 − I/n, h₂ the binary entropy.
    """
    left = 1 - min(information, bits) / bits
    if left <= 0:
        return 1.0
    if left >= 1:
        return 0.5

    def gap(f: float) -> float:
        return -f * math.log2(f) - (1 - f) * math.log2(1 - f) - left

    return float(brentq(gap, 0.5, 1 - 1e-15))


def sum_entropy(bits: int) -> float:
    """Compute the exact entropy of a sum of fair bits, in bits: Table A-6.

    >>> round(sum_entropy(1), 6)
    1.0
    """
    k = np.arange(bits + 1)
    log_mass = gammaln(bits + 1) - gammaln(k + 1) - gammaln(bits - k + 1) - bits * math.log(2)
    return float(-(np.exp(log_mass) @ log_mass) / math.log(2))


def normal_queries(bits: int) -> int:
    """Count the shifts of an m-sequence whose exact sums, if normal, would carry this many bits.

    The least r of Eq. (shifts). Source: JASON (JSR-19-2F), A.5.

    >>> normal_queries(127)
    36
    """
    each = math.log2(math.pi * math.e * (bits + 1) / 8) / 2
    queries = 1
    while queries * each + math.log2(queries + 1) / 2 < bits:
        queries += 1
    return queries
