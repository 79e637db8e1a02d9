"""Labels of the rows of a table: words beside them, above them, and of rows that contain them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.sources.formats.vocabulary import is_total
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.regions import Region
from recon_cli.sources.read.words import Sense, says

#: Least share of rows without a label for labels to apply to rows below; fewer blanks are lost.
_FEWEST_REPEATED: Final = 0.4
#: Words that name a row, outermost first.
Path = tuple[str, ...]


def filled_down(grid: Grid, region: Region) -> Grid:
    """Repeat labels that stand only in the first of the rows to which they apply.

    A blank cell with a label to its right stands for the label above it; so do the cells of a
    merged range. Where labels are repeated in each row, a blank means that there is none.
    """
    stub = region.stub.tolist()
    if len(stub) < 2 or not len(region.body):
        return grid
    codes = grid.codes.copy()
    rows = region.body
    later = np.zeros(len(rows), dtype=bool)
    blank = ~grid.filled[rows]
    changed = False
    for at in reversed(stub):
        own = blank[:, at] & later
        later |= ~blank[:, at]
        told = ~blank[:, at]
        again = told[1:] & told[:-1] & (codes[rows[1:], at] == codes[rows[:-1], at])
        if own.mean() >= _FEWEST_REPEATED and 2 * again.sum() < told.sum():
            last = np.maximum.accumulate(np.where(blank[:, at], -1, np.arange(len(rows))))
            able = own & (last >= 0)
            codes[rows[able], at] = codes[rows[last[able]], at]
            changed = True
    return replace(grid, codes=codes) if changed else grid


#: Separates the words of a row from those of what it is part of.
PART_OF: Final = " / "


def row_labels(grid: Grid, region: Region, columns: Sequence[int]) -> list[Path]:
    """Return the words that name each row of the body, outermost first.

    They are the headings above the row, the labels in the columns, and before the last of these the
    labels that are indented less.

    Args:
        columns: The columns of a row's parents, the largest first, and the column of its own name.
    """
    chain, key = list(columns[:-1]), columns[-1] if columns else None
    headings = _headings(grid, region) if not chain else {}
    found: list[Path] = []
    within: list[tuple[int, str]] = []
    indents = grid.indents[region.body, key] if key is not None else np.zeros(len(region.body))
    if key is not None and not chain and not headings and len(np.unique(indents)) == 1:
        indents = _repeated(grid.codes[region.body, key])
    is_indented = not chain and len(np.unique(indents)) > 1
    if not headings and not is_indented:
        return _plain_labels(grid, region, columns)
    for i, row in enumerate(region.body.tolist()):
        words = [_words(grid.texts[row, at]) for at in columns]
        if is_indented and key is not None:
            depth = int(indents[i])
            within = [each for each in within if each[0] < depth]
            own = words[-1]
            words = [*(word for _, word in within), own]
            within.append((depth, own))
        above = headings.get(row, ())
        path = tuple(word for word in (*above, *words) if word)
        found.append(path or (f"row {int(grid.rows[row])}",))
    return found


def _plain_labels(grid: Grid, region: Region, columns: Sequence[int]) -> list[Path]:
    """Return the labels in some columns, where nothing stands above rows and none is indented."""
    texts, number = grid.combinations(region.body, columns)
    paths = [tuple(clean for word in words if (clean := _words(word))) for words in texts]
    rows = grid.rows[region.body].tolist()
    own = [paths[i] or (f"row {row}",) for i, row in zip(number.tolist(), rows, strict=True)]
    return _within(own) if len(columns) == 2 else own


def _within(paths: list[Path]) -> list[Path]:
    """Prepend to each path the rows that enclose its first row.

    Example:
        >>> _within([("England",), ("England", "Kent"), ("Kent", "Dover")])[-1]
        ('England', 'Kent', 'Dover')
    """
    above = {path[-1]: path[0] for path in paths if len(path) == 2 and path[0] != path[-1]}
    names = {path[-1] for path in paths}
    if len(names) < len(paths) or not {*above.values()} & {*above}:
        return paths
    found: list[Path] = []
    for path in paths:
        words = path
        while above.get(words[0]) in names - {*words}:
            words = (above[words[0]], *words)
        found.append(words)
    return found


def _repeated(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 1 for rows whose labels recur, in the same order, below labels that do not.

    Example:
        >>> _repeated(np.array([7, 1, 2, 8, 1, 2, 9, 1, 2])).tolist()
        [0, 1, 1, 0, 1, 1, 0, 1, 1]
    """
    order, number, often = np.unique(labels, return_inverse=True, return_counts=True)
    again = often[number] > 1
    heads = np.flatnonzero(~again)
    none = np.zeros(len(labels), dtype=np.int64)
    if len(heads) < 2 or not again.any() or again[0]:
        return none
    below = [tuple(each[1:].tolist()) for each in np.split(labels, heads)[1:]]
    # The first head, or the last, may be a total without parts of its own.
    inner = {*below} - ({below[0], below[-1]} & {()}) if len(below) > 2 else {*below}
    parts = next(iter(inner))
    is_alike = len(inner) == 1 and len(parts) == len(order) - len(heads) > 1
    return again.astype(np.int64) if is_alike and below.count(()) < 2 else none


def _words(text: object) -> str:
    return " ".join(str(text).split())


def _headings(grid: Grid, region: Region) -> dict[int, Path]:
    """Map rows of the body to the words of the headings above them."""
    if not region.headings:
        return {}
    found: dict[int, Path] = {}
    stack: list[tuple[int, str]] = []
    rows = sorted({*region.headings, *region.body.tolist()})
    is_heading = set(region.headings)
    for row in rows:
        if row not in is_heading:
            found[row] = tuple(word for _, word in stack)
            continue
        filled = np.flatnonzero(grid.filled[row])
        if len(filled) != 1 or int(filled[0]) > int(region.numeric[0]):
            continue
        depth = int(grid.indents[row, filled[0]])
        stack = [each for each in stack if each[0] < depth]
        stack.append((depth, _words(grid.texts[row, filled[0]])))
    return found


def rows_named(rows: Sequence[Path], words: Sequence[str]) -> tuple[int, ...]:
    """Return the places of rows whose label is one of ``words``; if none is, whose last word is.

    Example:
        >>> rows_named([("All",), ("Age", "Under 18")], ["Age / Under 18"])
        (1,)
        >>> rows_named([("All",), ("Age", "Under 18")], ["Under 18"])
        (1,)
    """
    chosen = {*words}
    if not chosen:
        return ()
    exact = tuple(i for i, path in enumerate(rows) if PART_OF.join(path) in chosen)
    return exact or tuple(i for i, path in enumerate(rows) if path[-1:] and path[-1] in chosen)


def is_called_total(path: Path) -> bool:
    """Test whether words call a row the total of others.

    Example:
        >>> is_called_total(("England", "All prisons")), is_called_total(("Wales", "Cardiff"))
        (True, False)
    """
    return is_total(path[-1]) or (len(path) > 1 and says(path[-1], Sense.TOTAL))
