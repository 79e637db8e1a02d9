"""Densities of integer noise."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chisquare

from recon_cli.capabilities.measurements.density import Density, discrete_gaussian, geometric

DRAWS = 20_000


def fit(draws: list[int], density: Density) -> float:
    """p-value of the frequencies; integers expected less than five times are taken together."""
    expected = density.p * len(draws)
    seen = np.bincount(np.array(draws) - density.low, minlength=len(expected))
    rare = expected < 5
    assert seen[rare].sum() < 60
    found, hoped = (np.append(each[~rare], each[rare].sum()) for each in (seen, expected))
    return float(chisquare(found, hoped).pvalue)


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
