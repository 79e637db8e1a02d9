"""Projected Newton steps, for least squares over non-negative entries.

A gradient step is as short as the largest sum demands: over all cells that people could be in, its
length is one over the number of cells, and single cells hardly move. Conjugate gradients find the
step of all cells that may move at once.

Source: Bertsekas (1982), Projected Newton methods for optimization problems with simple
constraints; Steihaug (1983), truncated steps.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import FloatArray
from recon_cli.histogram.projected_gradient import StoppingRule

#: A direction is good enough when its residual is this share of the gradient.
_TRUNCATED: Final = 0.1
_MOST_PRODUCTS: Final = 200
#: Of what the gradient promises for a step, so much must come true (Armijo).
_PROMISE: Final = 1e-4
_HALVINGS: Final = 30


def nonnegative_least_squares(
    operator: sparse.csr_array, noisy: FloatArray, weight: FloatArray, rule: StoppingRule
) -> FloatArray:
    """Minimise Σ_r w_r (Σ_c A_rc x_c − m_r)² over x ≥ 0.

    Args:
        operator: (rows × cells) A; no column is empty.
        noisy: (rows,) m.
        weight: (rows,) w, above 0.
        rule: Ends where no cell by itself would move further than the tolerance.

    Returns:
        (cells,).
    """
    adjoint = sparse.csr_array(operator.T)
    own = adjoint.power(2) @ weight
    found = np.zeros(operator.shape[1])
    residual = operator @ found - noisy
    for _ in range(rule.steps):
        gradient = adjoint @ (weight * residual)
        wish = np.maximum(found - gradient / own, 0) - found
        if np.abs(wish).max(initial=0) < rule.tolerance:
            break
        free = np.flatnonzero((found > 0) | (gradient < 0))
        part = operator[:, free]
        direction = _newton_direction(part, weight, gradient[free], own[free])
        moved = _search(part, weight, residual, found[free], direction)
        if not moved.any():  # as near as floating point can tell
            break
        found[free] += moved
        residual = operator @ found - noisy
    return found


def _newton_direction(
    part: sparse.csr_array, weight: FloatArray, gradient: FloatArray, own: FloatArray
) -> FloatArray:
    """Roughly −(AᵀWA)⁻¹ times the gradient, by conjugate gradients preconditioned by ``own``."""
    adjoint = sparse.csr_array(part.T)
    found, left = np.zeros_like(gradient), -gradient
    scaled = left / own
    ahead, size = scaled.copy(), float(left @ scaled)
    enough = _TRUNCATED**2 * size
    for _ in range(_MOST_PRODUCTS):
        image = part @ ahead
        length = size / float(weight @ image**2)
        found += length * ahead
        left = left - length * (adjoint @ (weight * image))
        scaled = left / own
        before, size = size, float(left @ scaled)
        if size <= enough:
            break
        ahead = scaled + (size / before) * ahead
    return found


def _search(
    part: sparse.csr_array,
    weight: FloatArray,
    residual: FloatArray,
    start: FloatArray,
    direction: FloatArray,
) -> FloatArray:
    """The longest of halved steps, cut off at zero, that lessens the objective as promised."""
    length = 1.0
    for _ in range(_HALVINGS):
        moved = np.maximum(start + length * direction, 0) - start
        image = part @ moved
        slope = float((weight * image) @ residual)
        change = slope + float(weight @ image**2) / 2  # of half the objective, without cancelling
        if change <= _PROMISE * slope < 0:
            return moved
        length /= 2
    return np.zeros_like(start)
