"""Densities of integer noise on the integers where they are not negligible.

See *discrete Gaussian* in docs/glossary.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from recon_cli.arrays import FloatArray, IntArray

#: Weights below e^−36 of the greatest are left out: 2e-16, less than a double can add to one.
NEGLIGIBLE: Final = 36.0


@dataclass(frozen=True, eq=False)
class Density:
    """Probabilities of consecutive integers.

    Attributes:
        low: The first integer.
        p: (n,) probabilities of ``low``, ``low + 1``, …; they add up to 1.
    """

    low: int
    p: FloatArray

    @property
    def values(self) -> IntArray:
        """Return the (n,) integers."""
        return np.arange(self.low, self.low + len(self.p))

    @property
    def variance(self) -> float:
        mean = float(self.p @ self.values)
        return float(self.p @ (self.values - mean) ** 2)

    def draw(self, rng: np.random.Generator, size: int) -> IntArray:
        """Draw (size,) values by inverting the distribution in doubles: not for a release."""
        ends = np.cumsum(self.p)
        return self.low + np.searchsorted(ends[:-1], rng.random(size), side="right")

    def sum_of(self, terms: int) -> Density:
        """Return the density of a sum of independent draws.

        Raises:
            ValueError: ``terms`` is below 1.
        """
        if terms < 1:
            raise ValueError(f"at least one term is expected, found {terms}")
        power, total = self, None
        while terms:
            if terms % 2:
                total = power if total is None else _convolved(total, power)
            terms //= 2
            if terms:
                power = _convolved(power, power)
        assert total is not None  # noqa: S101 - terms is positive
        return total


def reach(precision: float) -> int:
    """Return the greatest |z| with exp(−precision·z²) above e^−36, plus one."""
    return math.ceil(math.sqrt(NEGLIGIBLE / precision)) + 1


def discrete_gaussian(rho: float) -> Density:
    """Return p(z) ∝ exp(−ρz²), with variance parameter 1/(2ρ).

    Source: Canonne, Kamath & Steinke (2020), Definition 1.

    Raises:
        ValueError: ``rho`` is not above 0.

    >>> round(float(discrete_gaussian(0.1).variance), 3)
    5.0
    """
    if not rho > 0:
        raise ValueError(f"rho: a number above 0 is expected, found {rho:g}")
    top = reach(rho)
    weights = np.exp(-rho * np.arange(-top, top + 1, dtype=np.float64) ** 2)
    return Density(-top, weights / weights.sum())


def geometric(epsilon: float) -> Density:
    """Return p(z) ∝ exp(−ε|z|), the two-sided geometric (discrete Laplace) density.

    Source: Ghosh, Roughgarden & Sundararajan (2012), Definition 2.1.

    Raises:
        ValueError: ``epsilon`` is not above 0.

    >>> density = geometric(1.0)
    >>> round(float(density.variance), 3)
    1.841
    """
    if not epsilon > 0:
        raise ValueError(f"epsilon: a number above 0 is expected, found {epsilon:g}")
    top = math.ceil(NEGLIGIBLE / epsilon) + 1
    weights = np.exp(-epsilon * np.abs(np.arange(-top, top + 1, dtype=np.float64)))
    return Density(-top, weights / weights.sum())


def _convolved(one: Density, other: Density) -> Density:
    from scipy.signal import fftconvolve  # slow to load

    p = np.clip(fftconvolve(one.p, other.p), 0, None)
    return Density(one.low + other.low, p / p.sum())
