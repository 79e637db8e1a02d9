"""The limit of the published two-level sampler, found without sampling.

It draws the geounit's count given the one above, and the one above given the geounit's. The first
draw ignores that the upper count is at least the lower, so the two do not belong to one model, and
the limit is not the posterior of the stated model. It is here to be compared with, never a default.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.noise.density import reach
from recon_cli.risk.one_level import log_odds
from recon_cli.risk.two_levels import TwoLevels


def published_log_odds(
    d1: IntArray, d2: IntArray, s: IntArray, levels: TwoLevels, p: float
) -> FloatArray:
    """Log-odds that the target is in, in the sampler's limit. Eq. (sampler).

    Args:
        d1: Noisy count less the others known to be in the cell; all broadcast.
        d2: Noisy count of the geounit above, less the same number.
        s: Sum of the siblings' noisy counts.
        levels: The budgets.
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
    """The sampler's law of the upper count less the others known: values, probabilities."""
    point = np.asarray(d1), np.asarray(d2), np.asarray(s)
    counts, laws, _ = _transitions(*point, levels, p)
    inside = float(expit(published_log_odds(*point, levels, p)))
    return counts, (1 - inside) * laws[0] + inside * laws[1]


def _transitions(
    d1: IntArray, d2: IntArray, s: IntArray, levels: TwoLevels, p: float
) -> tuple[IntArray, tuple[FloatArray, FloatArray], FloatArray]:
    """Upper counts; their laws given out and in; probability of in given each (last axis)."""
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
