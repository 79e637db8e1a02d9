"""Rows of a sheet that have numbers, and columns of numbers; headers among them are told apart."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray, numbered
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.markers import looks_like_marker
from recon_cli.sources.read.numbers import ENGLISH, is_year
from recon_cli.sources.read.words import Sense, says

#: Fewest numbers in usual rows for rows with half as many to be dropped.
_FEWEST_OF_A_ROW: Final = 3


@dataclass(frozen=True)
class DataRows:
    """The rows and columns of numbers of a sheet."""

    grid: Grid

    @cached_property
    def marks(self) -> BoolArray:
        """Return cells with the form of a marker."""
        found: BoolArray = self.grid.of_words(looks_like_marker, bool) & ~self.grid.is_number
        return found

    def numeric(self) -> BoolArray:
        """Find columns of numbers: most cells in rows with numbers are numbers or markers."""
        numbers = self.grid.is_number
        rows = numbers.any(axis=1)
        filled = self.grid.filled
        inside = filled[rows]
        some = numbers[rows].sum(axis=0)
        marks = self.marks[rows].sum(axis=0)
        found: BoolArray = (some > 0) & (2 * (some + marks) >= inside.sum(axis=0))
        # Words repeated in most cells of a column of few numbers: a marker of its own.
        for column in np.flatnonzero((some > 0) & ~found).tolist():
            words = self.grid.codes[rows, column][~numbers[rows, column] & inside[:, column]]
            alike = np.unique(words, return_counts=True)[1]
            top = int(np.sort(alike)[-2:].sum())
            own = self.grid.values[rows, column]
            are_codes = 2 * len(np.unique(own[~np.isnan(own)])) <= some[column]
            is_one = len(alike) == 1 and len(words) > 1 and column > 0
            found[column] = is_one or (
                not are_codes and len(words) - top <= max(1, some[column] // 2)
            )
        return found

    def of(self, columns: NDArray[np.intp], said: Sequence[int]) -> BoolArray:
        """Find rows of numbers; a first row that counts up, like years, is a header instead."""
        numbers = self.grid.is_number[:, columns]
        marks = self.marks[:, columns]
        found: BoolArray = np.asarray(numbers.any(axis=1))
        full = (numbers | marks).sum(axis=1)
        first = int(np.argmax(found)) if found.any() else 0
        rows = np.arange(len(found))
        found |= (rows > first) & marks.any(axis=1) & (2 * full >= len(columns))
        for row in range(first - 1, 0, -1):
            if not self._is_like(row, first, columns):
                break
            found[row] = True
        self._fill_between(found, columns)
        if said:
            found[: max(said) + 1] = False
        kept = found.copy()
        for row in np.flatnonzero(found)[:40].tolist():
            is_header = self._counts_up(row, columns) or self._has_words(row, columns)
            if not is_header or not found[row + 1 :].any():
                break
            kept[row] = False
        if said:
            return self._without_sparse_end(kept, full)
        if not kept.any():
            return found
        kept &= ~(
            self.are_headers(columns) | self._are_headers_again(int(np.argmax(kept)), columns)
        )
        wide = full >= 2
        alone = found & ~wide & (np.arange(len(found)) < int(np.argmax(kept & (wide | ~found))))
        alone &= ~self._is_below_words(columns)
        if len(columns) > 3 and (kept & wide).any():
            kept &= ~alone | (np.arange(len(found)) >= int(np.argmax(kept & wide)))
        return self._without_sparse_end(kept, full)

    def are_headers(self, columns: NDArray[np.intp]) -> BoolArray:
        """Find rows of texts alone that occur nowhere else in their columns.

        The row above may share some of these texts if it spans columns, as an outer header. A
        header has a word, or stands over the first numbers of a table, since ages look like
        intervals of counts. A named row that repeats a mark is withheld.
        """
        numbers: BoolArray = np.asarray(self.grid.is_number[:, columns].any(axis=1))
        texts = self.grid.filled[:, columns] & ~self.grid.is_number[:, columns]
        words = (texts & ~self.marks[:, columns]).any(axis=1)
        before = np.concatenate([[False], numbers[:-1] & (np.diff(self.grid.rows) == 1)])
        able = (words | ~before) & (texts.sum(axis=1) > 1) & ~numbers
        found = np.zeros(len(able), dtype=bool)
        for row in np.flatnonzero(able).tolist():
            at = columns[texts[row]][1:]
            is_own = self.grid.codes[:, at] == self.grid.codes[row, at]
            above = max(row - 1, 0)
            is_own[above] &= bool(numbers[above]) or texts[above].sum() >= texts[row].sum()
            is_own[row] = False
            found[row] = not is_own.any() and not self._is_withheld(row, columns[texts[row]])
        return found

    def _are_headers_again(self, first: int, columns: NDArray[np.intp]) -> BoolArray:
        """Find rows that repeat a row of texts above the numbers: a header printed again."""
        codes, texts = self.grid.codes[:, columns], self.grid.filled[:, columns]
        found = np.zeros(len(codes), dtype=bool)
        for row in range(first):
            if texts[row].sum() > 1 and not self.grid.is_number[row, columns].any():
                found |= (codes == codes[row]).all(axis=1)
        return found

    def _is_withheld(self, row: int, at: NDArray[np.intp]) -> bool:
        """Test whether a named row has only marks, some of them repeated."""
        beside = np.setdiff1d(np.arange(self.grid.shape[1]), at)
        is_named = bool((self.grid.filled[[max(row - 1, 0), row]][:, beside]).all(axis=0).any())
        is_marked = bool(self.marks[row, at].all())
        return row > 0 and is_named and is_marked and len({*self.grid.codes[row, at]}) < len(at)

    def _is_below_words(self, columns: NDArray[np.intp]) -> BoolArray:
        """Find rows below a row that has words over most columns of numbers."""
        words = self.grid.filled[:, columns] & ~self.grid.is_number[:, columns]
        words &= ~self.marks[:, columns]
        over = 2 * words.sum(axis=1) > len(columns)
        found: BoolArray = np.cumsum(over) - over > 0
        return found

    def _without_sparse_end(self, found: BoolArray, full: NDArray[np.int64]) -> BoolArray:
        """Drop rows at the end, below a blank row, that have at most half as many numbers."""
        gaps = np.flatnonzero(np.diff(self.grid.rows) > 1) + 1
        if not len(gaps) or not found.any():
            return found
        most = np.maximum.reduceat(np.where(found, full, 0), np.array([0, *gaps]))
        usual = int(most[np.flatnonzero(most)[0]])
        if usual < _FEWEST_OF_A_ROW:
            return found
        last = int(np.flatnonzero(2 * most > usual)[-1])
        end = int(gaps[last]) if last < len(gaps) else len(found)
        return found & (np.arange(len(found)) < end)

    def _fill_between(self, found: BoolArray, columns: NDArray[np.intp]) -> None:
        """Add rows without numbers whose other cells are filled as in rows of numbers."""
        if found.sum() < 2:
            return
        filled = self.grid.filled
        beside = np.setdiff1d(np.arange(self.grid.shape[1]), columns)
        rows = np.flatnonzero(found)
        number, many = np.zeros(len(rows), dtype=np.int64), 1
        for at in beside.tolist():
            number, many = numbered(2 * number + filled[rows, at], 2 * many)
        most = int(np.bincount(number, minlength=1).argmax())
        usual = filled[rows[int((number == most).argmax())], beside]
        if not usual.any():
            return
        words = filled[:, columns] & ~self.grid.is_number[:, columns] & ~self.marks[:, columns]
        few = words.sum(axis=1) <= max(1, len(columns) // 2)
        full = 2 * filled[:, columns].sum(axis=1) >= np.median(filled[np.ix_(rows, columns)].sum(1))
        # In a table with a row for each count, a row without its number still names the people.
        is_long = usual.sum() > (1 if len(columns) == 1 else 2)
        blank = ~filled[:, columns].any(axis=1) & is_long
        alike = (filled[:, beside] == usual).all(axis=1) & (full | blank) & few
        first, last = int(rows[0]), int(rows[-1]) + 1
        found[first : last + 1] |= alike[first : last + 1]

    def _is_like(self, row: int, first: int, columns: NDArray[np.intp]) -> bool:
        """Test whether a row above the first number has marks in place of all its numbers.

        It has words where the first row of numbers has; or it repeats one mark that is no header.
        """
        beside = np.setdiff1d(np.arange(self.grid.shape[1]), columns)
        filled = self.grid.filled
        own = columns[filled[row, columns]]
        if not filled[row, beside].any() or not len(own) or not self.marks[row, own].all():
            return False
        is_alike = bool((filled[row, beside] == filled[first, beside]).all())
        return is_alike or self._is_one_mark(row, own)

    def _is_one_mark(self, row: int, at: NDArray[np.intp]) -> bool:
        """Test whether columns of a row repeat one mark, which names no unit, sex or number."""
        (text, *others) = {str(self.grid.texts[row, column]) for column in at.tolist()}
        senses = Sense.UNIT, Sense.PERCENTAGE, Sense.MALE, Sense.FEMALE
        is_plain = not any(map(str.isdigit, text)) and not any(says(text, s) for s in senses)
        return not others and len(at) > 1 and is_plain

    def _counts_up(self, row: int, columns: NDArray[np.intp]) -> bool:
        """Test whether the numbers of a row are those of a header: years, or ages one by one."""
        at = columns[self.grid.is_number[row, columns]]
        if len(at) == 1:
            return self._heads_alone(row, int(at[0]))
        if len(at) < 2 or self.marks[row, columns].sum() > len(at):
            return False
        numbers = [self.grid.number(str(self.grid.texts[row, j])) for j in at.tolist()]
        told = [number for number in numbers if number is not None]
        if all(number.value == j + 1 for number, j in zip(told, at.tolist(), strict=True)):
            return True  # columns numbered from the left
        if all(map(is_year, told)):
            below = [
                ENGLISH.number(str(self.grid.texts[i, at[0]]))
                for i in range(row + 1, min(row + 6, self.grid.shape[0]))
            ]
            beneath = [number for number in below if number is not None]
            return not beneath or not all(map(is_year, beneath))
        values = [number.value for number in told]
        distinct = list(dict.fromkeys(values))
        steps = {two - one for one, two in itertools.pairwise(distinct)}
        return steps == {1.0} and len(distinct) > 2

    def _has_words(self, row: int, columns: NDArray[np.intp]) -> bool:
        """Test whether a row has words over several columns of numbers that do not recur below."""
        words = [
            j
            for j in columns.tolist()
            if self.grid.filled[row, j]
            and not self.grid.is_number[row, j]
            and not self.marks[row, j]
        ]
        return len(words) > 1 and not any(
            (self.grid.texts[row + 1 :, j] == self.grid.texts[row, j]).any() for j in words
        )

    def _heads_alone(self, row: int, at: int) -> bool:
        """Test whether a row has one number, a year, beside words that do not recur below."""
        number = self.grid.number(str(self.grid.texts[row, at]))
        if number is None or not is_year(number):
            return False
        below = self.grid.values[row + 1 :, at]
        told = below[~np.isnan(below)]
        if not len(told) or ((told >= 1600) & (told < 2100)).all():
            return False
        words = [j for j in np.flatnonzero(self.grid.filled[row]).tolist() if j != at]
        return bool(words) and not any(
            (self.grid.texts[row + 1 :, j] == self.grid.texts[row, j]).any() for j in words
        )
