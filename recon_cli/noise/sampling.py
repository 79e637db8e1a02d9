"""Exact samplers of integer noise: integers only, so that no rounding betrays a count.

Every function takes ``below``: ``below(n)`` is a uniform integer from 0 to n − 1. `seeded` gives
one for study. A release needs one that nobody can repeat, such as `secrets.randbelow`, and a
library that others have examined.

Source: Canonne, Kamath & Steinke, The Discrete Gaussian for Differential Privacy (2020),
Algorithms 1 to 3.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

Below = Callable[[int], int]


def seeded(seed: int) -> Below:
    """Uniform integers that a seed repeats: for study, not for a release."""
    return random.Random(seed).randrange  # noqa: S311 - repeatable is what is asked for


def bernoulli(p: Fraction, below: Below) -> bool:
    """True with probability p, from 0 to 1."""
    return below(p.denominator) < p.numerator


def bernoulli_exp(gamma: Fraction, below: Below) -> bool:
    """True with probability exp(−γ), γ at least 0 (Algorithm 1)."""
    for _ in range(math.floor(gamma)):
        if not _bernoulli_exp_fraction(Fraction(1), below):
            return False
    return _bernoulli_exp_fraction(gamma - math.floor(gamma), below)


def _bernoulli_exp_fraction(gamma: Fraction, below: Below) -> bool:
    """For γ from 0 to 1: the parity of the first failure among Bernoulli(γ/k), so on."""
    k = 1
    while bernoulli(gamma / k, below):
        k += 1
    return k % 2 == 1


def sample_geometric(epsilon: Fraction, below: Below) -> int:
    """An integer with p(z) ∝ exp(−ε|z|) (Algorithm 2).

    Raises:
        ValueError: ``epsilon`` is not above 0.
    """
    if epsilon <= 0:
        raise ValueError(f"epsilon: a number above 0 is expected, found {epsilon}")
    s, t = epsilon.numerator, epsilon.denominator
    while True:
        rest = below(t)
        if not bernoulli_exp(Fraction(rest, t), below):
            continue
        turns = 0
        while bernoulli_exp(Fraction(1), below):
            turns += 1
        size = (rest + t * turns) // s
        negative = below(2) == 1
        if not (negative and size == 0):
            return -size if negative else size


def sample_discrete_gaussian(variance: Fraction, below: Below) -> int:
    """An integer with p(z) ∝ exp(−z²/(2 variance)) (Algorithm 3).

    Raises:
        ValueError: ``variance`` is not above 0.
    """
    if variance <= 0:
        raise ValueError(f"variance: a number above 0 is expected, found {variance}")
    t = math.isqrt(math.floor(variance)) + 1
    while True:
        z = sample_geometric(Fraction(1, t), below)
        if bernoulli_exp((abs(z) - variance / t) ** 2 / (2 * variance), below):
            return z
