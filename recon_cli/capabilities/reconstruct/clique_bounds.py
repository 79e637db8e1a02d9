"""Bounds of histogram cells from bounds of clique tables, their margins.

A clique cell is a sum of histogram cells. A histogram cell has at most the clique cell's upper
bound less the least of the other cells, and at least its lower bound less their most: Eq. (upper)
and (lower) of docs/method.md.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.capabilities.reconstruct.cliques import CliqueForm
from recon_cli.capabilities.reconstruct.dense_bounds import DenseBounds
from recon_cli.frames import OPEN

#: Units that are worked on at a time.
_UNITS: Final = 256
#: As in `recon_cli.model.bounds`.
_SWEEPS: Final = 500


def narrow_by_tables(
    form: CliqueForm, bounds: DenseBounds, lower: IntArray, upper: IntArray
) -> DenseBounds:
    """Tighten the bounds of histogram cells to a fixed point.

    Args:
        lower: (units × cells) least people in the clique tables.
        upper: (units × cells) most people in the clique tables; none is open.
    """
    least, most = bounds.lower.copy(), bounds.upper.copy()
    for first in range(0, len(least), _UNITS):
        here = slice(first, first + _UNITS)
        # Clique tables bound the cells that no count bounds.
        room = np.where(bounds.is_open[here], OPEN, most[here].astype(np.int64))
        ends = least[here].astype(np.int64), room, lower[here], upper[here]
        least[here], most[here] = _narrowed(form, *ends)
    return DenseBounds(least, most, np.zeros_like(bounds.is_open), bounds.suspects)


def _narrowed(
    form: CliqueForm, least: IntArray, most: IntArray, lower: IntArray, upper: IntArray
) -> tuple[IntArray, IntArray]:
    """Return (units × histogram cells) bounds, from those of cells and of tables."""
    sizes, first = form.plan.grain.sizes, form.first
    least, most = least.reshape(-1, *sizes), most.reshape(-1, *sizes)
    tables: list[tuple[tuple[int, ...], IntArray, IntArray]] = []
    for at, clique in enumerate(form.tree.cliques):
        shape = (-1, *(size if f in clique else 1 for f, size in enumerate(sizes)))
        low, high = (ends[:, first[at] : first[at + 1]].reshape(shape) for ends in (lower, upper))
        others = tuple(1 + f for f in range(len(sizes)) if f not in clique)
        tables.append((others, low, high))
        most = np.minimum(most, high)
    for _ in range(_SWEEPS):
        before = least, most
        for others, low, high in tables:
            most = np.minimum(most, least + high - least.sum(axis=others, keepdims=True))
            least = np.maximum(least, most + low - most.sum(axis=others, keepdims=True))
        if np.array_equal(before[0], least) and np.array_equal(before[1], most):
            break
    return least.reshape(len(lower), -1), most.reshape(len(lower), -1)
