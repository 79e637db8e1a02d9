"""Sums among any of a few lines, wherever these stand: too weak to accept without a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.init.proposal.evidence import (
    MARGIN_BITS,
    STRONG_POSITIONS,
    Sum,
    Support,
)
from recon_cli.capabilities.init.proposal.intervals import Intervals

#: Most lines of which all sets are tried.
_MOST_LINES: Final = 14
#: Positions that are compared at once for all sets.
_AT_ONCE: Final = 100
#: Fewest parts of a sum.
_FEWEST: Final = 2


def subset_sums(block: Intervals, lines: Sequence[int]) -> Iterator[Sum]:
    """Yield for each of a few lines the set of others that adds up to it, if chance is unlikely.

    All sets are tried; one that is shown in the most positions, and has the fewest lines, is taken.

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
        tried = float(np.log2(len(sets) * len(lines)))
        sets, times, bits = _fitting(block, total, parts, sets)
        if not len(sets):
            continue
        best = int(np.lexsort((sets.sum(axis=1), -times))[0])
        shown = int(times[best])
        open_ = block.low.shape[1] - shown
        support = Support(shown, open_, 0, float(bits[best]), tried)
        if support.shown >= STRONG_POSITIONS and support.margin >= MARGIN_BITS:
            yield Sum(total, tuple(parts[i] for i in np.flatnonzero(sets[best])), 0, support)


def _fitting(
    block: Intervals, total: int, parts: Sequence[int], sets: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the sets that may add up to a total everywhere, how often each does, and its bits.

    Positions are compared by the hundred, and sets dropped as soon as a position forbids them.
    """
    told = np.flatnonzero(block.known[total])
    times, bits = np.zeros(len(sets), dtype=np.int64), np.zeros(len(sets))
    for start in range(0, len(told), _AT_ONCE):
        at = np.ix_(np.array(parts, dtype=np.intp), told[start : start + _AT_ONCE])
        whole = block.low[total, at[1][0]]
        high, is_open = block.high[at], np.isinf(block.high[at])
        most = sets @ np.where(is_open, 0.0, high)
        may = (sets @ block.low[at] <= whole) & ((most >= whole) | (sets @ is_open > 0))
        able = may.all(axis=1)
        sets, times, bits = sets[able], times[able], bits[able]
        shown = (sets @ ~block.known[at] == 0) & (whole > 0)
        times, bits = times + shown.sum(axis=1), bits + shown @ np.log2(1 + whole)
    return sets, times, bits
