"""Confidence intervals of rates whose records come in clusters, the geounits.

*Bootstrap.* The estimand is the rate in the population of geounits from which those at hand are a
sample, as if geounits were drawn again with all their residents. The interval is that of Korn and
Graubard (1998): Clopper and Pearson's, exact for a binomial count, at the effective sample size
that follows from the variance between geounits. So it lies within 0 and 100%, and has a width at
both ends: three of three in three geounits are 29 to 100%.

*Draws.* The estimand is the mean over all ways to break ties between equal candidates, in these
very files; a Student t interval over the draws. It makes no statement about other populations, and
a rate that no draw changes has no interval.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from recon_cli.arrays import FloatArray

#: Origin of the slots after the first.
Kind = Literal["bootstrap", "draws"]

#: Effective sample size of almost no information: the interval is all of 0 to 100%.
_LEAST = 1e-6


def ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return 100 × part / whole; NaN if the whole is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, 100 * part / whole, np.nan)


def interval(
    part: FloatArray, whole: FloatArray, kind: Kind, coverage: float
) -> tuple[FloatArray, FloatArray]:
    """Compute lower and upper end of the rate ``part / whole``, in percent, for each group.

    For a bootstrap by the effective sample size, Eq. (effective) of docs/method.md.

    Args:
        part: Groups × slots; slot 0 is the count, the others its resamples or draws.
        whole: Denominator of the rate, in the same form.
        coverage: In percent.

    Returns:
        NaN where there is no rate, or fewer than two resamples or draws have one.
    """
    rates = ratio(part, whole) / 100
    low, high = np.full((2, len(rates)), np.nan)
    enough = np.isfinite(rates[:, 0]) & (np.isfinite(rates[:, 1:]).sum(axis=1) > 1)
    if enough.any():
        tail = (1 - coverage / 100) / 2
        if kind == "bootstrap":
            ends = _clustered(rates[enough], whole[enough], tail)
        else:
            ends = _student(rates[enough], tail)
        low[enough], high[enough] = ends
    return 100 * low, 100 * high


def gain_interval(
    ours: tuple[FloatArray, FloatArray],
    theirs: tuple[FloatArray, FloatArray],
    kind: Kind,
    coverage: float,
) -> tuple[FloatArray, FloatArray]:
    """Compute lower and upper end of the difference of two rates, in percentage points.

    Both are of the same geounits, and their slots of the same resamples or draws. The difference is
    bounded by the two intervals and the correlation of the slots (Zou and Donner 2007), so that it
    has a width where both rates are 0 or 100%: Eq. (gain) of docs/method.md.

    Args:
        ours: Part and whole, as for `interval`.
        theirs: The other rate, in the same form.
        coverage: In percent.

    Returns:
        NaN where one of the rates has no interval.
    """
    first, second = (ratio(*each) for each in (ours, theirs))
    (low, high), (other_low, other_high) = (
        interval(*each, kind, coverage) for each in (ours, theirs)
    )
    rate, other = first[:, 0], second[:, 0]
    alike = _correlation(first[:, 1:], second[:, 1:])

    def reach(one: FloatArray, two: FloatArray) -> FloatArray:
        return np.sqrt(np.maximum(one**2 - 2 * alike * one * two + two**2, 0.0))

    gain = rate - other
    least = gain - reach(rate - low, other_high - other)
    most = gain + reach(high - rate, other - other_low)
    return np.maximum(least, -100.0), np.minimum(most, 100.0)


def _correlation(first: FloatArray, second: FloatArray) -> FloatArray:
    """Compute Pearson's correlation by row over common values; 0 if one does not vary."""
    both = np.isfinite(first) & np.isfinite(second)
    count = np.maximum(both.sum(axis=1, keepdims=True), 1)

    def centred(values: FloatArray) -> FloatArray:
        known = np.where(both, values, 0.0)
        return np.where(both, known - known.sum(axis=1, keepdims=True) / count, 0.0)

    one, two = centred(first), centred(second)
    spread = np.sqrt((one**2).sum(axis=1) * (two**2).sum(axis=1))
    varies = spread > _LEAST
    return np.where(varies, (one * two).sum(axis=1) / np.where(varies, spread, 1.0), 0.0)


def _clustered(rates: FloatArray, whole: FloatArray, tail: float) -> tuple[FloatArray, FloatArray]:
    """Compute Korn and Graubard's interval; rates in [0, 1], groups × (1 + resamples)."""
    # Slow to load, and many reports have no rates; scipy.stats is ten times slower.
    from scipy import special

    rate = np.clip(rates[:, 0], 0.0, 1.0)
    size = _effective_size(rate, rates[:, 1:], whole, tail)
    part = size * rate
    with np.errstate(invalid="ignore"):
        low = special.betaincinv(part, size - part + 1, tail)
        high = special.betaincinv(part + 1, size - part, 1 - tail)
    return np.where(rate > 0, low, 0.0), np.where(rate < 1, high, 1.0)


def _effective_size(
    rate: FloatArray, resampled: FloatArray, whole: FloatArray, tail: float
) -> FloatArray:
    """Compute the effective number of independent records for ``rate``: Eq. (effective).

    The number of clusters, by their share of the whole (Kish), follows from the resamples of the
    whole: a sum of w times Poisson(1) has variance Σw². At 0 and 100% the similarity of the records
    of one cluster cannot be estimated; then each cluster counts once.
    """
    from scipy import special  # see `_clustered`

    spread = whole[:, 1:].var(axis=1, ddof=1)
    clusters = np.maximum(whole[:, 0] ** 2 / np.maximum(spread, _LEAST), 1.0)
    freedom = np.maximum(clusters - 1, _LEAST)
    variance = np.nanvar(resampled, axis=1, ddof=1) * clusters / freedom
    inside = (rate > 0) & (rate < 1) & (variance > 0)
    size = np.where(inside, rate * (1 - rate) / np.where(inside, variance, 1.0), clusters)
    size = np.minimum(size, whole[:, 0])
    adjusted = size * (special.ndtri(tail) / special.stdtrit(freedom, tail)) ** 2
    return np.maximum(np.where(inside, adjusted, size), _LEAST)


def _student(rates: FloatArray, tail: float) -> tuple[FloatArray, FloatArray]:
    """Compute a t interval for the mean over draws; rates in [0, 1], groups × (1 + draws)."""
    from scipy import special  # see `_clustered`

    draws = rates[:, 1:]
    count = np.isfinite(draws).sum(axis=1)
    centre = np.nanmean(draws, axis=1)
    half = -special.stdtrit(count - 1, tail) * np.nanstd(draws, axis=1, ddof=1) / np.sqrt(count)
    half = np.where(np.nanmax(draws, axis=1) > np.nanmin(draws, axis=1), half, np.nan)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
