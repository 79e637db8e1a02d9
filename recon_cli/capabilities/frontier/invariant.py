"""The cost of an exact count beside noisy ones.

The cost is measured in two ways: the strongest adversary's belief in the truth with the count and
without, and the bits that the count adds to the noisy counts of its own geounit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
from scipy import linalg

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.account.account import expected_posterior, spends_of
from recon_cli.capabilities.measurements.domain import Domain
from recon_cli.capabilities.measurements.strategy import Measurement, Query, Strategy
from recon_cli.errors import ConfigError
from recon_cli.schema import Release

#: Histogram cells that the queries of a level tell apart: matrices of this many rows are inverted.
_MOST_CELLS: Final = 4_096
#: An eigenvalue of the normal equations below this share of the greatest counts as zero.
_SINGULAR: Final = 1e-10
#: Standard deviations of noise beyond which its probabilities are left out.
_FAR: Final = 12


def whole_number_bits(variance: float) -> float:
    """Compute the entropy of P(v) ∝ exp(−v²/2σ²) over integers, in bits; σ² is ``variance``.

    >>> f"{whole_number_bits(10.1):.2f}"
    '3.72'
    """
    if variance > 1e4:  # indistinguishable from the continuous one
        return math.log2(2 * math.pi * math.e * variance) / 2
    reach = math.ceil(_FAR * math.sqrt(variance)) + 1
    exponent = -(np.arange(-reach, reach + 1.0) ** 2) / (2 * variance)
    weights = np.exp(exponent)
    chances = weights / weights.sum()
    return float(chances @ (math.log(weights.sum()) - exponent)) / math.log(2)


def count_covariance(
    release: Release, measurements: Sequence[Measurement], query: Query
) -> FloatArray:
    """Compute the (counts × counts) covariance of the least squares estimate of a query.

    Args:
        measurements: All measurements of one geounit, with independent noise.
        query: Query whose counts are estimated.

    Raises:
        ConfigError: There are too many histogram cells, or the measurements leave a count open.
    """
    domain = Domain.of_queries(release, [*(each.query for each in measurements), query])
    if domain.size > _MOST_CELLS:
        raise ConfigError(
            f"frontier.invariant: {domain.size:,} histogram cells are told apart, more than "
            f"{_MOST_CELLS:,}"
        )
    cells = np.arange(domain.size)
    normal = np.zeros((domain.size, domain.size))
    for each in measurements:
        group = domain.groups(each.query, cells)
        normal += (group[:, None] == group) / each.variance
    wanted = np.zeros((query.size, domain.size))
    wanted[domain.groups(query, cells), cells] = 1
    values, vectors = linalg.eigh(normal)
    known = values > _SINGULAR * values[-1]
    rows = wanted @ vectors
    if np.abs(rows[:, ~known]).max(initial=0) > 1e-6:
        raise ConfigError(
            f"frontier.invariant: what is measured leaves {query.name!r} open, so its bits have no "
            "bound"
        )
    covariance: FloatArray = (rows[:, known] / values[known]) @ rows[:, known].T
    return covariance


def invariant_bits(covariance: FloatArray) -> float:
    """Approximate the bits that exact counts add to estimates of them. Eq. (invariant).

    Args:
        covariance: (counts × counts) of normal errors.
    """
    conditional = np.diag(linalg.cholesky(covariance, lower=True)) ** 2
    return math.fsum(whole_number_bits(float(each)) for each in conditional)


def bits_by_level(
    release: Release, strategy: Strategy, query: Query, levels: Sequence[str]
) -> pl.DataFrame:
    """Tabulate the bits that exact counts of a query add, a row for each level.

    Returns:
        ``level``, ``counts`` of a geounit, ``sd`` (the root mean squared error of one by the
        measurements of its geounit alone) and ``bits`` of a geounit. What is measured above and
        below leaves less open.

    Raises:
        ConfigError: See `count_covariance`.
    """
    rows = []
    for level in levels:
        covariance = count_covariance(release, strategy.at(level), query)
        sd = math.sqrt(float(np.trace(covariance)) / len(covariance))
        rows.append((level, len(covariance), sd, invariant_bits(covariance)))
    return pl.DataFrame(rows, schema=["level", "counts", "sd", "bits"], orient="row")


def posterior_by_feature(
    release: Release, strategy: Strategy, query: Query, levels: Sequence[str]
) -> pl.DataFrame:
    """Compute the strongest adversary's belief in a value, with and without exact counts.

    This adversary knows all other records, and everything about this record except which of two
    equally likely values it has. If the query distinguishes the two, its exact count decides.

    Returns:
        ``feature``, and upper bounds of the belief in percent, ``noise`` (without) and
        ``invariant`` (with); for two values that all queries tell apart.
    """
    told = {column.feature for column in query.columns}
    spends = spends_of(strategy, release.features, levels)
    rows = []
    for feature in release.features:
        moved = [
            each
            for each in spends
            if any(c.feature == feature.name for c in strategy.queries[each.query].columns)
        ]
        noise = 100 * (expected_posterior(moved) or 1.0)
        rows.append((feature.name, noise, 100.0 if feature.name in told else noise))
    return pl.DataFrame(rows, schema=["feature", "noise", "invariant"], orient="row")
