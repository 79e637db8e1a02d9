"""A sheet as it stands: cells with their places, texts and numbers, nothing interpreted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray, FloatArray, IntArray, numbered
from recon_cli.errors import SourceError
from recon_cli.sources.read.numbers import Convention, Number, conventions, inside
from recon_cli.sources.tabular.sheet import ROW, Merge, Sheet

#: Most cells from which a reading is proposed: the first rows of a longer file.
MOST_CELLS: Final = 2_000_000
_BLANKS: Final = " \u00a0\t"
#: The end of a number that is printed with decimals, and whole.
_WHOLE_DECIMAL: Final = re.compile(r"\d[.,]0+\s*$")


@dataclass(frozen=True)
class Grid:
    """The cells of a sheet, or of its first rows.

    Attributes:
        label: Name of the sheet in messages.
        rows: The number of each row in its file, from 1; rows without any text are not here.
        words: The distinct texts of its cells, without blanks around them.
        codes: (rows × columns) Index in `words` of the text of each cell.
        indents: (rows × columns) Number of blanks before the text.
        merges: Ranges of merged cells, by places in the file from 0.
        convention: How its numbers are printed.
        is_whole: Whether all rows of the sheet are here.
        zeros: Texts that stand for nobody.
        in_parentheses: Whether a number in parentheses is read as that number.
    """

    label: str
    rows: NDArray[np.int64]
    words: NDArray[np.object_]
    codes: NDArray[np.intp]
    indents: NDArray[np.int64]
    merges: tuple[Merge, ...]
    convention: Convention
    alternatives: tuple[Convention, ...] = ()
    is_whole: bool = True
    zeros: frozenset[str] = frozenset()
    in_parentheses: bool = False

    @classmethod
    def of(cls, sheet: Sheet, most: int = MOST_CELLS) -> Grid:
        """Read the cells of a sheet.

        Args:
            most: Most cells to read; further rows are left for the replay.

        Raises:
            SourceError: The sheet has no text.
        """
        batches: list[pl.DataFrame] = []
        left, is_whole = max(-(-most // sheet.width), 2), True
        for batch in sheet.batches():
            is_whole = batch.height <= left
            batches.append(batch.head(left))
            left -= batches[-1].height
            if not is_whole:
                break
        rows = pl.concat(batches) if batches else pl.DataFrame()
        if not rows.height:
            raise SourceError(f"{sheet.label}: expected a table, found nothing in it")
        cells = pl.concat([column.rename("") for column in rows.drop(ROW)]).fill_null("")
        raw, own = _numbered(cells)
        bare = raw.str.strip_chars(_BLANKS + "\n\r")
        words, number = _numbered(bare)
        codes = own.reshape(sheet.width, rows.height).T
        lead = (raw.str.len_chars() - raw.str.strip_chars_start(_BLANKS).str.len_chars()).to_numpy()
        likely = conventions(words.to_list())
        found = cls(
            sheet.label,
            rows[ROW].to_numpy().astype(np.int64),
            words.to_numpy(),
            number[codes],
            np.where(bare == "", 0, lead)[codes],
            sheet.merges,
            likely[0],
            likely[1:],
            is_whole,
        )
        return found._with_whole_names()

    def _with_whole_names(self) -> Grid:
        """Join a name that runs over two rows, in the second of them, which has its numbers.

        The first row has nothing else; the second is indented and stands alone below it; and rows
        that are indented as the first have cells of their own.
        """
        many, first = self.filled.sum(axis=1), self.filled.argmax(axis=1)
        rows = np.arange(len(first))
        alone = np.flatnonzero((many[:-1] == 1) & (many[1:] > 1) & (first[:-1] == first[1:]))
        depth = self.indents[rows, first]
        alone = alone[depth[alone + 1] > depth[alone]]
        after = np.minimum(alone + 2, len(rows) - 1)
        is_last = (after == alone + 1) | (depth[after] <= depth[alone])
        beside = (many > 1)[:, None] & (first[:, None] == first[alone])
        is_like = (beside & (depth[:, None] == depth[alone])).any(axis=0)
        ends = self.codes[alone + 1, first[alone]]
        is_own = np.bincount(ends, minlength=len(self.words))[ends] == 1
        upper = alone[is_last & is_like & is_own]
        if not len(upper):
            return self
        at = first[upper]
        codes, indents = self.codes.copy(), self.indents.copy()
        codes[upper + 1, at] = len(self.words) + np.arange(len(upper))
        indents[upper + 1, at] = depth[upper]
        names = self.texts[upper, at] + " " + self.texts[upper + 1, at]
        kept = np.delete(rows, upper)
        return replace(
            self,
            rows=self.rows[kept],
            words=np.append(self.words, names),
            codes=codes[kept],
            indents=indents[kept],
        )

    def under(self, convention: Convention) -> Grid:
        """Return the same cells with their numbers printed by another convention."""
        return replace(self, convention=convention)

    def with_zeros(self, texts: Iterable[str]) -> Grid:
        """Return the same cells with some texts that stand for nobody."""
        return replace(self, zeros=frozenset(texts))

    def only(self, rows: slice, columns: slice) -> Grid:
        """Return the same grid with nothing in the cells outside some rows and columns."""
        words = self.words if "" in self.words else np.append(self.words, "")
        codes = np.full_like(self.codes, int(np.argmax(words == "")))
        codes[rows, columns] = self.codes[rows, columns]
        merges = tuple(each for each in self.merges if columns.start <= each[1] < columns.stop)
        return replace(self, words=words, codes=codes, merges=merges)

    def _number(self, text: str) -> Number | None:
        if text in self.zeros:
            return Number(0.0)
        own = inside(text) if self.in_parentheses else None
        return self.convention.number(text if own is None else own)

    @property
    def shape(self) -> tuple[int, int]:
        """Return rows and columns."""
        return int(self.texts.shape[0]), int(self.texts.shape[1])

    @cached_property
    def texts(self) -> NDArray[np.object_]:
        """(rows × columns) The text of each cell, without blanks around it."""
        return self.words[self.codes]

    def coded(self, at: Any) -> tuple[list[str], IntArray]:
        """Return the distinct texts of cells in order of appearance, and each cell's index in them.

        Args:
            at: An index of the cells, as numpy takes it.
        """
        codes = self.codes[at]
        flat = codes.ravel()
        first = np.full(len(self.words), len(flat))
        first[flat[::-1]] = np.arange(len(flat))[::-1]
        there = np.flatnonzero(first < len(flat))
        there = there[np.argsort(first[there])]
        number = np.zeros(len(self.words), dtype=np.int64)
        number[there] = np.arange(len(there))
        return self.words[there].tolist(), number[codes]

    def combinations(
        self, rows: NDArray[np.intp], columns: Sequence[int]
    ) -> tuple[list[tuple[str, ...]], IntArray]:
        """Return the combinations of texts in some columns that occur, and each row's index."""
        found, many = np.zeros(len(rows), dtype=np.int64), 1
        for at in columns:
            own = found * len(self.words) + self.codes[rows, at]
            found, many = numbered(own, many * len(self.words))
        some = np.zeros(many, dtype=np.intp)
        some[found] = rows
        texts = self.words[self.codes[np.ix_(some, np.array(columns, dtype=np.intp))]]
        return list(map(tuple, texts.tolist())), found

    def of_words(self, told: Callable[[str], Any], dtype: type) -> NDArray[Any]:
        """(rows × columns) The result of ``told`` for the text of each cell."""
        return np.array([told(word) for word in self.words], dtype=dtype)[self.codes]

    @cached_property
    def filled(self) -> BoolArray:
        """Return cells that are not empty."""
        return self.of_words(bool, bool)

    @cached_property
    def _numbers(self) -> dict[str, Number | None]:
        return {word: self._number(word) for word in self.words}

    def number(self, text: str) -> Number | None:
        """Return the number that a text of this sheet is."""
        return self._numbers[text] if text in self._numbers else self._number(text)

    def _of_numbers(self, told: Callable[[Number], Any], none: float, dtype: type) -> NDArray[Any]:
        flat = [none if number is None else told(number) for number in self._numbers.values()]
        return np.array(flat, dtype=dtype)[self.codes]

    @cached_property
    def values(self) -> FloatArray:
        """(rows × columns) The number in a cell; NaN where there is none."""
        return self._of_numbers(lambda number: number.value, np.nan, np.float64)

    @cached_property
    def decimals(self) -> NDArray[np.int64]:
        """(rows × columns) Digits behind the decimal sign."""
        return self._of_numbers(
            lambda number: 0 if number.value == int(number.value) else number.decimals, 0, np.int64
        )

    def are_broken(self, at: Any) -> BoolArray:
        """Test which numbers are not whole, as rates are.

        *50.0* may be a count that a program wrote so, but not in a column beside *58.7*.

        Args:
            at: An index of the cells, as numpy takes it; the result has its shape.
        """
        found: BoolArray = self.decimals[at] > 0
        unique, inverse = self.coded(at)
        ends = np.array([_WHOLE_DECIMAL.search(text) is not None for text in unique], dtype=bool)
        found |= ends[inverse] & found.any(axis=0)
        return found

    @cached_property
    def percents(self) -> BoolArray:
        """(rows × columns) Whether a percent sign stands behind the number."""
        return self._of_numbers(lambda number: number.is_percent, 0, bool)

    @cached_property
    def is_number(self) -> BoolArray:
        """(rows × columns) Whether a cell is a number."""
        return ~np.isnan(self.values)

    def spans(self) -> dict[tuple[int, int], tuple[int, int]]:
        """First cell of each merged range → its last row and column, by places in this grid."""
        if not self.merges:
            return {}
        at = {int(number) - 1: i for i, number in enumerate(self.rows)}
        width = self.shape[1]
        found: dict[tuple[int, int], tuple[int, int]] = {}
        for top, left, bottom, right in self.merges:
            inside = [at[row] for row in range(top, bottom + 1) if row in at]
            if top in at and inside:
                found[at[top], left] = inside[-1], min(right, width - 1)
        return found


def _numbered(texts: pl.Series) -> tuple[pl.Series, IntArray]:
    """Return the distinct texts in order of appearance, and the number of each."""
    distinct = texts.unique(maintain_order=True)
    number = texts.replace_strict(distinct, pl.int_range(len(distinct), eager=True))
    return distinct, number.to_numpy()
