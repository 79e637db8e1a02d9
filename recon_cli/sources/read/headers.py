"""The words over each column of a table, outermost first."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.regions import Region

#: A column's number: ``3``, ``(3)``, ``3)``.
_NUMBERED: Final = re.compile(r"[(\[]?(\d{1,3})[)\]]?")


def header_paths(grid: Grid, region: Region) -> dict[int, tuple[str, ...]]:
    """Map columns to the header words that apply to them, from merged cells and cells on the left.

    A word extends to the right until another word stands in its row or above it. A row that numbers
    the columns is left out.
    """
    rows = list(region.header)
    for row in _numbering(grid, region):
        others = [each for each in rows if each != row]
        paths = _paths(grid, others)
        told = [paths[at] for at in region.numeric.tolist()]
        if all(told) and len({*told}) == len(told):
            rows = others
    return _paths(grid, rows)


def _numbering(grid: Grid, region: Region) -> list[int]:
    """Return the header rows that number the columns, counting up by one."""
    found = []
    columns = region.numeric
    for row in region.header:
        texts = [_NUMBERED.fullmatch(str(text)) for text in grid.texts[row]]
        numbers = [0 if text is None else int(text[1]) for text in texts]
        first = int(columns[0]) if len(columns) > 2 else -1
        if first >= 0 and numbers[first]:
            told = [numbers[at] - numbers[first] == at - first for at in columns.tolist()]
            found += [row] * all(told)
    return found


def _paths(grid: Grid, rows: list[int]) -> dict[int, tuple[str, ...]]:
    """Map columns to their words in some rows."""
    width = grid.shape[1]
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
    """Return the columns of numbers without a header of their own, where most columns have one.

    Their header was lost, or the headers beside it have slipped.
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
