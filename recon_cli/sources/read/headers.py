"""The words over each column of a table, outermost first."""

from __future__ import annotations

import numpy as np

from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.regions import Region


def header_paths(grid: Grid, region: Region) -> dict[int, tuple[str, ...]]:
    """Column → its words: a merged cell is over all its columns, another over those to its right.

    A word goes on to the right as far as no other word stands in its row or above it.
    """
    width = grid.shape[1]
    rows = list(region.header)
    paths: dict[int, list[str]] = {at: [] for at in range(width)}
    spans = grid.spans()
    begins = [True] * width
    for i, row in enumerate(rows):
        covered: dict[int, str] = {}
        for (top, left), (bottom, right) in spans.items():
            if top <= row <= bottom:
                word = str(grid.texts[top, left]) if top == row else ""
                covered.update(dict.fromkeys(range(left, right + 1), word))
        word = ""
        is_last = i == len(rows) - 1
        for at in range(width):
            own = str(grid.texts[row, at])
            if at in covered:
                own = covered[at]
                if own:
                    word = ""
            elif own:
                word = own
            elif begins[at] and any(map(bool, (str(grid.texts[r, at]) for r in rows[:i]))):
                word = ""
            begins[at] = bool(own)
            carried = own or ("" if is_last or at in covered else word)
            if carried and (not paths[at] or paths[at][-1] != carried):
                paths[at].append(carried)
    return {at: tuple(" ".join(word.split()) for word in words) for at, words in paths.items()}


def nameless(grid: Grid, region: Region) -> list[int]:
    """Return the columns of numbers without a word of their own, where most have one.

    A header was lost there, or those beside it have slipped.
    """
    rows = list(region.header)
    own = np.zeros(grid.shape[1], dtype=bool)
    for row in rows:
        own |= grid.filled[row]
    for (top, left), (_, right) in grid.spans().items():
        if top in rows:
            own[left : right + 1] = True
    numeric = region.numeric
    found = numeric[~own[numeric]]
    return found.tolist() if 2 * len(found) < len(numeric) else []
