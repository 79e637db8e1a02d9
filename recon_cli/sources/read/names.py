"""The columns that name the rows of a table: places, their parents, codes and categories.

A table is long if its columns of words cross: each value of one column occurs with several values
of another. A table is wide if one column names the rows, and other columns name their parents.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray, IntArray, numbered
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.markers import bounds, looks_like_marker
from recon_cli.sources.read.regions import Region
from recon_cli.sources.read.row_labels import row_labels

#: A column is nested in another if at least this share of its values occur with one value of it.
_NESTED: Final = 0.6
#: Two keys cross if at least this share of their combinations occur.
_DENSE: Final = 0.5
#: Most distinct numbers of a column that names rows.
_MOST_CODES: Final = 200


@dataclass(frozen=True)
class Names:
    """The columns beside the counts, by places in the grid.

    Attributes:
        keys: Columns whose values together identify a row; a wide table has one.
        parents: Column → the column of which each value encloses some of its values.
        twins: Column → the key of which it is another name: codes beside names.
        constants: Columns with one value throughout.
        flags: Columns with flags of the numbers beside them.
        is_long: Whether the keys cross.
    """

    keys: tuple[int, ...]
    parents: dict[int, int]
    twins: dict[int, int]
    constants: tuple[int, ...]
    flags: tuple[int, ...]
    is_long: bool

    @property
    def chain(self) -> list[int]:
        """Return the columns that name a row of a wide table: its parents' columns first."""
        if not self.keys:
            return []
        found = [self.keys[-1]]
        while found[0] in self.parents and self.parents[found[0]] not in found:
            found.insert(0, self.parents[found[0]])
        return found

    def called_by(self, twin: int) -> Names:
        """Return the names with another column in place of the key whose twin it is."""
        key = self.twins[twin]
        twins = {at: twin if to == key else to for at, to in self.twins.items() if at != twin}
        return replace(
            self,
            keys=tuple(twin if at == key else at for at in self.keys),
            twins={**twins, key: twin},
            parents={twin if at == key else at: to for at, to in self.parents.items()},
        )

    @classmethod
    def of(cls, grid: Grid, region: Region) -> Names:
        """Find the columns that name the rows of a table."""
        return _Columns(grid, region).names()


class _Columns:
    def __init__(self, grid: Grid, region: Region) -> None:
        self.grid = grid
        self.region = region
        self.body = region.body
        self.counted: dict[tuple[int, ...], int] = {}

    def _codes(self, at: int) -> IntArray:
        """Return the values of a column, numbered."""
        codes = self.grid.codes[:, at].copy()
        for (top, left), (bottom, right) in self.grid.spans().items():
            if left <= at <= right and at not in self.region.numeric:
                codes[top : bottom + 1] = self.grid.codes[top, left]
        return numbered(codes[self.body], len(self.grid.words))[0]

    @cached_property
    def codes(self) -> dict[int, IntArray]:
        return {int(at): self._codes(int(at)) for at in self.region.stub}

    def _count(self, columns: tuple[int, ...]) -> int:
        """Count how many different rows some columns tell apart."""
        if columns not in self.counted:
            self.counted[columns] = self._distinct(columns)
        return self.counted[columns]

    def _distinct(self, columns: tuple[int, ...]) -> int:
        if not columns:
            return 1
        joined = np.zeros(len(self.body), dtype=np.int64)
        many = 1
        for at in columns:
            own = self.codes[at] if at in self.codes else self._codes(at)
            size = int(own.max(initial=0)) + 1
            joined, many = numbered(joined * size + own, many * size)
        return many

    def _determines(self, one: int, other: int) -> bool:
        """Test whether each value of a column occurs with one value of another."""
        return self._count((one, other)) == self._count((one,))

    def names(self) -> Names:
        rows = len(self.body)
        stub = [int(at) for at in self.region.stub]
        constants = tuple(at for at in stub if self._count((at,)) == 1 and rows > 1)
        rest = [at for at in stub if at not in constants]
        flags = tuple(at for at in rest if self._is_flag(at))
        rest = [at for at in rest if at not in flags and not self._has_notes(at)]
        single = [at for at in rest if self._count((at,)) == rows]
        numeric = [int(at) for at in self.region.numeric]
        if not stub and len(numeric) > 1 and self._count((numeric[0],)) == rows:
            return Names((numeric[0],), {}, {}, (), (), is_long=False)
        if single:
            return self._wide(single, rest, constants, flags)
        words = [at for at in rest if self._letters(at)]
        if words and self._is_named_within(words[-1]):
            return self._wide(words[-1:], rest, constants, flags)
        keys, twins = self._reduced(rest)
        if self._count(tuple(keys)) < rows:
            keys, twins = self._with_numbers(keys, twins, numeric)
        is_long = len(keys) > 1 and self._crosses(keys)
        within = None if is_long else self._nested(keys)
        if within is not None:
            inner, outer = within
            is_long, keys = True, [at for at in keys if at != outer]
            outer = next((at for at, k in twins.items() if k == outer and self._letters(at)), outer)
        if is_long:
            fixed = [at for at in numeric[:-1] if at not in keys and self._is_fixed(at)]
            constants = (*constants, *fixed)
            same = {at: k for at in numeric[:-1] for k in keys if self._is_code_of(at, k)}
            twins |= {at: k for at, k in same.items() if at not in (*keys, *fixed)}
        parents: dict[int, int] = {} if within is None else {inner: outer}
        if not is_long and len(keys) > 1:
            order = sorted(keys, key=lambda at: self._count((at,)))
            parents = dict(zip(order[1:], order, strict=False))
        return Names(tuple(keys), parents, twins, constants, flags, is_long)

    def _nested(self, keys: list[int]) -> tuple[int, int] | None:
        """Return a key and the key that it is nested in, if all keys but the latter cross.

        Then places of several groups have the same names, such as the totals of each group.
        """
        for outer in keys:
            rest = [at for at in keys if at != outer]
            inner = [at for at in rest if self._is_nested(at, outer)]
            if len(rest) > 1 and len(inner) == 1 and self._crosses(rest):
                return inner[0], outer
        return None

    def _is_named_within(self, at: int) -> bool:
        """Test whether headings, or indents, tell rows of one name apart."""
        labels = row_labels(self.grid, self.region, [at])
        return len(set(labels)) == len(labels) and any(len(label) > 1 for label in labels)

    def _wide(
        self,
        single: list[int],
        rest: list[int],
        constants: tuple[int, ...],
        flags: tuple[int, ...],
    ) -> Names:
        """Return the names of rows by a single column, of words rather than of codes."""
        words = [at for at in rest if at not in single and self._letters(at)]
        is_code = not any(map(self._letters, single))
        if is_code and len(words) > 1 and self._count(tuple(words)) == len(self.body):
            # A code names each row, and so do the words beside it together.
            above = dict(itertools.pairwise(reversed(words)))
            codes = {at: words[-1] for at in (*single, *rest) if at not in words}
            return Names((words[-1],), above, codes, constants, flags, is_long=False)
        key = max(single, key=lambda at: (self._letters(at), self._are_words(at), -at))
        twins = {at: key for at in rest if at != key and (at in single or self._is_own(at))}
        others = [at for at in rest if at not in (*single, *twins)]
        chain = sorted(others, key=lambda at: -self._count((at,)))
        parents: dict[int, int] = {}
        below = key
        for at in chain:
            if self._determines(below, at):
                same = next((p for p in parents.values() if self._determines(at, p)), None)
                if same is not None and self._determines(same, at):
                    twins[at] = same
                    continue
                parents[below] = at
                below = at
        return Names((key,), parents, twins, constants, flags, is_long=False)

    def _letters(self, at: int) -> bool:
        words, number = self.grid.coded((self.body, at))
        are_words = np.array([any(map(str.isalpha, word)) for word in words], dtype=bool)
        return int(are_words[number].sum()) * 2 > len(number)

    def _are_words(self, at: int) -> bool:
        """Test whether most texts of a column have small letters, or are in a script without."""
        words, number = self.grid.coded((self.body, at))
        told = [
            any(c.islower() or (c.isalpha() and c.upper() == c.lower()) for c in w) for w in words
        ]
        return int(np.array(told, dtype=bool)[number].sum()) * 2 > len(number)

    def _reduced(self, columns: list[int]) -> tuple[list[int], dict[int, int]]:
        """Return columns without those that another one implies."""
        twins: dict[int, int] = {}
        keys: list[int] = []
        for at in columns:
            same = next(
                (k for k in keys if self._determines(k, at) and self._determines(at, k)), None
            )
            if same is not None:
                twins[at] = same
            else:
                keys.append(at)
        implied = {
            at: by
            for at in keys
            for by in keys
            if by != at and self._determines(by, at) and self._count((by,)) > self._count((at,))
        }
        twins |= implied
        left = [at for at in keys if at not in implied]
        # What is not needed to tell rows apart says something of them.
        for at in sorted(left, key=self._filled):
            without = tuple(each for each in left if each != at)
            if len(left) > 1 and self._count(without) == self._count(tuple(left)) == len(self.body):
                left.remove(at)
                twins[at] = left[0]
        return left, twins

    def _is_own(self, at: int) -> bool:
        """Test whether a column is blank in few rows, and distinct in all others: ranks, codes."""
        filled = self.grid.filled[self.body, at]
        many = len(self.grid.coded((self.body[filled], at))[0])
        return bool(many == filled.sum() > len(filled) // 2 and many > 2)

    def _filled(self, at: int) -> float:
        return float(self.grid.filled[self.body, at].mean())

    def _with_numbers(
        self, keys: list[int], twins: dict[int, int], numeric: list[int]
    ) -> tuple[list[int], dict[int, int]]:
        """Add the columns of numbers that tell the rows apart: codes, ages, years."""
        able = [at for at in numeric[:-1] if self._is_code(at)] if len(numeric) < 4 else []
        for at in able:
            if self._count(tuple(keys)) == len(self.body):
                break
            before = self._count(tuple(keys))
            if self._count((*keys, at)) > before:
                keys = [*keys, at]
        return keys, twins

    def _is_code(self, at: int) -> bool:
        words = self._words_beside(at)
        if any(looks_like_marker(word) and not bounds(word)[0] for word in words - {""}):
            return False  # of ages and sizes the last is one: 2+
        return self._are_few(at, words)

    def _words_beside(self, at: int) -> set[str]:
        """Return the texts in a column of numbers that are no numbers."""
        is_number = ~np.isnan(self.grid.values[self.body, at])
        return set(self.grid.coded((self.body[~is_number], at))[0])

    def _are_few(self, at: int, words: set[str]) -> bool:
        """Test whether the numbers of a column are whole and few, each in several rows."""
        own = self.grid.values[self.body, at]
        told = own[~np.isnan(own)]
        if not len(told) or (told != np.floor(told)).any() or (told < 0).any():
            return False
        distinct = len(np.unique(told)) + len(words)
        return distinct <= _MOST_CODES and 2 * distinct <= len(own)

    def _is_fixed(self, at: int) -> bool:
        """Test whether a column repeats one whole number that counts no people, such as a year."""
        texts = set(self.grid.coded((self.body, at))[0])
        beside = self._count((at + 1,)) if at + 1 < self.grid.shape[1] else 0
        return len(texts) == 1 and next(iter(texts)).isdigit() and (texts != {"0"} or beside == 1)

    def _is_code_of(self, at: int, key: int) -> bool:
        """Test whether the whole numbers of a column stand for the values of a key, one for one.

        The text among them for a total may look like a marker: `T` beside 1 and 2.
        """
        return (
            at != key
            and self._are_few(at, self._words_beside(at))
            and self._determines(at, key)
            and self._determines(key, at)
        )

    def _is_flag(self, at: int) -> bool:
        """Test whether a column is filled only where a number beside it is 0 or missing.

        A column whose texts differ in each row, like codes, names the rows instead; so does a
        column before the numbers whose texts differ in most rows.
        """
        filled = self.grid.filled[self.body, at]
        if filled.all() or not filled.any():
            return False
        flags = self.grid.coded((self.body[filled], at))[0]
        is_before = at < self.region.numeric[0]
        if len(flags) == filled.sum() and (len(flags) > 2 or is_before):
            return False
        if is_before and 2 * len(flags) > filled.sum():
            return False
        for column in self.region.numeric.tolist():
            values = self.grid.values[self.body, column]
            missing: BoolArray = np.isnan(values) | (values == 0)
            if missing[filled].all() and (~missing).any():
                return True
        return False

    def _has_notes(self, at: int) -> bool:
        """Test whether a column among those of numbers is mostly blank: marks of footnotes."""
        is_inside = len(self.region.numeric) > 0 and at > int(self.region.numeric[0])
        return is_inside and 2 * self._filled(at) < 1

    def _crosses(self, keys: list[int]) -> bool:
        """Test whether values of each key occur with several values of every other.

        With several columns of counts, most combinations of two keys' values must occur as well,
        since places that share a name across districts cross, too.
        """
        is_wide = len(self.region.numeric) > 2
        for one in keys:
            for other in keys:
                if one != other and self._is_nested(one, other):
                    return False
                full = self._count((one,)) * self._count((other,))
                if is_wide and one < other and self._count((one, other)) < _DENSE * full:
                    return False
        return True

    def _is_nested(self, inner: int, outer: int) -> bool:
        own = self.codes[inner] if inner in self.codes else self._codes(inner)
        others = self.codes[outer] if outer in self.codes else self._codes(outer)
        size = int(others.max(initial=0)) + 1
        pairs = np.unique(own * size + others) // size
        often: NDArray[np.int64] = np.bincount(pairs)
        alone = np.isin(own, np.flatnonzero(often == 1))
        return (
            float((often == 1).mean()) >= _NESTED
            and len(often) > size
            and len(np.unique(others[alone])) > 1
        )
