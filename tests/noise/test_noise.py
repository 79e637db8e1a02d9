"""Integer noise: densities, and exact samplers against them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from recon_cli.noise.density import Density, discrete_gaussian, geometric
from recon_cli.noise.sampling import (
    bernoulli_exp,
    sample_discrete_gaussian,
    sample_geometric,
    seeded,
)

DRAWS = 20_000


def fit(draws: list[int], density: Density) -> float:
    """p-value of the frequencies; integers expected less than five times are taken together."""
    expected = density.p * len(draws)
    seen = np.bincount(np.array(draws) - density.low, minlength=len(expected))
    rare = expected < 5
    assert seen[rare].sum() < 60
    found, hoped = (np.append(each[~rare], each[rare].sum()) for each in (seen, expected))
    return float(chisquare(found, hoped).pvalue)


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(5), Fraction(1007, 100)])
def test_discrete_gaussian_sampler_has_its_density(variance: Fraction) -> None:
    below, density = seeded(3), discrete_gaussian(float(1 / (2 * variance)))
    draws = [sample_discrete_gaussian(variance, below) for _ in range(DRAWS)]
    assert fit(draws, density) > 1e-3
    assert np.var(draws) == pytest.approx(density.variance, rel=0.04)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3, 7), Fraction(2)])
def test_geometric_sampler_has_its_density(epsilon: Fraction) -> None:
    below, density = seeded(3), geometric(float(epsilon))
    draws = [sample_geometric(epsilon, below) for _ in range(DRAWS)]
    assert fit(draws, density) > 1e-3
    assert np.var(draws) == pytest.approx(density.variance, rel=0.06)


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(9, 4)])
def test_bernoulli_of_an_exponential(gamma: Fraction) -> None:
    below = seeded(1)
    share = sum(bernoulli_exp(gamma, below) for _ in range(DRAWS)) / DRAWS
    assert share == pytest.approx(math.exp(-gamma), abs=0.012)


def test_samplers_repeat_with_their_seed() -> None:
    def draws(seed: int) -> list[int]:
        below = seeded(seed)
        return [sample_discrete_gaussian(Fraction(10), below) for _ in range(20)]

    assert draws(1) == draws(1) != draws(2)


def test_variance_of_the_densities() -> None:
    assert discrete_gaussian(0.1).variance == pytest.approx(5, rel=1e-9)
    assert discrete_gaussian(2).variance < 0.25  # the lattice takes some away
    alpha = math.exp(-0.5)
    assert geometric(0.5).variance == pytest.approx(2 * alpha / (1 - alpha) ** 2)


def test_a_sum_of_discrete_gaussians_is_nearly_one() -> None:
    total, one = discrete_gaussian(0.1).sum_of(28), discrete_gaussian(0.1 / 28)
    assert total.p.sum() == pytest.approx(1)
    assert total.variance == pytest.approx(one.variance, rel=1e-9)
    inner = total.p[one.low - total.low : one.low - total.low + len(one.p)]
    assert np.abs(inner - one.p).sum() < 1e-13


def test_drawing_from_a_table() -> None:
    density = discrete_gaussian(0.1)
    draws = density.draw(np.random.default_rng(1), DRAWS)
    assert fit(draws.tolist(), density) > 1e-3


@pytest.mark.parametrize("make", [discrete_gaussian, geometric])
@pytest.mark.parametrize("parameter", [0.0, -1.0, math.nan])
def test_parameters_are_above_zero(make: Callable[[float], Density], parameter: float) -> None:
    with pytest.raises(ValueError, match="a number above 0 is expected"):
        make(parameter)


def test_exact_parameters_are_above_zero() -> None:
    with pytest.raises(ValueError, match="variance: a number above 0"):
        sample_discrete_gaussian(Fraction(0), seeded(1))
    with pytest.raises(ValueError, match="epsilon: a number above 0"):
        sample_geometric(Fraction(-1), seeded(1))
