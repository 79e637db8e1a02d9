"""Expected errors of a workload of counts answered through a strategy.

Queries Q are estimated by least squares from noisy answers to other queries A, the strategy. For a
balanced hierarchy of geounits, each level measured with noise, there are recursions.

See *workload* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.optimize import minimize

from recon_cli.arrays import FloatArray
from recon_cli.statement.noise import geometric_variance

#: Largest difference of XA from Q.
_ROUNDING = 1e-6
_STARTS = 3


class SpanError(ValueError):
    """Raised for a strategy that does not determine the workload."""


@dataclass(frozen=True)
class StrategyError:
    """The error of a strategy as a function of noise.

    Attributes:
        laplace: (queries,) Δ²‖qA⁺‖², Δ the L1 sensitivity; times 2/ε² it is the variance of each
            answer under Laplace noise.
        gaussian: (queries,) the same with the L2 sensitivity; times 1/2ρ under normal noise.
        spread: (queries,) ‖qA⁺‖² alone, for noise of a given variance on each measured count.
        sensitivity: Δ, the largest L1 norm of a column, or of the difference of two.
    """

    laplace: FloatArray
    gaussian: FloatArray
    spread: FloatArray
    sensitivity: float

    def laplace_variance(self, epsilon: float) -> FloatArray:
        """Return (queries,) variances with Laplace noise of total ε."""
        found: FloatArray = 2 / epsilon**2 * self.laplace
        return found

    def gaussian_variance(self, rho: float) -> FloatArray:
        """Return (queries,) variances with normal noise of total zCDP ρ."""
        found: FloatArray = self.gaussian / (2 * rho)
        return found

    def geometric_variance(self, epsilon: float) -> FloatArray:
        """Return (queries,) variances with geometric noise of total ε; for an integer strategy."""
        found: FloatArray = geometric_variance(epsilon / self.sensitivity) * self.spread
        return found


def strategy_error(Q: FloatArray, A: FloatArray, *, replaced: bool = False) -> StrategyError:
    """Compute the error of a strategy: Eq. (strategy).

    Source: Li et al., The matrix mechanism (2015), Definition 6; Abowd & Schmutte, Eq. (E-27).

    Args:
        Q: (queries × histogram cells) the workload.
        A: (measurements × histogram cells) the strategy.
        replaced: Whether neighbouring data sets differ in the values of one record; else one has
            a record more.

    Raises:
        SpanError: The strategy does not determine the workload.
    """
    transposed, *_ = np.linalg.lstsq(A.T, Q.T, rcond=None)
    if not np.allclose(transposed.T @ A, Q, atol=_ROUNDING):
        raise SpanError(
            f"a strategy of rank {np.linalg.matrix_rank(A)} does not determine {len(Q)} queries"
        )
    spread = (transposed**2).sum(axis=0)
    absolute, squared = _sensitivity(A, replaced=replaced)
    return StrategyError(absolute**2 * spread, squared * spread, spread, absolute)


def _sensitivity(A: FloatArray, *, replaced: bool) -> tuple[float, float]:
    """Return the L1 sensitivity, and the square of the L2 sensitivity."""
    if not replaced:
        return float(np.abs(A).sum(axis=0).max()), float((A**2).sum(axis=0).max())
    differences = (A - A[:, [column]] for column in range(A.shape[1]))
    pairs = [((abs(d)).sum(axis=0).max(), (d**2).sum(axis=0).max()) for d in differences]
    absolute, squared = np.max(pairs, axis=0)
    return float(absolute), float(squared)


def identity(Q: FloatArray) -> FloatArray:
    """Return the strategy of every histogram cell.

    >>> identity(np.array([[1.0, 1.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return np.eye(Q.shape[1], dtype=np.float64)


def workload(Q: FloatArray) -> FloatArray:
    """Return the strategy of the published counts themselves."""
    return Q


def tree(Q: FloatArray) -> FloatArray:
    """Return the strategy of every histogram cell, and sums of two, four, … neighbours."""
    cells = Q.shape[1]
    rows = [np.eye(cells)]
    width = 2
    while width < 2 * cells:
        rows.append((np.arange(cells) // width == np.arange(-(-cells // width))[:, None]) * 1.0)
        width *= 2
    return np.vstack(rows)


def haar(Q: FloatArray) -> FloatArray:
    """Return the strategy of the total, and differences of halves, quarters, …: Haar wavelets.

    Source: Xiao, Wang & Gehrke, Differential privacy via wavelet transforms (2011).
    """
    cells = 1 << (Q.shape[1] - 1).bit_length()
    rows = [np.ones((1, cells))]
    width = cells
    while width > 1:
        place = np.arange(cells)
        sign = np.where(place % width < width // 2, 1.0, -1.0)
        rows.append((place // width == np.arange(cells // width)[:, None]) * sign)
        width //= 2
    found = np.vstack(rows)[:, : Q.shape[1]]
    waves: FloatArray = found[np.abs(found).sum(axis=1) > 0].astype(np.float64)
    return waves


def optimised(Q: FloatArray, seed: int = 0) -> FloatArray:
    """Optimise a p-identity strategy for the least total error, by descent.

    [I; T] with columns scaled to sum 1 and T ≥ 0 of one row for each 16 cells; the identity if
    nothing better is found.

    Source: McKenna et al., Optimizing error of high-dimensional statistical queries (2018), 5.1.

    Args:
        Q: The workload.
    """
    cells = Q.shape[1]
    p, gram, rng = max(1, cells // 16), Q.T @ Q, np.random.default_rng(seed)
    best, least = np.zeros((p, cells)), float(np.trace(gram))
    for _ in range(_STARTS):
        found = minimize(  # type: ignore[call-overload]
            lambda t: _p_identity(t.reshape(p, cells), gram)[0],
            rng.random(p * cells),
            jac=lambda t: _p_identity(t.reshape(p, cells), gram)[1],
            method="L-BFGS-B",
            bounds=[(0, None)] * (p * cells),
            options={"maxiter": 500},
        )
        if found.fun < least:
            best, least = found.x.reshape(p, cells), float(found.fun)
    found_strategy: FloatArray = np.vstack([np.eye(cells), best]) / (1 + best.sum(axis=0))
    return found_strategy


def _p_identity(T: FloatArray, gram: FloatArray) -> tuple[float, FloatArray]:
    """Compute tr((AᵀA)⁻¹QᵀQ) of A = [I; T]D⁻¹, and its gradient by T, both exactly."""
    scale = 1 + T.sum(axis=0)
    inverse = np.eye(T.shape[1]) - T.T @ np.linalg.solve(np.eye(len(T)) + T @ T.T, T)
    scaled = scale[:, None] * gram * scale
    by_scale = 2 * ((gram * scale) * inverse.T).sum(axis=1)
    gradient = -2 * T @ inverse @ scaled @ inverse + by_scale
    return float((inverse * scaled.T).sum()), gradient.ravel()


#: Strategies by name, in the order of tables.
STRATEGIES: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "identity": identity,
    "itself": workload,
    "tree": tree,
    "haar": haar,
    "optimised": optimised,
}


def hierarchy_variances(own: Sequence[float], branching: Sequence[int]) -> list[float]:
    """Compute the variance of one count at each level after least squares: Eq. (hierarchy).

    An upward pass combines each geounit with the sum of its children; a downward pass corrects it
    by the geounits above.

    Args:
        own: Variance of each level's measurement, the whole first; infinite where none is made.
        branching: Number of geounits in each geounit of the level above; one less than levels.

    Raises:
        ValueError: The lengths do not fit, or nothing is measured at or below some level.

    >>> [round(v, 3) for v in hierarchy_variances([1.0, 1.0], [4])]
    [0.8, 0.8]
    """
    if len(own) != len(branching) + 1:
        raise ValueError(f"{len(own)} levels need {len(own) - 1} branchings, not {len(branching)}")
    up = [0.0] * len(own)
    for level in range(len(own) - 1, -1, -1):
        below = math.inf if level == len(own) - 1 else branching[level] * up[level + 1]
        up[level] = _combined(own[level], below)
    found = [up[0]]
    for level, b in enumerate(branching, start=1):
        above, here = found[-1], up[level]
        # of a level that is not measured, only an even share of what lies above is known
        found.append(math.inf if math.isinf(here) else here * (1 - 1 / b) + above / b**2)
    return found


def level_variances(
    epsilon: float, shares: Sequence[float], sensitivity: float = 1.0
) -> list[float]:
    """Return variances of one Laplace count at each level: 2(Δ/ε_l)², infinite for a share of 0.

    >>> level_variances(1.0, [0.5, 0.5])
    [8.0, 8.0]
    """
    return [
        math.inf if share == 0 else 2 * (sensitivity / (epsilon * share)) ** 2 for share in shares
    ]


def hierarchy_errors(branching: Sequence[int], epsilons: Sequence[float]) -> pl.DataFrame:
    """Tabulate errors of one count at each level after least squares, for three ways to spend ε.

    Args:
        branching: As for `hierarchy_variances`.
        epsilons: Total over all levels; Laplace noise, sensitivity 1.

    Returns:
        ``budget`` (``finest``: all at the finest level; ``even``; ``not finest``: even over the
        others), ``depth`` (0 is the whole), ``epsilon`` and ``rmse``, null where nothing is known.
    """
    levels = len(branching) + 1
    budgets = {
        "finest": [0.0] * (levels - 1) + [1.0],
        "even": [1 / levels] * levels,
        "not finest": [1 / max(levels - 1, 1)] * (levels - 1) + [0.0],
    }
    rows = [
        (budget, depth, epsilon, None if math.isinf(variance) else math.sqrt(variance))
        for budget, shares in budgets.items()
        if any(shares)
        for epsilon in epsilons
        for depth, variance in enumerate(
            hierarchy_variances(level_variances(epsilon, shares), branching)
        )
    ]
    return pl.DataFrame(rows, schema=["budget", "depth", "epsilon", "rmse"], orient="row")


def _combined(one: float, other: float) -> float:
    precision = 1 / one + 1 / other
    return math.inf if precision == 0 else 1 / precision
