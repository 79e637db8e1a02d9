"""Sums that most positions show, and a few break: there a number is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.capabilities.init.proposal.evidence import STRONG_POSITIONS
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.sum_weights import BINARY
from recon_cli.capabilities.init.proposal.sums import find_sums

#: Most positions of which one at a time is left out; of more, a third at a time is kept.
_MOST_LEFT_OUT: Final = 12


@dataclass(frozen=True)
class Slip:
    """A sum that holds except in a few positions.

    Attributes:
        shown: Number of positions in which all numbers are printed, and agree.
        broken: The positions in which the sum does not hold.
    """

    total: int
    parts: tuple[int, ...]
    shown: int
    broken: tuple[int, ...]

    @property
    def sum(self) -> tuple[int, tuple[int, ...]]:
        """Return the total, and its parts."""
        return self.total, self.parts


def slips(block: Intervals) -> list[Slip]:
    """Find sums that most positions show, and a few break: there a number is wrong.

    Example:
        >>> numbers = np.array([[9.0, 31, 30, 14], [4.0, 11, 10, 8], [5.0, 20, 19, 6]])
        >>> [(each.total, each.broken) for each in slips(Intervals.exact(numbers))]
        [(0, (2,))]
    """
    lines = np.arange(len(block.low), dtype=np.intp)
    positions = np.arange(block.low.shape[1], dtype=np.intp)
    if len(lines) < 3:
        return []
    found: dict[tuple[int, tuple[int, ...]], Slip] = {}
    for some in parts_of(positions):
        for each in find_sums(block.take(lines, some)):
            key = each.total, each.parts
            if not each.support.is_strong or key in found:
                continue
            if (own := slip(block, *key)) is not None:
                found[key] = own
    return list(found.values())


def parts_of(positions: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return subsets of positions, one of which has no wrong number if few are wrong."""
    if len(positions) < 3:
        return []
    if len(positions) <= _MOST_LEFT_OUT:
        return [np.delete(positions, at) for at in range(len(positions))]
    return [positions[at::3] for at in range(3)]


def is_slip(shown: int, broken: Sequence[int], positions: int) -> bool:
    """Test whether a relation is shown in enough positions, and broken in few, which are wrong."""
    return shown >= STRONG_POSITIONS and 0 < len(broken) <= max(1, positions // 10)


def slip(block: Intervals, total: int, parts: tuple[int, ...]) -> Slip | None:
    """Return a sum of lines as a slip if some positions show it, and a few break it; else None.

    Example:
        >>> numbers = np.array([[9.0, 31, 30, 14], [4.0, 11, 10, 8], [5.0, 20, 19, 6]])
        >>> slip(Intervals.exact(numbers), 0, (1, 2))
        Slip(total=0, parts=(1, 2), shown=3, broken=(2,))
    """
    own = block.take(
        np.array([total, *parts], dtype=np.intp), np.arange(block.low.shape[1], dtype=np.intp)
    )
    broken = _broken(own)
    shown = np.setdiff1d(np.flatnonzero(own.known.all(axis=0)), broken)
    if not is_slip(len(shown), broken, block.low.shape[1]):
        return None
    return Slip(total, parts, len(shown), tuple(broken))


def _broken(block: Intervals) -> list[int]:
    """Return the positions in which the first line cannot be the sum of all others."""
    low, high = block.low[1:].sum(axis=0), block.high[1:].sum(axis=0)
    off = (low > block.high[0] + BINARY) | (high < block.low[0] - BINARY)
    return np.flatnonzero(off & block.present[0]).tolist()
