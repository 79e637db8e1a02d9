"""Block populations with the published distribution, exact at any size of nation."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.synth.parameters import GeographyParameters


def block_sizes(geography: GeographyParameters, people: int, rng: np.random.Generator) -> IntArray:
    """Populations of inhabited blocks, largest first, that sum to ``people``.

    The sizes are quantiles of the published distribution, evenly spaced, so that the share of
    every class is exact up to one block; what rounding leaves is spread over blocks that stay
    in their class.
    """
    count = max(1, round(people / geography.people_per_block))
    cumulative = np.cumsum(_probabilities(geography))
    at = (np.arange(count)[::-1] + 0.5) / count
    sizes = np.searchsorted(cumulative, at) + 1
    return _settle(geography, sizes.astype(np.int64), people, rng)


def class_of(geography: GeographyParameters, sizes: npt.NDArray[np.integer]) -> IntArray:
    """The position of each size's class in the published tables."""
    return np.searchsorted(np.array(geography.lower), sizes, side="right") - 1


@cache
def _probabilities(geography: GeographyParameters) -> FloatArray:
    """Probability of each block size from 1 up: in each class the published mean, else flat."""
    total = np.zeros(geography.upper[-1])
    for low, high, blocks, mean in zip(
        geography.lower, geography.upper, geography.blocks, geography.mean_sizes, strict=True
    ):
        sizes = np.arange(low, high + 1)
        total[low - 1 : high] = blocks * _exponential(sizes, float(mean))
    return np.asarray(total / total.sum(), np.float64)


def _exponential(sizes: IntArray, mean: float) -> FloatArray:
    """The distribution over ``sizes`` with that mean and the greatest entropy."""

    def weights(rate: float) -> FloatArray:
        raw = np.exp(-rate * (sizes - sizes[0]) / (sizes[-1] - sizes[0]))
        return np.asarray(raw / raw.sum(), np.float64)

    rate = brentq(lambda rate: float(weights(rate) @ sizes) - mean, -200.0, 200.0)
    return weights(float(rate))


def _settle(
    geography: GeographyParameters, sizes: IntArray, people: int, rng: np.random.Generator
) -> IntArray:
    """Move sizes by one, as often as it takes, until they sum to ``people``."""
    low, high = np.array(geography.lower), np.array(geography.upper)
    while (missing := people - int(sizes.sum())) != 0:
        step = 1 if missing > 0 else -1
        kind = class_of(geography, sizes)
        room = (sizes + step >= low[kind]) & (sizes + step <= high[kind])
        if not room.any():  # a handful of blocks cannot all stay in their class
            room = sizes + step >= 1
        movable = np.flatnonzero(room)
        chosen = rng.choice(movable, min(abs(missing), len(movable)), replace=False)
        sizes[chosen] += step
    return np.sort(sizes)[::-1]
