"""A sheet as it stands: cells with their places, texts and numbers, nothing interpreted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray, FloatArray
from recon_cli.errors import SourceError
from recon_cli.sources.read.coding import coded
from recon_cli.sources.read.numbers import Convention, Number, conventions
from recon_cli.sources.tabular.sheet import Merge, Sheet

#: Cells that a reading is proposed from: the first rows of a longer file.
MOST_CELLS: Final = 2_000_000
_BLANKS: Final = " \u00a0\t"


@dataclass(frozen=True)
class Grid:
    """The cells of a sheet, or of its first rows.

    Attributes:
        label: How messages name the sheet.
        rows: The number of each row in its file, from 1; rows without any text are not here.
        texts: (rows × columns) What stands there, without blanks around it.
        indents: (rows × columns) Blanks before it.
        merges: Ranges of cells that are one, by places in the file from 0.
        convention: How its numbers are printed.
        is_whole: Whether all rows of the sheet are here.
        zeros: Texts that stand for nobody.
    """

    label: str
    rows: NDArray[np.int64]
    texts: NDArray[np.object_]
    indents: NDArray[np.int64]
    merges: tuple[Merge, ...]
    convention: Convention
    alternatives: tuple[Convention, ...] = ()
    is_whole: bool = True
    zeros: frozenset[str] = frozenset()

    @classmethod
    def of(cls, sheet: Sheet, most: int = MOST_CELLS) -> Grid:
        """Read the cells of a sheet.

        Args:
            most: Cells at most; further rows are left for the replay.

        Raises:
            SourceError: The sheet has no text.
        """
        numbers: list[int] = []
        rows: list[tuple[str, ...]] = []
        is_whole = True
        for batch in sheet.batches():
            for row in batch.iter_rows():
                if len(rows) * sheet.width >= most and len(rows) > 1:
                    is_whole = False
                    break
                numbers.append(row[0])
                rows.append(tuple(cell or "" for cell in row[1:]))
            if not is_whole:
                break
        if not rows:
            raise SourceError(f"{sheet.label}: expected a table, found nothing in it")
        raw = np.array(rows, dtype=object).reshape(len(rows), sheet.width)
        unique, inverse = coded(raw)
        bare = np.array([text.strip(_BLANKS + "\n\r") for text in unique], dtype=object)
        lead = np.array([len(text) - len(text.lstrip(_BLANKS)) for text in unique], dtype=np.int64)
        likely = conventions(bare.tolist())
        texts = bare[inverse]
        return cls(
            sheet.label,
            np.array(numbers, dtype=np.int64),
            texts,
            np.where(texts == "", 0, lead[inverse]),
            sheet.merges,
            likely[0],
            likely[1:],
            is_whole,
        )

    def under(self, convention: Convention) -> Grid:
        """Return the same cells with their numbers printed by another convention."""
        return replace(self, convention=convention)

    def with_zeros(self, texts: Iterable[str]) -> Grid:
        """Return the same cells with some texts that stand for nobody."""
        return replace(self, zeros=frozenset(texts))

    def _number(self, text: str) -> Number | None:
        return Number(0.0) if text in self.zeros else self.convention.number(text)

    @property
    def shape(self) -> tuple[int, int]:
        """Return rows and columns."""
        return int(self.texts.shape[0]), int(self.texts.shape[1])

    @cached_property
    def filled(self) -> BoolArray:
        """Return cells that are not empty."""
        found: BoolArray = self.texts != ""
        return found

    @cached_property
    def _parsed(self) -> tuple[dict[str, Number | None], list[str], NDArray[np.intp]]:
        names, inverse = coded(self.texts)
        return {t: self._number(t) for t in names}, names, inverse

    def number(self, text: str) -> Number | None:
        """Return the number that a text of this sheet is."""
        known = self._parsed[0]
        return known[text] if text in known else self._number(text)

    @cached_property
    def values(self) -> FloatArray:
        """(rows × columns) The number in a cell; NaN where there is none."""
        known, names, inverse = self._parsed
        flat = [np.nan if (n := known[name]) is None else n.value for name in names]
        return np.array(flat, dtype=np.float64)[inverse]

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """(rows × columns) Digits behind the decimal sign."""
        known, names, inverse = self._parsed
        flat = [
            0 if (n := known[name]) is None or n.value == int(n.value) else n.decimals
            for name in names
        ]
        return np.array(flat, dtype=np.int64)[inverse]

    @cached_property
    def percents(self) -> BoolArray:
        """(rows × columns) Whether a percent sign stands behind the number."""
        known, names, inverse = self._parsed
        flat = [(n := known[name]) is not None and n.is_percent for name in names]
        return np.array(flat, dtype=bool)[inverse]

    @cached_property
    def is_number(self) -> BoolArray:
        """(rows × columns) Whether a cell is a number."""
        return ~np.isnan(self.values)

    def spans(self) -> dict[tuple[int, int], tuple[int, int]]:
        """First cell of each merged range → its last row and column, by places in this grid."""
        at = {int(number) - 1: i for i, number in enumerate(self.rows)}
        width = self.shape[1]
        found: dict[tuple[int, int], tuple[int, int]] = {}
        for top, left, bottom, right in self.merges:
            inside = [at[row] for row in range(top, bottom + 1) if row in at]
            if top in at and inside:
                found[at[top], left] = inside[-1], min(right, width - 1)
        return found
