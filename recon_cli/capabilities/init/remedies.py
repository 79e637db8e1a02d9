"""Propose lines to leave out of a table, so that all numbers left among its counts are counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from recon_cli.arrays import BoolArray
from recon_cli.capabilities.init.open_question import flag
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.capabilities.init.proposal.relation import Axis
from recon_cli.sources.read.row_labels import PART_OF

#: Most lines that a remedy names.
_MOST: Final = 3


def remedies(table: ProposedTable, is_none: Callable[[str], bool]) -> list[str]:
    """Return ways to leave lines out of a table, each as a part of a sentence with its flags.

    Each way names few lines, and leaves some counts, all of which are counts.

    Args:
        is_none: Tests whether a text among the counts is a number that is no count.
    """
    inside = np.ix_(table.region.body, np.array(table.counts, dtype=np.intp))
    odd: BoolArray = table.grid.of_words(is_none, bool)[inside]
    ways = _values(table, odd) if table.names.is_long else _lines(table, odd)
    columns = np.flatnonzero(odd.any(axis=0)).tolist()
    return list(dict.fromkeys([*ways, *_left(table, (), columns)]))


def _lines(table: ProposedTable, odd: BoolArray) -> Iterator[str]:
    """Yield a way that leaves out rows and columns of a wide table, then one of rows alone.

    Between a row and a column, the one with the larger share of odd numbers is left out; if the
    shares are equal, one that is in no sum.
    """
    summed = [
        {line for e in table.relations.sums(axis) for line in (e.line, *e.of)}
        for axis in (Axis.ROWS, Axis.COLUMNS)
    ]
    is_free = np.array([row not in summed[0] for row in table.region.body.tolist()])
    is_loose = np.array([column not in summed[1] for column in table.counts])
    left, rows, columns = odd.copy(), list[int](), list[int]()
    while left.any():
        across, down = left.mean(axis=1), left.mean(axis=0)
        row, column = int(np.lexsort((is_free, across))[-1]), int(np.lexsort((is_loose, down))[-1])
        if (across[row], is_free[row]) > (down[column], is_loose[column]):
            rows.append(row)
            left[row] = False
        else:
            columns.append(column)
            left[:, column] = False
    yield from _left(table, sorted(rows), sorted(columns))
    yield from _left(table, np.flatnonzero(odd.any(axis=1)).tolist(), ())


def _left(table: ProposedTable, rows: Sequence[int], columns: Sequence[int]) -> Iterator[str]:
    """Yield the way that leaves out some lines, by their positions among rows and counts."""
    labels = [PART_OF.join(path) for path in table.rows]
    names = dict.fromkeys(labels[row] for row in rows)
    names |= dict.fromkeys(table.header(table.counts[column]) for column in columns)
    kept = {label for row, label in enumerate(labels) if row not in rows}
    is_some = len(rows) < len(labels) and len(columns) < len(table.counts)
    if is_some and all(names) and len(names) <= _MOST and (not rows or kept.isdisjoint(names)):
        lines = [("row", len(rows)), ("column", len(columns))]
        what = " and ".join(f"the {line}{'s' * (many > 1)}" for line, many in lines if many)
        yield f"leave {what} out (`recon init {flag('leave-out', *names)}`)"


def _values(table: ProposedTable, odd: BoolArray) -> Iterator[str]:
    """Yield ways to read only some values of a column of a long table, or to leave some out."""
    rows = odd.any(axis=1)
    for at in table.names.keys:
        values, number = table.grid.coded((table.region.body, at))
        is_odd = np.bincount(number, weights=rows, minlength=len(values)) > 0
        out = [value for value, own in zip(values, is_odd.tolist(), strict=True) if own]
        kept = [value for value in values if value not in out]
        if at != table.place and 0 < len(kept) <= min(_MOST, len(values) - 1):
            said = [f"{table.header(at)}={value}" for value in kept]
            shown = " and ".join(map(repr, kept))
            yield f"read {shown} alone (`recon init {flag('where', *said)}`)"
        elif kept and len(out) <= _MOST:
            shown = " and ".join(map(repr, out))
            yield f"leave {shown} out (`recon init {flag('leave-out', *out)}`)"
