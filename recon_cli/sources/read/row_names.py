"""Find which columns name the rows of a table, and which has the places."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from recon_cli.sources.read.choices import Choices, column_names, columns_named
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.names import Names
from recon_cli.sources.read.regions import Region
from recon_cli.sources.read.row_labels import Path
from recon_cli.sources.read.words import Sense, is_word, says

#: Most capitals of a code that stands for a word.
_LONGEST_CODE: Final = 3


@dataclass(frozen=True)
class NamedRows:
    """The rows of a table, with the choices about their names.

    Attributes:
        headers: Column → its words.
    """

    grid: Grid
    region: Region
    headers: Mapping[int, Path]
    choices: Choices

    @cached_property
    def told(self) -> Names:
        """Return the columns that name the rows, by their texts alone."""
        return Names.of(self.grid, self.region)

    def names(self, kinds: Set[int]) -> Names:
        """Return the columns that name the rows, as chosen or proposed.

        Args:
            kinds: Columns with the kind of a place, not with a place that encloses it.
        """
        names = self.told
        if self.choices.is_mapped or self.choices.are_known:
            names = self._said_names(names)
        else:
            names = self._with_place(self._by_words(names))
        if self.choices.count:
            said = set(self._said(self.choices.count))
            names = replace(names, keys=tuple(at for at in names.keys if at not in said))
        names = self._of_one_place(self._parents(names))
        names = replace(names, parents=_without(names.parents, kinds))
        return self._by_codes(names) if self.choices.codes_first else names

    def places(self, names: Names) -> tuple[int, ...]:
        """Return the columns that may have the places, the likeliest first.

        That is the chosen column, or the only one whose header or place beside others proposes it;
        else all, the one with most values first.
        """
        if self.choices.place is not None and (said := self._said((self.choices.place,))):
            return said
        if not names.keys or (names.is_long and self._names_no_place(names)):
            return ()
        if not names.is_long:
            return names.keys[-1:]
        if (inner := [at for at in names.keys if at in names.parents]) and self.choices.parent:
            return (inner[0],)
        by_word = [at for at in names.keys if self.is_of_places(at)]
        coded = [at for at in names.keys if is_word(self._header(at), Sense.GEOID)]
        inside = [at for at in names.keys if self._is_in_places(at, names)]
        for able in (by_word, coded, inside):
            if len(able) == 1:
                return (able[0],)
        sizes = {at: len(self.grid.coded((self.region.body, at))[0]) for at in names.keys}
        return tuple(sorted(by_word or names.keys, key=lambda at: (-sizes[at], at)))

    def _names_no_place(self, names: Names) -> bool:
        """Test whether all columns that name the rows of a long table are chosen as kinds."""
        if self.choices.is_mapped:
            return {*names.keys} <= {*self._said(self.choices.dimension)}
        return bool(self.choices.are_kinds)

    def _are_codes(self, at: int) -> bool:
        """Test whether a column has letters and digits alone, with a digit or few capitals each."""
        texts = self.grid.coded((self.region.body, at))[0]
        return all(
            text.isalnum()
            and (any(map(str.isdigit, text)) or (text.isupper() and len(text) <= _LONGEST_CODE))
            for text in filter(None, texts)
        )

    def is_of_places(self, at: int) -> bool:
        """Test whether the header of a column says that it has places."""
        return says(self._header(at), Sense.PLACE)

    def _is_in_places(self, at: int, names: Names) -> bool:
        """Test whether the texts of a column name parts of the places of another column."""
        beside = [twin for twin, key in names.twins.items() if key == at]
        around = [above for above in beside if self._is_within(at, above)]
        around += [above for own, above in names.parents.items() if own == at]
        return any(map(self.is_of_places, around))

    def _is_other_name(self, at: int, names: Names) -> bool:
        """Test whether the texts of a column stand for those of a key, one for one."""
        key = names.twins.get(at)
        return key in names.keys and self._is_within(at, key) and self._is_within(key, at)

    def _by_words(self, names: Names) -> Names:
        """Return the keys of a long table with words in place of the codes beside them.

        Codes under the header of a geoid stay: schemas and lists have them.
        """
        for word in tuple(names.twins) if names.is_long else ():
            code = names.twins[word]
            is_geoid = is_word(self._header(code), Sense.GEOID)
            if is_geoid or not self._are_codes(code) or self._are_codes(word):
                continue
            if self._is_other_name(word, names):
                names = names.called_by(word)
        return names

    def _by_codes(self, names: Names) -> Names:
        """Return the names of rows with codes of places in place of what people call them."""
        said = set(self._said((self.choices.place,))) if self.choices.place else set()
        for code, key in names.twins.items():
            is_better = self._are_codes(code) and not self._are_codes(key)
            if key in names.keys and key not in said and is_better:
                return names.called_by(code)
        return names

    def _of_one_place(self, names: Names) -> Names:
        """Add the column with the one place of all rows to the names, if there is one."""
        said = set(self._said((self.choices.place,))) if self.choices.place else set()
        able = [
            at
            for at in names.constants
            if at in said
            or (not said and self.is_of_places(at))
            or (not said and is_word(self._header(at), Sense.GEOID))
        ]
        is_told = any(self.is_of_places(at) for at in names.keys)
        if len(able) != 1 or able[0] in names.keys or (is_told and not said):
            return names
        constants = tuple(at for at in names.constants if at != able[0])
        return replace(names, keys=(able[0], *names.keys), constants=constants, is_long=True)

    def _said_names(self, names: Names) -> Names:
        """Return the names of rows as chosen: the place, and the dimensions of a long table."""
        said = self._said((self.choices.place,)) if self.choices.place else ()
        place = said or names.keys[-1:]  # another sheet may call it otherwise
        dimensions = self._said(self.choices.dimension)
        keys = (*place, *(at for at in dimensions if at not in place))
        parents = {} if said else names.parents
        return replace(names, keys=keys, parents=parents, is_long=bool(dimensions))

    def _parents(self, names: Names) -> Names:
        """Return the names with the chosen parents, the largest first."""
        said = [at for header in self.choices.parent for at in self._said((header,))]
        if not said:
            return names
        keys = replace(names, keys=tuple(at for at in names.keys if at not in said))
        chain = [self._place_within(keys, said[-1]), *reversed(said)]
        place = tuple(chain[:1])
        return replace(
            names,
            keys=tuple(at for at in names.keys if at not in said) or place,
            parents=dict(itertools.pairwise(chain)),
            is_long=names.is_long and len(set(names.keys) - set(said)) > 1,
        )

    def _with_place(self, names: Names) -> Names:
        """Return the names of rows by the chosen column of places."""
        said = self._said((self.choices.place,)) if self.choices.place else ()
        if not said or said[0] in names.keys:
            return names
        place = said[0]
        if names.is_long:
            return names.called_by(place) if self._is_other_name(place, names) else names
        parents = {at: to for at, to in names.parents.items() if at == place or to != place}
        if (key := names.twins.get(place)) in parents:
            parents[place] = parents[key]
        twins = {at: to for at, to in names.twins.items() if at != place}
        constants = tuple(at for at in names.constants if at != place)
        return replace(names, keys=(place,), parents=parents, twins=twins, constants=constants)

    def _place_within(self, names: Names, parent: int) -> int:
        """Return the column of places inside those of another, as chosen or by their values."""
        said = self._said((self.choices.place,)) if self.choices.place else ()
        able = [at for at in names.keys if self._is_within(at, parent)]
        return (*said, *able, *names.keys[-1:], parent)[0]

    def _is_within(self, inner: int, outer: int) -> bool:
        """Test whether each text of a column stands beside one text of another."""
        pairs = self.grid.codes[np.ix_(self.region.body, np.array([inner, outer]))]
        return len(np.unique(pairs, axis=0)) == len(np.unique(pairs[:, 0]))

    @cached_property
    def _columns(self) -> dict[int, str]:
        return column_names(self.headers)

    def _said(self, words: Sequence[str]) -> tuple[int, ...]:
        return columns_named(self.headers, words)

    def _header(self, at: int) -> str:
        return self._columns[at]


def _without(parents: Mapping[int, int], gone: Set[int]) -> dict[int, int]:
    """Drop some columns from a map of parents: their children get their parents."""
    found: dict[int, int] = {}
    for at, above in parents.items():
        while above in gone and above in parents:
            above = parents[above]  # noqa: PLW2901 - up the chain
        if at not in gone and above not in gone:
            found[at] = above
    return found
