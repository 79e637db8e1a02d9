"""Bits in the records of a geounit, and bits of them that noisy or exact counts carry.

The prior over histogram cells is that of somebody who knows only sums over the whole release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.model.grain import Grain, enumerate_domain, group_rows
from recon_cli.model.predicates import Masks
from recon_cli.schema import Release

_LOG_2 = float(np.log(2))
#: Probabilities below it do not move the sum.
_NEGLIGIBLE = 1e-15
#: Steps of the search for a standard deviation: two thousandths of a per cent.
_BISECTIONS = 60
#: Turns of proportional fitting.
_TURNS = 200
#: The largest relative change of a turn that counts as none.
_SETTLED = 1e-6


def records_entropy(people: int, p: FloatArray) -> float:
    """Compute the entropy of unordered records of people drawn independently: Eq. (recordbits).

    −log₂N! − NΣp·log₂p + ΣE log₂X!, X of each histogram cell binomial.

    Args:
        people: N.
        p: (histogram cells,) probabilities.

    >>> round(records_entropy(1, np.array([0.5, 0.5])), 6)
    1.0
    """
    p = p[p > 0]
    plain = -people * float(p @ np.log(p)) - float(gammaln(people + 1))
    # a histogram cell certain to hold everybody has no second term to vary
    odds = p / np.maximum(1 - p, _NEGLIGIBLE)
    log_pmf = people * np.log1p(-np.minimum(p, 1 - _NEGLIGIBLE))
    shared = 0.0
    top = people * float(p.max())
    for x in range(1, people + 1):
        log_pmf = log_pmf + np.log(odds * (people - x + 1) / x)
        pmf = np.exp(log_pmf)
        shared += float(pmf.sum()) * float(gammaln(x + 1))
        if x > top and float(pmf.max()) * x < _NEGLIGIBLE:
            break
    return max(0.0, (plain + shared) / _LOG_2)


def count_covariance(A: sparse.csr_array, p: FloatArray) -> FloatArray:
    """Compute the (rows × rows) covariance of one person's contributions: A(diag p − ppᵀ)Aᵀ."""
    mean = A @ p
    covariance: FloatArray = (A.multiply(p[None, :]) @ A.T).toarray() - np.outer(mean, mean)
    return covariance


def eigenvalues(covariance: FloatArray) -> FloatArray:
    """Return the eigenvalues of `count_covariance` that exceed rounding errors.

    >>> eigenvalues(np.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [1.0]
    """
    found = np.linalg.eigvalsh(covariance).astype(np.float64)
    return found[found > 1e-10 * max(float(found.max(initial=0)), 1e-300)]


def noisy_bits(people: IntArray, values: FloatArray, sd: float) -> FloatArray:
    """Bound the bits that counts with Gaussian noise carry: Eq. (noisybits), by geounit.

    Args:
        people: (geounits,) numbers of people.
        values: Eigenvalues of one person's covariance.
        sd: Standard deviation of the noise of each count.
    """
    sizes, place = np.unique(people, return_inverse=True)
    bits = np.log1p(np.outer(sizes, values) / sd**2).sum(axis=1) / (2 * _LOG_2)
    found: FloatArray = bits[place]
    return found


def exact_bits(people: IntArray, covariance: FloatArray) -> FloatArray:
    """Bound the bits that exact, independent counts carry: Eq. (exactbits), by geounit.

    Source: Massey, On the entropy of integer-valued random variables (1988).

    Args:
        people: (geounits,) numbers of people.
        covariance: `count_covariance` of independent rows.
    """
    sizes, place = np.unique(people, return_inverse=True)
    values = np.clip(np.linalg.eigvalsh(covariance), 0, None)
    scaled = 2 * math.pi * math.e * (np.outer(sizes, values) + 1 / 12)
    bits = np.log(scaled).sum(axis=1) / (2 * _LOG_2)
    found: FloatArray = np.where(sizes > 0, np.maximum(bits, 0), 0)[place]
    return found


def noise_for(bits: Callable[[float], float], target: float) -> float:
    """Find the least standard deviation at which decreasing ``bits`` is at most ``target``.

    Raises:
        ValueError: No standard deviation up to a million is enough.
    """
    low, high = 1e-3, 1e6
    if bits(low) <= target:
        return 0.0
    if bits(high) > target:
        raise ValueError(f"more than {target:g} bits get through noise of any size")
    for _ in range(_BISECTIONS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if bits(middle) <= target else (middle, high)
    return high


@dataclass(frozen=True)
class MarginShare:
    """A margin's share of all people.

    Attributes:
        share: From 0 to 1.
    """

    masks: Masks
    share: float


def fit_prior(release: Release, grain: Grain, margins: Sequence[MarginShare]) -> FloatArray:
    """Compute the maximum-entropy distribution with given margins: (histogram cells,).

    Proportional fitting, one set of disjoint margins at a time. Margins that contradict each other
    (sums of protected counts) are matched as closely as the last iteration does.

    Source: Deming & Stephan (1940); Csiszár (1975), Theorem 3.2.

    Args:
        grain: Resolves all margins.
        margins: Margins of the whole release.
    """
    domain = enumerate_domain(grain.sizes)
    rows = [margin.masks for margin in margins]
    share = np.array([margin.share for margin in margins])
    layers = [
        layer[group.codes(domain)]
        for group in group_rows(grain, release.full, rows, [None] * len(rows))
        for layer in group.layers
    ]
    p = np.full(len(domain), 1 / len(domain))
    for _ in range(_TURNS):
        before = p.copy()
        for row in layers:
            inside = row >= 0
            sums = np.bincount(row[inside], weights=p[inside], minlength=len(share))
            factor = np.divide(share, sums, out=np.zeros(len(share)), where=sums > 0)
            p[inside] *= factor[row[inside]]
        p /= p.sum()
        if np.abs(p - before).max() <= _SETTLED * p.max():
            break
    return p
