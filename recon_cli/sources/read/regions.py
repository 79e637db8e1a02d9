"""The tables of a sheet: rows of headers, rows of numbers, and the columns beside these."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray
from recon_cli.errors import SourceError
from recon_cli.sources.read.data_rows import DataRows
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.numbers import is_year
from recon_cli.sources.read.statistic_words import statistic_named
from recon_cli.sources.read.words import Sense, is_word, says

#: Fewest headings of which one may be a row.
_FEWEST_GROUPS: Final = 3
#: Fewest bits of evidence for a sum: it holds by chance less than once in two to this power.
_FEWEST_BITS: Final = 10.0
#: Greatest difference, as a share, between a total of rounded counts and their sum.
_ROUNDED: Final = 0.05
#: Least share of rows with the names of the first table in a second one, or with names of its own.
_ALIKE: Final = 0.8
#: Most rows above the numbers that may be headers.
_MOST_HEADERS: Final = 20
#: Fewest numbered rows that are taken for notes.
_FEWEST_NOTES: Final = 2


@dataclass(frozen=True)
class Region:
    """One table of a sheet, by places in its grid.

    Attributes:
        header: Rows with the words over the columns.
        body: Rows with numbers, or with texts in place of all of them.
        headings: Rows among these with words alone, which name the group of rows below.
        numeric: Columns of numbers.
        stub: Columns of words beside them.
        within: Its first column and the one after its last, if other tables stand beside it.
    """

    header: tuple[int, ...]
    body: NDArray[np.intp]
    headings: tuple[int, ...]
    numeric: NDArray[np.intp]
    stub: NDArray[np.intp]
    within: tuple[int, int] | None = None

    def of(self, grid: Grid) -> Grid:
        """Return a grid without the columns of tables that stand beside this one."""
        if self.within is None:
            return grid
        return grid.only(slice(0, grid.shape[0]), slice(*self.within))


@dataclass(frozen=True)
class Regions:
    """The tables of a sheet; what is above, between and below them is titles and notes."""

    grid: Grid
    tables: tuple[Region, ...]

    @classmethod
    def of(cls, grid: Grid, header: Sequence[int] = ()) -> Regions:
        """Find the tables of a sheet.

        Args:
            header: Numbers of the header rows in the file, if they are given.
        """
        found = _Finder(grid)
        said = [i for i, number in enumerate(grid.rows.tolist()) if number in header]
        return cls(grid, tuple(found.tables(said)))


class _Finder:
    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.rows = DataRows(grid)

    def tables(self, said: Sequence[int]) -> list[Region]:
        """Return the tables, from top to bottom."""
        numeric = self.rows.numeric()
        if not numeric.any():
            return []
        columns = np.flatnonzero(numeric)
        data = self.rows.of(columns, said)
        if not data.any() or (not said and self._numbers_notes(columns)):
            return []
        self._require_one_column_of_rows(int(np.argmax(data)), numeric)
        found: list[Region] = []
        for first, last in self._stretches(data, columns):
            starts = self._starts(np.flatnonzero(data[first : last + 1]) + first, columns)
            if starts:
                found += self._side_by_side(first, last, starts, said)
            elif (region := self._region(first, last, data, columns, said)) is not None:
                before = found[-1] if found else None
                if before is not None and self._goes_on(before, region):
                    found[-1] = replace(
                        before,
                        body=np.concatenate([before.body, region.body]),
                        headings=(*before.headings, *region.headings),
                        numeric=np.union1d(before.numeric, region.numeric).astype(np.intp),
                    )
                else:
                    found.append(region)
        return found

    def _require_one_column_of_rows(self, first: int, numeric: BoolArray) -> None:
        """Refuse a table that continues beside itself, like the columns of a newspaper.

        Then a header row has its words twice, over different names of rows.

        Raises:
            SourceError: The table does; the message has the column.
        """
        for row in range(min(first, _MOST_HEADERS)):
            at = np.flatnonzero(self.grid.filled[row])
            texts = self.grid.texts[row, at].tolist()
            half = len(at) // 2
            if half < 2 or texts[:half] != texts[half:] or len({*texts}) < half:
                continue
            left, right = int(at[0]), int(at[half])
            one, two = (
                {*filter(None, self.grid.texts[row + 1 :, j].tolist())} for j in (left, right)
            )
            if not numeric[[left, right]].any() and len(one) > 1 and one.isdisjoint(two):
                raise SourceError(
                    f"{self.grid.label}: the table goes on beside itself, from column {right + 1} "
                    f"({texts[half]!r}) on: write those rows below the others"
                )

    def _numbers_notes(self, columns: NDArray[np.intp]) -> bool:
        """Test whether the only numbers of a sheet are those of notes: 1, 2, 3, … before texts."""
        rows = np.flatnonzero(self.grid.is_number.any(axis=1))
        if len(columns) != 1 or len(rows) < _FEWEST_NOTES or self.grid.is_number.sum() > len(rows):
            return False
        at = int(columns[0])
        own = self.grid.values[rows, at]
        beside = self.grid.filled[rows]
        is_first = not beside[:, :at].any() and bool(beside[:, at + 1 :].any(axis=1).all())
        return is_first and np.array_equal(own, np.arange(1, len(rows) + 1))

    def _goes_on(self, before: Region, region: Region) -> bool:
        """Test whether a table continues below a repeated header: no row occurs twice."""
        codes = self.grid.codes
        one, two = codes[list(before.header)], codes[list(region.header)]
        is_same = before.within is None and len(one) > 0 and np.array_equal(one, two)
        if not is_same or not np.array_equal(before.stub, region.stub):
            return False
        rows = (codes[np.ix_(each.body, each.stub)].tolist() for each in (before, region))
        first, second = ({*map(tuple, own)} for own in rows)
        return first.isdisjoint(second)

    def _stretches(self, data: BoolArray, columns: NDArray[np.intp]) -> list[tuple[int, int]]:
        """Return first and last row of each table: words over several columns begin a new one."""
        rows = np.flatnonzero(data)
        texts = self.grid.filled[:, columns] & ~self.grid.is_number[:, columns]
        words = (texts & ~self.rows.marks[:, columns]).any(axis=1)
        # Ages look like intervals of counts; over the first numbers below a gap they are headers.
        over = np.where(words | self.rows.are_headers(columns), texts.sum(axis=1), 0)
        cuts: list[tuple[int, int]] = []
        first = int(rows[0])
        for gap in np.flatnonzero(np.diff(rows) > 1).tolist():
            one, two = int(rows[gap]), int(rows[gap + 1])
            if (over[one + 1 : two] >= max(2, len(columns) // 3)).any():
                cuts.append((first, one))
                first = two
        cuts.append((first, int(rows[-1])))
        return cuts

    def _region(
        self,
        first: int,
        last: int,
        data: BoolArray,
        columns: NDArray[np.intp],
        said: Sequence[int],
    ) -> Region | None:
        body = np.flatnonzero(data[first : last + 1]) + first
        numbers = self.grid.is_number[body]
        # A column without a number here may be withheld as a whole, under a header.
        numeric = columns[(numbers[:, columns] | self.rows.marks[body][:, columns]).any(axis=0)]
        withheld = self.rows.marks[body].sum(axis=0) == self.grid.filled[body].sum(axis=0)
        withheld &= self.grid.filled[body].any(axis=0) & ~np.isin(
            np.arange(self.grid.shape[1]), columns
        )
        if len(numeric):
            # Before the first number a column has marks of footnotes, unless it has one throughout.
            full = (self.grid.codes[body] == self.grid.codes[body[0]]).all(axis=0)
            withheld[: int(numeric[0])] &= full[: int(numeric[0])]
        inside = self.grid.texts[np.ix_(body, numeric)]
        known = {str(text) for text in inside[self.rows.marks[np.ix_(body, numeric)]].tolist()}
        for at in np.flatnonzero(withheld).tolist():
            own = {str(text) for text in self.grid.texts[body, at].tolist() if text}
            withheld[at] = own <= known or not any(text.isalpha() for text in own)
            withheld[at] |= self._is_one_letter(body, at, numeric)
        numeric = np.union1d(numeric, np.flatnonzero(withheld)).astype(np.intp)
        if not len(numeric):
            return None
        texts = self.grid.filled[body]
        words = [
            at for at in np.flatnonzero(texts.any(axis=0)).tolist() if at not in numeric.tolist()
        ]
        numeric = np.array(
            [
                at
                for at in numeric.tolist()
                if not self._is_code(body, at, numeric)
                and not self._names_rows(body, at, words, numeric)
            ],
            dtype=np.intp,
        )
        if not len(numeric):
            return None
        stub = np.flatnonzero(texts.any(axis=0) & ~np.isin(np.arange(texts.shape[1]), numeric))
        headings = [
            row for row in range(first, last + 1) if not data[row] and self.grid.filled[row].any()
        ]
        header = list(said) or self._header(first, data, numeric)
        if not said and self._is_first_heading(header, headings):
            header = header[:-1]
        if not header and len(body) < 3:
            return None  # a list of contents, a date
        lead = (
            [row for row in range(max(header) + 1, first) if self.grid.filled[row].any()]
            if header
            else []
        )
        if headings and not lead and not self._may_head(body, numeric, headings[0]):
            body, headings = np.union1d(body, headings).astype(np.intp), []
        among = self._among_parts(body, numeric, [*lead, *headings])
        headings = [row for row in headings if row not in among]
        body = np.union1d(body, among).astype(np.intp)
        return Region(tuple(header), body, (*lead, *headings), numeric, stub)

    def _is_one_letter(self, body: NDArray[np.intp], at: int, numeric: NDArray[np.intp]) -> bool:
        """Test whether a column among columns of numbers has a header and one mark throughout.

        Where every second column has, these are flags of the columns before them.
        """
        if not len(numeric) or not numeric[0] < at < numeric[-1]:
            return False
        marks: BoolArray = np.asarray(self.rows.marks[body].all(axis=0))
        others = np.flatnonzero(marks[numeric[0] : numeric[-1]]) + int(numeric[0])
        is_one = bool((self.grid.codes[body, at] == self.grid.codes[body[0], at]).all())
        is_named = bool(self.grid.filled[: body[0], at].any())
        return bool(marks[at]) and is_one and is_named and 2 * len(others) < len(numeric)

    def _is_first_heading(self, header: Sequence[int], headings: Sequence[int]) -> bool:
        """Test whether the last row of a header is a heading, like another one in its column."""
        if len(header) < 2 or not headings:
            return False
        filled = self.grid.filled[[header[-1], *headings]]
        alone = filled[0].sum() == 1 and self.grid.filled[header[:-1]].sum() > 1
        return bool(alone and (filled[1:] == filled[0]).all(axis=1).any())

    def _side_by_side(
        self, first: int, last: int, starts: Sequence[int], said: Sequence[int]
    ) -> Iterator[Region]:
        """Yield the tables that stand side by side: each has columns of its own that name rows."""
        data = np.flatnonzero(self.grid.is_number[:first].any(axis=1))
        top = int(data[-1]) + 1 if len(data) else 0
        for left, right in itertools.pairwise([0, *starts, self.grid.shape[1]]):
            own = self.grid.only(slice(top, last + 1), slice(left, right))
            for region in _Finder(own).tables(said):
                yield replace(region, within=(left, right))

    def _starts(self, body: NDArray[np.intp], numeric: NDArray[np.intp]) -> list[int]:
        """Return the first columns of further tables beside the first.

        Such a column repeats the names in a column of the first table, or stands after a blank
        column and has a different name in each row.
        """
        filled, texts = self.grid.filled[body], self.grid.texts[body]
        beside = np.setdiff1d(np.flatnonzero(filled.any(axis=0)), numeric).tolist()
        distinct = {at: len({*texts[filled[:, at], at].tolist()}) for at in beside}
        # Stars all down a column are no names.
        words = [at for at, many in distinct.items() if 2 * many > len(body)]
        names = [at for at in words if at < numeric[0]]
        found: list[int] = []
        for at in words if names else ():
            rows = filled[:, at]
            again = max(float(np.mean(texts[rows, at] == texts[rows, name])) for name in names)
            is_apart = not filled[:, at - 1].any() and distinct[at] >= _ALIKE * rows.sum()
            if numeric[0] < at < numeric[-1] and (again >= _ALIKE or is_apart):
                found.append(at)
        return [at for at in found if at - 1 not in found]

    def _may_head(self, body: NDArray[np.intp], numeric: NDArray[np.intp], heading: int) -> bool:
        """Test whether a row of words is a heading: no rows, or rows of totals, are above it.

        A percent sign is a heading, too. Otherwise the row is one of the body, without numbers.
        """
        words = " ".join(str(text) for text in self.grid.texts[heading] if text)
        if is_word(words, Sense.PERCENTAGE):
            return True
        values = self.grid.values[np.ix_(body, numeric)]
        above, below = values[body < heading], values[body > heading]
        told = (below == np.floor(below)).all(axis=0)  # rates do not add up
        if not len(above):
            return True
        if not told.any():  # of one row it may be the total, of more than one it is not told
            return len(above) == 1
        above = above[~np.isnan(above[:, told]).all(axis=1)][:, told]
        # Each group below may tell all people anew, and print its total.
        times = below[:, told].sum(axis=0) / np.maximum(above, 1)
        often = np.nanmedian(times, axis=1, keepdims=True).round()
        # Small counts are far off, as a share, once they are rounded.
        whole = values[~np.isnan(values) & (values == np.floor(values))].astype(np.int64)
        slack = _ROUNDED if np.gcd.reduce(whole) > 1 else 0.0
        is_whole = np.abs(times - often) <= slack * often
        are_most = 2 * is_whole.sum(axis=1) >= (~np.isnan(times)).sum(axis=1)
        return not len(above) or bool((are_most & (often[:, 0] >= 1)).any())

    def _among_parts(
        self, body: NDArray[np.intp], numeric: NDArray[np.intp], headings: Sequence[int]
    ) -> list[int]:
        """Return the headings inside a sum of rows above and below: these are places of nobody.

        Blanks stand for nobody there, and the sum covers two of several groups.
        """
        values = self.grid.values[np.ix_(body, numeric)]
        filled = self.grid.filled[np.ix_(body, numeric)]
        if filled.all() or len(headings) < _FEWEST_GROUPS:
            return []
        numbers = np.where(filled, values, 0.0)
        found: list[int] = []
        bounds = [*headings, int(body[-1]) + 1]
        for before, heading, after in zip(bounds, bounds[1:], bounds[2:], strict=False):
            first, start, stop = np.searchsorted(body, [before, heading, after]).tolist()
            for total in range(start + 1, stop):
                parts = numbers[first:total].sum(axis=0)
                known = ~np.isnan(parts) & ~np.isnan(numbers[total])
                bits = float(np.log2(1 + np.where(known, numbers[total], 0)).sum())
                is_sum = bool((parts == numbers[total])[known].all())
                if is_sum and bits >= _FEWEST_BITS and first > 0:
                    found.append(heading)
                    break
        return found

    def _is_code(self, body: NDArray[np.intp], at: int, numeric: NDArray[np.intp]) -> bool:
        """Test whether the numbers of a column name its rows: with leading zeros, or years.

        The numbers of a first column with a total also do, such as ages beside *All ages*.
        """
        rows = body[self.grid.filled[body, at]]
        texts, number = self.grid.coded((rows, at))
        words = [text for text in texts if self.grid.number(text) is None]
        if at == numeric[0] and len(numeric) > 1 and any(says(w, Sense.TOTAL) for w in words):
            return True
        if any(len(text) > 1 and text[0] == "0" and text.isdigit() for text in texts):
            return True
        numbers = [n for text in texts if (n := self.grid.number(text)) is not None]
        if not all(map(is_year, numbers)):
            return False
        if numbers and len(texts) == 1 < len(number):
            return True
        many = int(self.grid.is_number[rows, at].sum())
        return at == numeric[0] and len(numeric) > 1 and 2 * many > len(number)

    def _names_rows(
        self, body: NDArray[np.intp], at: int, words: Sequence[int], numeric: NDArray[np.intp]
    ) -> bool:
        """Test whether whole numbers are codes: they stand before the words that name the rows."""
        own = self.grid.values[body, at]
        told = own[~np.isnan(own)]
        if not len(told) or (told != np.floor(told)).any() or not numeric[-1] > at:
            return False
        filled = self.grid.filled[body]
        behind = [
            each
            for each in words
            if at < each < int(numeric[-1]) and 2 * int(filled[:, each].sum()) >= len(body)
        ]
        if not behind:
            return False
        if not any(each < at for each in words):
            return True
        texts = self.grid.texts[body]
        is_alone = len(np.unique(own)) == len(body)
        return any(
            2 * len(set(texts[:, each].tolist())) >= len(body)
            or (is_alone and np.median([len(str(text)) for text in texts[:, each]]) > 3)
            for each in behind
        )

    def _header(
        self,
        first: int,
        data: BoolArray,
        numeric: NDArray[np.intp],
    ) -> list[int]:
        """Return the rows with words over the columns of numbers, and the rows between them."""
        filled = self.grid.filled
        spans = self.grid.spans()
        width = int(filled.any(axis=0).sum())
        over: list[int] = []
        for row in range(first - 1, -1, -1):
            if data[row]:
                break
            at = np.flatnonzero(filled[row])
            inner = at[np.isin(at, numeric)]
            if len(at) == 1 and _covers_all(spans.get((row, int(at[0]))), width):
                continue
            if len(inner) == 0 or (len(at) == 1 and int(at[0]) == int(filled.any(axis=0).argmax())):
                continue
            if over and (min(over) - row > 4 or self._is_of_all(row, over[-1])):
                break
            over.append(row)
        if not over:
            above = int(np.flatnonzero(data[:first])[-1]) if data[:first].any() else -1
            beside = [r for r in range(first - 1, above, -1) if filled[r].sum() > 1]
            return beside[:1]
        return [row for row in range(min(over), max(over) + 1) if filled[row].any()]

    def _is_of_all(self, row: int, below: int) -> bool:
        """Test whether a row above a blank one is about the whole table: a name and a text.

        The row below the blank one has words over more columns. Words that make the numbers
        percentages, or other statistics, remain headers.
        """
        at = np.flatnonzero(self.grid.filled[row])
        rows = self.grid.rows
        while below > row and rows[below] - rows[below - 1] == 1:
            below -= 1
        is_pair = at.tolist() == [0, 1] and self.grid.filled[below].sum() > len(at) + 1
        text = " ".join(map(str, self.grid.texts[row, at]))
        is_of_numbers = says(text, Sense.PERCENTAGE, Sense.MEASURE) or statistic_named(text)
        return below > row and is_pair and not is_of_numbers


def _covers_all(end: tuple[int, int] | None, width: int) -> bool:
    return end is not None and end[1] + 1 >= 0.9 * width > 1
