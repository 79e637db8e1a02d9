"""Non-negative weighted least squares for a geounit, or for the children of one.

min Σ_q w_q Σ_b ‖A_q x_b − m_qb‖² over x ≥ 0; for children, every cell's sum is given. See
*top-down* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray

#: A direction is good enough when its residual is this share of the gradient.
_TRUNCATED: Final = 0.1
_MOST_PRODUCTS: Final = 200
#: Share of the decrease promised by the gradient that a step must achieve (Armijo).
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
    """Approximate −(AᵀWA)⁻¹ times the gradient, by preconditioned conjugate gradients."""
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
    """Return the longest of halved steps, cut off at zero, with sufficient decrease."""
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


@dataclass(frozen=True)
class StoppingRule:
    """A stopping rule of the descent.

    Attributes:
        steps: Greatest number of steps.
        tolerance: The descent stops if no entry moves further in a step, in people.
    """

    steps: int = 3000
    tolerance: float = 0.0005


def descend(
    start: FloatArray,
    step: FloatArray,
    gradient: Callable[[FloatArray], FloatArray],
    project: Callable[[FloatArray], FloatArray],
    rule: StoppingRule,
) -> FloatArray:
    """Return the point where the descent stops.

    Args:
        start: Starting point; feasible or not.
        step: Broadcasts against ``start``: no longer than one over the curvature of each entry.
        project: The nearest allowed point, in the norm that ``step`` gives.
    """
    found = project(start)
    ahead = found.copy()
    momentum, curvature = 1.0, 1 / step
    for _ in range(rule.steps):
        latest = gradient(ahead)
        latest *= -step
        latest += ahead
        latest = project(latest)
        moved = latest - found
        ahead -= latest
        ahead *= curvature
        if np.vdot(ahead, moved) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved * ((momentum - 1) / following)
        ahead += latest
        found, momentum = latest, following
        if max(moved.max(initial=0), -moved.min(initial=0)) < rule.tolerance:
            break
    return found


@dataclass(frozen=True, eq=False)
class Measured:
    """Noisy sums over groups of cells.

    Attributes:
        group: (cells,) the group of each cell, from 0.
        noisy: (groups × children) measurements.
        weight: One over the variance.
    """

    group: IntArray
    noisy: FloatArray
    weight: float


def solve_children(
    measured: Sequence[Measured],
    totals: IntArray,
    start: FloatArray,
    rule: StoppingRule,
) -> FloatArray:
    """Fit the children's histograms to the measurements. Eq. (leastsquares).

    The step of a cell is one over the sum of w_q times the size of its group, which bounds the
    curvature; it is the same for all children, so projection is separate for each cell.

    Args:
        measured: Measurements; each covers groups of cells.
        totals: (cells,) sums over the children.
        start: (cells × children).

    Returns:
        (cells × children), each cell's sum as given.
    """
    operator, noisy, weight = _stacked(measured, len(start))
    adjoint = sparse.csr_array(operator.T)
    weighted = weight[:, None]
    curvature = adjoint @ (weight * (operator @ np.ones(len(start))))
    step = 1 / np.maximum(curvature, np.finfo(float).tiny)[:, None]
    return descend(
        start,
        step,
        lambda point: adjoint @ (weighted * (operator @ point - noisy)),
        lambda point: _project(point, totals),
        rule,
    )


def solve_alone(measured: Sequence[Measured], cells: int, rule: StoppingRule) -> FloatArray:
    """Fit the (cells,) histogram of a geounit without a parent to its measurements."""
    operator, noisy, weight = _stacked(measured, cells)
    return nonnegative_least_squares(operator, noisy[:, 0], weight, rule)


def _stacked(
    measured: Sequence[Measured], cells: int
) -> tuple[sparse.csr_array, FloatArray, FloatArray]:
    """Stack (all groups × cells) membership, measurements and weights."""
    blocks = [
        sparse.csr_array(
            (np.ones(cells), (each.group, np.arange(cells))), shape=(len(each.noisy), cells)
        )
        for each in measured
    ]
    weight = np.repeat([each.weight for each in measured], [len(each.noisy) for each in measured])
    noisy = np.concatenate([each.noisy for each in measured])
    return sparse.csr_array(sparse.vstack(blocks, format="csr")), noisy, weight


def _project(values: FloatArray, totals: IntArray) -> FloatArray:
    """Project to the nearest point with nonnegative entries and the given sums of rows.

    Source: Held, Wolfe & Crowder (1974); by sorting.
    """
    children = values.shape[1]
    falling = -np.sort(-values, axis=1)
    excess = np.cumsum(falling, axis=1) - totals[:, None]
    place = np.arange(1, children + 1)
    positive = falling * place >= excess
    last = children - 1 - np.argmax(positive[:, ::-1], axis=1)
    shift = excess[np.arange(len(values)), last] / (last + 1)
    projected: FloatArray = np.maximum(values - shift[:, None], 0)
    return projected
