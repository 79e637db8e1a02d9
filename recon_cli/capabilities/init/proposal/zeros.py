"""Texts in place of counts that stand for nobody, as sums tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from recon_cli.arrays import FloatArray
from recon_cli.statement.suppression import is_marker

#: Cells that a text has to be nobody in, in every sum, before it stands for nobody everywhere.
_FEWEST: Final = 5
#: The same of dashes, which offices print for nothing.
_FEWEST_DASHES: Final = 2
DASHES: Final = frozenset(("-", "\u2013", "\u2014", "\u2212"))
#: A cell: number of its table, its row, and its column.
Cell = tuple[int, int, int]


def may_be_nobody(text: str) -> bool:
    """Test whether a text may stand for nobody: agencies use it for nothing that is withheld.

    Example:
        >>> may_be_nobody("–"), may_be_nobody("nil"), may_be_nobody("*"), may_be_nobody("")
        (True, True, False, False)
    """
    return bool(text) and (text in DASHES or not is_marker(text))


class ZeroMarks:
    """What sums tell of texts in place of counts."""

    def __init__(self) -> None:
        self._nobody: dict[str, set[Cell]] = {}
        self._somebody: set[str] = set()

    def weigh(self, texts: Sequence[str], values: FloatArray, cells: Sequence[Cell]) -> None:
        """Weigh one sum, its total first.

        Nothing follows where a total and its parts are withheld together, or by several texts.

        Args:
            texts: What is printed in each cell.
            values: The numbers; NaN where a text stands.
            cells: Where they stand.
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
        """Return the texts that stand for nobody in every sum that tells something of them.

        Texts that agencies use for what is withheld are never among them: where they hide nobody
        in some sums, they may hide somebody elsewhere.
        """
        return frozenset(self._able())

    def _able(self) -> Iterable[str]:
        for mark, cells in self._nobody.items():
            fewest = _FEWEST_DASHES if mark in DASHES else _FEWEST
            if mark not in self._somebody and may_be_nobody(mark) and len(cells) >= fewest:
                yield mark
