"""Texts in place of counts that stand for zero, as sums show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from recon_cli.arrays import FloatArray
from recon_cli.statement.suppression import is_marker

#: Fewest cells in which sums have to show a text as zero before it is zero everywhere.
_FEWEST: Final = 5
#: The same for dashes, which offices print for zero.
_FEWEST_DASHES: Final = 2
DASHES: Final = frozenset(("-", "\u2013", "\u2014", "\u2212"))
#: A cell: number of its table, its row, and its column.
Cell = tuple[int, int, int]


def may_be_nobody(text: str) -> bool:
    """Test whether a text may stand for zero: agencies do not use it for withheld counts.

    Example:
        >>> may_be_nobody("–"), may_be_nobody("nil"), may_be_nobody("*"), may_be_nobody("")
        (True, True, False, False)
    """
    return bool(text) and (text in DASHES or not is_marker(text))


class ZeroMarks:
    """The evidence of sums on texts in place of counts."""

    def __init__(self) -> None:
        self._nobody: dict[str, set[Cell]] = {}
        self._somebody: set[str] = set()

    def weigh(self, texts: Sequence[str], values: FloatArray, cells: Sequence[Cell]) -> None:
        """Add the evidence of one sum, its total first.

        There is none if texts stand for the total and for parts, or if several texts are used.

        Args:
            texts: The printed text of each cell.
            values: The numbers; NaN where a text stands.
            cells: The cells, in the same order.
        """
        is_open = np.isnan(values)
        marks = {text for text, is_mark in zip(texts, is_open.tolist(), strict=True) if is_mark}
        if len(marks) != 1 or "" in marks or (is_open[0] and is_open[1:].any()):
            return
        mark = marks.pop()
        whole, *parts = np.where(is_open, 0.0, values).tolist()
        if whole != sum(parts):
            self._somebody.add(mark)
        else:
            own = self._nobody.setdefault(mark, set())
            own |= {cell for cell, is_mark in zip(cells, is_open.tolist(), strict=True) if is_mark}

    def found(self) -> frozenset[str]:
        """Return the texts that stand for zero by every sum that has evidence of them.

        Texts that agencies use for withheld counts are never among these: where they hide zeros
        in some sums, they may hide people elsewhere.
        """
        return frozenset(self._able())

    def _able(self) -> Iterable[str]:
        for mark, cells in self._nobody.items():
            fewest = _FEWEST_DASHES if mark in DASHES else _FEWEST
            if mark not in self._somebody and may_be_nobody(mark) and len(cells) >= fewest:
                yield mark
