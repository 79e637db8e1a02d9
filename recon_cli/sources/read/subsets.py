"""Sums of any lines of a few, wherever they stand: too weak to be taken, and worth a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from recon_cli.sources.read.evidence import MARGIN_BITS, STRONG_POSITIONS, Sum, Support
from recon_cli.sources.read.intervals import Intervals

#: Of more lines all sets are too many.
_MOST_LINES: Final = 14
#: Parts of a sum at least.
_FEWEST: Final = 2


def subset_sums(block: Intervals, lines: Sequence[int]) -> Iterator[Sum]:
    """Yield for each of a few lines the set of others that adds up to it, if chance is unlikely.

    All sets are tried: that of the most positions, and of the fewest lines, is the one.

    Args:
        block: Numbers that are not rounded.

    Example:
        >>> numbers = np.array([[4.0, 6, 7], [12, 8, 17], [7, 14, 6], [18, 18, 8], [30, 26, 25]])
        >>> [(each.total, each.parts) for each in subset_sums(Intervals.exact(numbers), range(5))]
        [(4, (1, 3))]
    """
    for total in lines:
        parts = [i for i in lines if i != total and (block.low[i] <= block.high[total]).all()]
        if not _FEWEST <= len(parts) <= _MOST_LINES:
            continue
        sets = (np.arange(1 << len(parts))[:, None] >> np.arange(len(parts))) & 1
        sets = sets[sets.sum(axis=1) >= _FEWEST]
        low, high = sets @ block.low[parts], _sum_of_high(sets, block.high[parts])
        fits = ((low <= block.high[total]) & (high >= block.low[total])).all(axis=1)
        shown = (sets @ ~block.known[parts] == 0) & block.known[total] & (block.low[total] > 0)
        times = np.where(fits, shown.sum(axis=1), 0)
        best = int(np.lexsort((sets.sum(axis=1), -times))[0])
        told = shown[best]
        bits = float(np.log2(1 + block.low[total][told]).sum())
        support = Support(
            int(times[best]), int((~told).sum()), 0, bits, float(np.log2(len(sets) * len(lines)))
        )
        if support.shown >= STRONG_POSITIONS and support.margin >= MARGIN_BITS:
            yield Sum(total, tuple(parts[i] for i in np.flatnonzero(sets[best])), 0, support)


def _sum_of_high(sets: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the greatest sum of each set: infinite where one of its lines is."""
    is_open = np.isinf(high)
    return np.where(sets @ is_open > 0, np.inf, sets @ np.where(is_open, 0.0, high))
