"""Sums that lines may form, though no number shows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recon_cli.capabilities.init.proposal.intervals import Intervals


def possible_whole(block: Intervals, lines: Sequence[int], base: int = 1) -> int | None:
    """Return the line that some lines may add up to, though no number shows it; None if none is.

    It is the first or the last of them, if the rest may add up to it; else the nearest line beside
    them that fits.

    Args:
        lines: Two or more, or three with their total.
        base: What all numbers are rounded to.
    """
    others = [at for at in range(len(block.low)) if at not in lines]
    near = sorted(others, key=lambda at: min(abs(at - lines[0]), abs(at - lines[-1])))
    candidates = [lines[0], lines[-1], *near]
    for total in dict.fromkeys(candidates):
        parts = [line for line in lines if line != total]
        if len(parts) < 2:
            continue
        slack = (base - 1) * (len(parts) + 1)
        low, high = block.low[parts].sum(axis=0) - slack, block.high[parts].sum(axis=0) + slack
        told = block.known[total]
        fits = (low <= block.high[total]) & (high >= block.low[total])
        largest = block.low[total] >= block.low[parts].max(axis=0)
        if told.any() and (fits & (largest | ~told)).all() and not np.isfinite(high[told]).all():
            return total
        if told.any() and fits.all() and largest.all() and (low < high)[told].any():
            return total
    return None


def possible_splits(
    block: Intervals, total: int, parts: Sequence[int]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the ways to cut lines into two that each may add up to a total, best shown first.

    Args:
        parts: Lines in order.

    Returns:
        For each way, the positions in `parts` of both halves.

    Example:
        >>> numbers = np.array([[8, 18, 9], [5, 9, 2], [3, 9, 7], [1, 10, 9], [7, 8, 0.0]])
        >>> possible_splits(Intervals.exact(numbers), 0, [1, 2, 3, 4])
        [((0, 1), (2, 3))]
    """
    found = []
    for cut in range(2, len(parts) - 1):
        shown, fits = 0, True
        for own in (parts[:cut], parts[cut:]):
            lines = list(own)
            low, high = block.low[lines].sum(axis=0), block.high[lines].sum(axis=0)
            fits &= bool(((low <= block.high[total]) & (high >= block.low[total])).all())
            shown += int((block.known[lines].all(axis=0) & block.known[total]).sum())
        if fits:
            places = tuple(range(len(parts)))
            found.append((shown, (places[:cut], places[cut:])))
    return [split for _, split in sorted(found, key=lambda each: -each[0])]
