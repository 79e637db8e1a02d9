"""Places of one list, and which are parts of which: by numbers, words, or as the user says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from recon_cli.capabilities.init.open_question import flag
from recon_cli.capabilities.init.place_parents import Path, PlaceSum, fits, parents_of
from recon_cli.capabilities.init.proposal.evidence import CERTAIN_BITS
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.errors import SourceError
from recon_cli.sources.read.row_labels import PART_OF

#: Fewest withheld counts of the parts of a place that are hardly all zero.
_FEWEST_WITHHELD = 2
#: At least one in this many places has to be told, or nothing is known of their sum.
_FEWEST_TOLD = 4
#: Most choices that a question lists.
_MOST_WAYS = 3
#: The fewest and the most rows below a place that may be its parts.
_FEWEST, _MOST = 2, 40


@dataclass(frozen=True)
class Overfull:
    """A place whose parts add up to more than it has, so that some are parts of others.

    Attributes:
        sums: Part → the rows below this part that may add up to it.
        beside: Parts of which each, if left out, lets the others add up.
        divisions: Groups of consecutive parts that each may add up to the place.
    """

    whole: str
    sums: Mapping[str, tuple[str, ...]]
    beside: tuple[str, ...] = ()
    divisions: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Division:
    """A place that two tables divide in two ways, each into all of its people.

    Attributes:
        whole: The text of the place; empty for all places of a table together.
        tables: How messages name the tables.
        parts: For each table, the places that the other does not have.
    """

    whole: str
    tables: tuple[str, str]
    parts: tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Possible:
    """A place that may contain all others beside it: numbers neither show nor exclude it.

    Attributes:
        others: The places beside it.
        has_parts: Whether numbers show that other places are its parts.
    """

    whole: str
    others: tuple[str, ...]
    has_parts: bool


@dataclass(frozen=True)
class PossibleSums:
    """Places that may be the sums of loose places, though too few numbers show it.

    Attributes:
        ways: The choices: each maps places to their parts, which are consecutive.
    """

    ways: tuple[Mapping[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class SumOfPrinted:
    """A place whose counts are the sums of its parts' printed ones, so that withheld ones are zero.

    Attributes:
        withheld: The parts with counts that are withheld.
    """

    whole: str
    withheld: tuple[str, ...]


@dataclass(frozen=True)
class _Whole:
    """A place with parts, and their numbers in the column in which the place has its greatest.

    Attributes:
        text: The text of the place.
        parts: Part → its least number.
        slack: Greatest difference between `number` and the sum of the parts by rounding.
    """

    text: str
    number: float
    parts: Mapping[Path, float]
    slack: int


@dataclass(frozen=True)
class PlaceSheet:
    """The places of one table.

    Attributes:
        label: How messages name the table.
        paths: Text of each place → the names of the places around it, and its own name.
    """

    label: str
    paths: Mapping[str, Path]

    @cached_property
    def depth(self) -> int:
        """Return the length of the longest path."""
        return max(map(len, self.paths.values()), default=0)

    @property
    def says_parents(self) -> bool:
        """Test whether words say what places are part of."""
        return any(PART_OF in text for text in self.paths)


@dataclass
class PlaceList:
    """Places that one table has, or several in the same order, whose numbers are used together.

    Attributes:
        labels: How messages name the tables.
        numbers: Places by counts, of each table.
        columns: The headers of these counts, of each table.
        base: What the counts are rounded to, at most.
        totals: Places whose parts are the places beside them, as the user says.
        apart: Places that are no totals, as the user says.
    """

    labels: list[str] = field(default_factory=list)
    sums: list[PlaceSum] = field(default_factory=list)
    numbers: list[Intervals] = field(default_factory=list)
    columns: list[tuple[str, ...]] = field(default_factory=list)
    base: int = 1
    totals: set[int] = field(default_factory=set)
    apart: set[int] = field(default_factory=set)

    def parents(self, paths: Sequence[Path]) -> dict[int, int]:
        """Map each place to the one that it is part of.

        Raises:
            SourceError: Places do not add up to the place that the user calls their total.
        """
        numbers = Intervals.beside(self.numbers)
        fitting = [e for e in self.sums if fits(numbers, e.total, e.parts, self.base)]
        sums = [
            each
            for each in dict.fromkeys(self.sums)
            if each in fitting or not any(map(each.is_rival_of, fitting))
        ]
        above = parents_of(paths, sums, numbers, self.base)
        above = {i: whole for i, whole in above.items() if whole not in self.apart}
        for whole in sorted(self.totals):
            group = paths[whole][:-1]
            beside = [
                i
                for i in range(len(paths))
                if above.get(i) == above.get(whole) and (not group or paths[i][:-1] == group)
            ]
            own = [i for i, outer in above.items() if outer == whole]
            every = [i for i in beside if i != whole]
            ways = [every, [i for i in every if i < whole], [i for i in every if i > whole]]
            able = [way for way in ways if way and fits(numbers, whole, [*own, *way], self.base)]
            more = able[0] if able else every
            if not able and own:
                continue  # it is a total already
            if more and not able:
                raise SourceError(
                    f"{flag('total', PART_OF.join(paths[whole]))}: the {len(more)} places beside "
                    "it do not add up to it; name its parts with --sum"
                )
            above |= dict.fromkeys(more, whole)
        return above

    def possible(self, paths: Sequence[Path]) -> Iterator[Possible]:
        """Yield the places that may contain all others beside them, unless the user has answered.

        A place without parts that numbers show has to stand first, or last.
        """
        numbers, above = Intervals.beside(self.numbers), self.parents(paths)
        groups: dict[Path, list[int]] = {}
        for i, path in enumerate(paths):
            if i not in above:
                groups.setdefault(path[:-1], []).append(i)
        texts = [PART_OF.join(path) for path in paths]
        for tops in groups.values() if numbers.low.shape[1] else ():
            for whole in (i for i in tops if len(tops) > 1 and i not in self.apart):
                own = [i for i, outer in above.items() if outer == whole]
                # What is said to be beside others is no further part of one that has parts.
                others = [i for i in tops if i != whole and not (own and i in self.apart)]
                is_end = len(others) >= _FEWEST and whole in {tops[0], tops[-1]}
                told = _FEWEST_TOLD * numbers.known[others].sum(axis=0) >= len(others)
                is_told = (told & numbers.known[whole]).any() and bool(others if own else is_end)
                if is_told and fits(numbers, whole, [*own, *others], self.base):
                    yield Possible(texts[whole], tuple(texts[i] for i in others), bool(own))
                    break

    def possible_sums(self, paths: Sequence[Path]) -> Iterator[PossibleSums]:
        """Yield the places without parts that loose places may be the parts of.

        Some number has to show it, unless a run of loose places can be cut into parts of them all.
        """
        numbers, above = Intervals.beside(self.numbers), self.parents(paths)
        inner = {*above.values()}
        loose = [i for i in range(len(paths)) if i not in above and i not in inner]
        starts = [at for at in range(len(loose)) if not at or loose[at] != loose[at - 1] + 1]
        runs = [loose[a:b] for a, b in itertools.pairwise([*starts, len(loose)])]
        wholes = sorted({*above} - inner - self.apart) if numbers.low.shape[1] else []
        texts = [PART_OF.join(path) for path in paths]
        for outer in sorted({above[whole] for whole in wholes}):
            own = [whole for whole in wholes if above[whole] == outer]
            cuts = [cut for run in runs for cut in _cuts(numbers, own, run, self.base)]
            alone = [way for whole in own for way in self._possible_parts(numbers, whole, runs)]
            groups = (
                [(*cuts, *alone)]
                if cuts
                else [[way for way in alone if whole in way] for whole in own]
            )
            for ways in filter(None, groups):
                yield PossibleSums(
                    tuple(
                        {texts[i]: tuple(texts[part] for part in parts) for i, parts in way.items()}
                        for way in ways
                    )
                )

    def _possible_parts(
        self, numbers: Intervals, whole: int, runs: Sequence[Sequence[int]]
    ) -> Sequence[Mapping[int, Sequence[int]]]:
        """Return runs of places that may add up to a whole, and do so in some column."""
        told = numbers.known[whole] & (numbers.low[whole] > 0)
        found = [
            {whole: run[first:stop]}
            for run in runs
            for first in range(len(run) - 1)
            for stop in range(first + _FEWEST, min(first + _MOST, len(run)) + 1)
            if (self.base == 1 or stop - first == len(run))  # rounding allows too many
            and (numbers.known[run[first:stop]].all(axis=0) & told).any()
            and fits(numbers, whole, run[first:stop], self.base)
        ]
        return found[:_MOST_WAYS]

    def second_divisions(self, paths: Sequence[Path]) -> Iterator[Division]:
        """Yield the places that have parts, and to which the places beside them may add up, too."""
        numbers, above = Intervals.beside(self.numbers), self.parents(paths)
        tops = [i for i in range(len(paths)) if i not in above]
        texts = [PART_OF.join(path) for path in paths]
        for whole in sorted({*above.values()} & {*tops}) if numbers.low.shape[1] else ():
            own = tuple(texts[i] for i in above if above[i] == whole)
            others = [i for i in tops if i != whole]
            is_told = (numbers.known[others].sum(axis=0) >= len(others) - 1).any()
            is_new = len(others) >= _FEWEST and not self.apart & {*others} and is_told
            if is_new and fits(numbers, whole, others, self.base):
                label = self.labels[0]
                yield Division(texts[whole], (label, label), (own, tuple(texts[i] for i in others)))

    def sums_of_printed(self, paths: Sequence[Path]) -> Iterator[SumOfPrinted]:
        """Yield places whose printed parts alone add up to them, unless the user calls them totals.

        Yield none if counts are rounded.
        """
        numbers, above = Intervals.beside(self.numbers), self.parents(paths)
        for whole in sorted({*above.values()} - self.totals) if self.base == 1 else ():
            parts = [i for i in above if above[i] == whole]
            is_open = ~numbers.known[parts]
            told = numbers.known[whole] & is_open.any(axis=0)
            printed = np.where(is_open, 0, numbers.low[parts]).sum(axis=0)
            is_it = bool((printed == numbers.low[whole])[told].all())
            if is_it and is_open[:, told].sum() >= _FEWEST_WITHHELD:
                some = [parts[at] for at in np.flatnonzero(is_open[:, told].any(axis=1))]
                texts = [PART_OF.join(paths[i]) for i in (whole, *some)]
                yield SumOfPrinted(texts[0], tuple(texts[1:]))

    def sheets(self, paths: Sequence[Path]) -> Iterator[PlaceSheet]:
        """Yield the places of each table, with the names of the places around them."""
        names = _names(paths, self.parents(paths))
        texts = [PART_OF.join(path) for path in paths]
        for label in self.labels:
            yield PlaceSheet(label, dict(zip(texts, names, strict=True)))

    def wholes(self, paths: Sequence[Path]) -> dict[Path, _Whole]:
        """Map the path of each place with parts and a number to its numbers."""
        above = self.parents(paths)
        names, numbers = _names(paths, above), Intervals.beside(self.numbers)
        found: dict[Path, _Whole] = {}
        for whole in sorted({*above.values()}):
            own = np.where(numbers.known[whole], numbers.low[whole], 0.0)
            if own.any():
                at = int(own.argmax())
                parts = {names[i]: float(numbers.low[i, at]) for i in above if above[i] == whole}
                slack = (self.base - 1) * (len(parts) + 1)
                found[names[whole]] = _Whole(
                    PART_OF.join(paths[whole]), float(own[at]), parts, slack
                )
        return found

    def tops(self, paths: Sequence[Path]) -> dict[Path, int]:
        """Map the path of each place that is part of no other to its position."""
        above = self.parents(paths)
        return {name: i for i, name in enumerate(_names(paths, above)) if i not in above}

    def outermost(self, paths: Sequence[Path]) -> tuple[str, ...]:
        """Return the texts of the outermost places; if there is only one, of its parts."""
        above = self.parents(paths)
        tops = [i for i in range(len(paths)) if i not in above]
        shown = [i for i in above if above[i] in tops] if len(tops) == 1 else tops
        return tuple(PART_OF.join(paths[i]) for i in shown)

    def has_people_of(
        self, other: PlaceList, tops: Mapping[Path, int], again: Mapping[Path, int]
    ) -> bool:
        """Test whether places of two lists have equal sums in all columns that two tables share."""
        if tops.keys() & again.keys() or len(tops) + len(again) <= _FEWEST:
            return False
        tables = zip(self.columns, self.numbers, strict=True)
        others = zip(other.columns, other.numbers, strict=True)
        for (names, one), (called, two) in itertools.product(tables, others):
            bits, is_same = 0.0, True
            for name in {*names} & {*called}:
                low, high = _ends(one, tops, names.index(name))
                least, most = _ends(two, again, called.index(name))
                is_same &= low <= most and least <= high
                bits += math.log2(1 + low) if low == high == least == most else 0.0
            if is_same and bits >= CERTAIN_BITS:
                return True
        return False

    def overfull(self, paths: Sequence[Path]) -> Iterator[Overfull]:
        """Yield the places whose parts add up to more than they have."""
        numbers = Intervals.beside(self.numbers)
        above = self.parents(paths)
        inner = {*above.values()}
        for whole in sorted(inner):
            parts = [i for i, outer in above.items() if outer == whole]
            slack = (self.base - 1) * (len(parts) + 1)
            if not (numbers.low[parts].sum(axis=0) > numbers.high[whole] + slack).any():
                continue
            found = [
                PlaceSum(at, tuple(range(at + 1, at + 1 + many)))
                for at in parts
                for many in range(_FEWEST, _MOST)
                if {*range(at, at + 1 + many)} <= {*parts} - inner
                and fits(numbers, at, range(at + 1, at + 1 + many), self.base)
            ]
            names = [PART_OF.join(path) for path in paths]
            beside = [
                names[i]
                for i in parts
                if fits(numbers, whole, [part for part in parts if part != i], self.base)
            ]
            yield Overfull(
                names[whole],
                {names[e.total]: tuple(names[i] for i in e.parts) for e in found},
                tuple(beside),
                tuple(tuple(names[i] for i in own) for own in self._cut(numbers, whole, parts)),
            )

    def _cut(self, numbers: Intervals, whole: int, parts: Sequence[int]) -> Sequence[Sequence[int]]:
        """Return the only way to cut parts into groups that each may add up to a whole, or ()."""
        ways: list[list[list[Sequence[int]]]] = [[[]], *([] for _ in parts)]
        for stop in range(_FEWEST, len(parts) + 1) if len(parts) <= _MOST else ():
            for start in range(stop - _FEWEST + 1):
                own = parts[start:stop]
                if ways[start] and fits(numbers, whole, own, self.base):
                    ways[stop] += [[*way, own] for way in ways[start][:_FEWEST]]
        found = [way for way in ways[-1] if len(way) > 1]
        return found[0] if len(found) == 1 else ()


def _cuts(
    numbers: Intervals, wholes: Sequence[int], run: Sequence[int], base: int
) -> list[Mapping[int, Sequence[int]]]:
    """Return the ways to cut a run of places into the parts of each whole, in order."""
    if not len(wholes) < len(run) <= _MOST or len(wholes) < _FEWEST:
        return []
    # From the last of the wholes: the places at which its parts may begin, and the ways behind.
    ways: dict[int, list[dict[int, Sequence[int]]]] = {len(run): [{}]}
    for whole in reversed(wholes):
        ways = {
            start: [
                {whole: run[start:stop], **behind}
                for stop, some in ways.items()
                if start < stop and fits(numbers, whole, run[start:stop], base)
                for behind in some
            ][:_MOST_WAYS]
            for start in range(len(run))
        }
    return list(ways.get(0, []))


def _ends(numbers: Intervals, places: Mapping[Path, int], column: int) -> tuple[float, float]:
    """Return the least and the greatest sum of a column over some places."""
    rows = [*places.values()]
    return float(numbers.low[rows, column].sum()), float(numbers.high[rows, column].sum())


def _names(paths: Sequence[Path], above: Mapping[int, int]) -> list[Path]:
    """Return the path of each place: the names around it, and its own; () for the whole list."""
    inner = set(above.values())
    heads = {outer for i, outer in above.items() if paths[i][: len(paths[outer])] == paths[outer]}
    tops = [i for i in range(len(paths)) if i not in above]
    whole = tops[0] if len(tops) == 1 and tops[0] in inner else None
    found: dict[int, Path] = {}

    def name(i: int) -> Path:
        if i not in found:
            # A row that others beside it are parts of stands for the group that all begin with.
            path = paths[i][:-1] if len(paths[i]) > 1 and i in inner - heads else paths[i]
            outer = name(above[i]) if i in above else ()
            between = [word for word in path[:-1] if word not in outer]
            found[i] = () if i == whole else (*outer, *between, path[-1])
        return found[i]

    return [name(i) for i in range(len(paths))]
