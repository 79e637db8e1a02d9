"""Noisy counts that were postprocessed before publication: the risk is at most as high."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.measurements.density import discrete_gaussian
from recon_cli.capabilities.risk.expectation import ExpectedRisk, summarize
from recon_cli.capabilities.risk.log_odds import logit

#: A geounit's noisy count and its siblings' noisy sum → the geounit's published count.
Process = Callable[[IntArray, IntArray], IntArray]


def projection(upper: int, m: int) -> Process:
    """Round least squares on counts from 0 that add up to the count above. Eq. (projected).

    Args:
        upper: The count above, which is published as it is.
        m: Siblings of a geounit.
    """

    def process(c1: IntArray, s: IntArray) -> IntArray:
        fair = c1 + (upper - c1 - s) / (m + 1)
        return np.clip(np.rint(fair), 0, upper).astype(np.int64)

    return process


def postprocessed(process: Process, rho: float, m: int, upper: int, p: float) -> ExpectedRisk:
    """Compute the expected risk for a target who is in, alone, from a processed count only.

    The likelihood of a published count is the sum over all noisy counts that it results from.

    Args:
        process: Deterministic.
        rho: ρ of each geounit's count.
        m: Siblings of the geounit.
        upper: The true count above, known to the adversary; at least 1.
        p: Prior.

    Raises:
        ValueError: A number is out of range.
    """
    if upper < 1 or m < 1:
        raise ValueError("an upper count and siblings of at least 1 are expected")
    odds, p_in = processed_log_odds(process, rho, m, upper, p)
    return summarize(odds, p_in, p, truth=True)


def processed_log_odds(
    process: Process, rho: float, m: int, upper: int, p: float
) -> tuple[FloatArray, FloatArray]:
    """Return log-odds and probability of each published count that is possible if in."""
    own, beside = discrete_gaussian(rho), discrete_gaussian(rho / m)
    weights = np.outer(own.p, beside.p).ravel()
    published = [
        process(own.values[:, None] + c, beside.values[None, :] + upper - c).ravel() for c in (0, 1)
    ]
    low = min(int(values.min()) for values in published)
    high = max(int(values.max()) for values in published)
    out, inside = (
        np.bincount(values - low, weights, minlength=high - low + 1).astype(np.float64)
        for values in published
    )
    possible = inside > 0
    with np.errstate(divide="ignore"):  # a count that proves that the target is in
        odds = logit(p) + np.log(inside[possible]) - np.log(out[possible])
    return odds, inside[possible]
