"""Non-negative weighted least squares for a geounit, or for the children of one.

min Σ_q w_q Σ_b ‖A_q x_b − m_qb‖² over x ≥ 0; of children, every cell's sum is given.
See *top-down* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.histogram.projected_gradient import StoppingRule, descend
from recon_cli.histogram.projected_newton import nonnegative_least_squares


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
    """The children's histograms that fit the measurements best. Eq. (leastsquares).

    The step of a cell is one over the sum of w_q times the size of its group, which bounds the
    curvature; it is the same for all children, so projection stays that of each cell by itself.

    Args:
        measured: What was measured; each group of cells.
        totals: (cells,) sums over the children.
        start: (cells × children).
        rule: When the descent ends.

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
    """(cells,) the histogram of a geounit without a parent that fits its measurements best."""
    operator, noisy, weight = _stacked(measured, cells)
    return nonnegative_least_squares(operator, noisy[:, 0], weight, rule)


def _stacked(
    measured: Sequence[Measured], cells: int
) -> tuple[sparse.csr_array, FloatArray, FloatArray]:
    """(all groups × cells) membership, their measurements and weights."""
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
    """The nearest point with entries from 0 and the given sums of rows.

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
