"""What lines of counts are of: features, and the values that each line counts.

A line is a column, or a row of categories. The sums among lines tell the features: parts of one
whole are values of one feature, and two groups that add up to one whole are two features.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

import numpy as np

from recon_cli.capabilities.init.label_words import (
    are_apart,
    crossing,
    ends_in_note,
    shared,
    without_ends,
)
from recon_cli.capabilities.init.line_numbers import FEWEST_BITS, LineNumbers
from recon_cli.capabilities.init.names import canonical
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.lattice import Feature, Lattice
from recon_cli.capabilities.init.proposal.possible_sums import possible_splits
from recon_cli.capabilities.init.proposal.relations import Relation
from recon_cli.capabilities.init.spans import called, do_overlap, is_filled, steps_of
from recon_cli.errors import SourceError
from recon_cli.sources.formats.vocabulary import Interval, interval, is_total
from recon_cli.sources.read.words import Sense, is_word, says

#: Words of a header, outermost first.
Path = tuple[str, ...]
#: Feature, by its place → the places of its values.
Values = Mapping[int, frozenset[int]]

#: Lines on either side of one that may be its parts.
_MOST_INNER: Final = 8
#: A word with the mark of a footnote.
_NOTED: Final = re.compile(r"[^\W\d_]{2}\d{1,2}$")


@dataclass(frozen=True)
class Said:
    """What somebody says of lines that numbers leave open.

    Attributes:
        counted: Lines that count some of the people of others.
        apart: Lines that exclude each other.
        within: Lines of sums in which others are, too, each total before its parts.
    """

    counted: frozenset[int] = frozenset()
    apart: frozenset[int] = frozenset()
    within: tuple[tuple[int, ...], ...] = ()

    @property
    def inner(self) -> dict[int, int]:
        """Map lines to those whose people they count some of."""
        return {part: total for total, *parts in self.within for part in parts}


NOTHING_SAID: Final = Said()


@dataclass(frozen=True)
class DraftedFeature:
    """A feature that counts tell.

    Attributes:
        name: What the headers call it; empty where they do not.
        labels: Its values as they are printed.
        rest: What those are called who have none of the values; empty where everybody has one.
        has_total: Whether some line counts all of its values.
    """

    name: str
    labels: tuple[str, ...]
    rest: str = ""
    has_total: bool = True


@dataclass(frozen=True)
class Structure:
    """The features of some lines.

    Attributes:
        values: Line → the values that it counts of each feature; of a feature that is not there,
            all.
        doubts: What was taken so without being shown, a sentence each.
        unplaced: Lines that are no parts of anything, and that nothing says more of.
        peers: Those, and the line that is nowhere less: all of them may exclude each other.
        chain: Those, in order, if each is nowhere less than the one before and there are three.
        possible: Ways in which these may add up to it: for each its sums, the total first.
        either: Lines that words call some of others → the line that they stand behind, whose
            people they may be some of, and the whole that they are taken to be some of.
        beside: Line → several that count some of its people and may exclude each other.
    """

    features: tuple[DraftedFeature, ...]
    values: Mapping[int, Values]
    doubts: tuple[str, ...] = ()
    unplaced: tuple[int, ...] = ()
    peers: tuple[int, ...] = ()
    chain: tuple[int, ...] = ()
    possible: tuple[tuple[tuple[int, ...], ...], ...] = ()
    either: Mapping[tuple[int, ...], tuple[int, int]] = field(default_factory=dict)
    beside: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        labels: Mapping[int, Path],
        sums: Sequence[Relation],
        block: Intervals,
        *,
        subsets: Mapping[int, int] = MappingProxyType({}),
        said: Said = NOTHING_SAID,
        base: int = 1,
    ) -> Structure:
        """Read the features off the sums among lines.

        Args:
            labels: The words of each line, in the order of the table.
            sums: Among the lines, by their numbers.
            block: The numbers of the lines, in the same order.
            subsets: Line → a line whose people it counts some of.
            base: What numbers are rounded to.
        """
        return _Builder(labels, sums, block, subsets, said, base).structure()


@dataclass
class _Top:
    """A feature in the making: its values, and where each part of its sums has them."""

    feature: Feature
    labels: list[str] = field(default_factory=list)
    leaves: list[frozenset[int]] = field(default_factory=list)
    inner: dict[str, tuple[int, list[frozenset[int]]]] = field(default_factory=dict)
    name: str = ""
    rest: str = ""


class _Builder:
    def __init__(  # noqa: PLR0917 - what `Structure.of` is given
        self,
        labels: Mapping[int, Path],
        sums: Sequence[Relation],
        block: Intervals,
        subsets: Mapping[int, int],
        said: Said,
        base: int,
    ) -> None:
        self.lines = list(labels)
        self.labels = labels
        self.block = block
        self.subsets = subsets
        self.said = said
        self.base = base
        self.at = {line: i for i, line in enumerate(self.lines)}
        self.numbers = LineNumbers(block, self.at, base)
        told = [each for each in sums if self._may_be_sum(each)]
        self.lattice = Lattice.of(told, labels, self.numbers.divide_twice)
        self.doubts: list[str] = []
        self.features: list[DraftedFeature] = []
        self.peers: list[int] = []
        self.possible: list[tuple[tuple[int, ...], ...]] = []
        self.values: dict[int, dict[int, frozenset[int]]] = {}
        self.equals: dict[int, int] = {}
        self.either: dict[tuple[int, int], list[int]] = {}
        self.beside: dict[int, tuple[int, ...]] = {}

    def structure(self) -> Structure:
        for line, whole in self.said.inner.items():
            if not self.numbers.exceeds(whole, [line]):
                own, of = (" ".join(self.labels[each]) for each in (line, whole))
                raise SourceError(f"--sum '{of} = {own} + ...': {own!r} is more somewhere")
        for top in self._tops():
            self._place(top)
        for line in self.lines:
            self.values.setdefault(line, {})
        unplaced = self._relate()
        for line, same in self.equals.items():
            self.values[line] = {**self.values[same], **self.values[line]}
        peers = tuple(self.peers) if unplaced else ()
        return Structure(
            tuple(self.features),
            self.values,
            tuple(self.doubts),
            tuple(unplaced),
            peers,
            next(filter(self._is_chain, (peers, peers[::-1])), ()),
            tuple(self.possible) if unplaced else (),
            {tuple(lines): either for either, lines in self.either.items()},
            self.beside,
        )

    def _is_chain(self, lines: Sequence[int]) -> bool:
        """Test whether each of three lines or more may count some of the next."""
        steps = itertools.pairwise(lines)
        return len(lines) > 2 and all(self.numbers.exceeds(more, [less]) for less, more in steps)

    def _may_be_sum(self, each: Relation) -> bool:
        """Test whether somebody says a sum, or no age is in two of its parts."""
        paths = [self.labels[part] for part in each.of if self.labels.get(part)]
        spans = [interval(path[-1]) for path in paths if path[:-1] == paths[0][:-1]]
        ages = [span for span in spans if span is not None and not ends_in_note(span)]
        return each.support.is_said or len(ages) < len(each.of) or not do_overlap(ages)

    # --- features of the sums ---------------------------------------------------------------

    def _tops(self) -> list[_Top]:
        inside: dict[str, list[Feature]] = {}
        tops: list[Feature] = []
        for each in self.lattice.features:
            if each.inside is None:
                tops.append(each)
            else:
                inside.setdefault(each.inside, []).append(each)
        found: list[_Top] = []
        while tops:
            top = _Top(tops.pop(0))
            loose = self._fill(top, top.feature, inside)
            found.append(top)
            tops += loose
        return found

    def _fill(
        self,
        top: _Top,
        feature: Feature,
        inside: Mapping[str, list[Feature]],
    ) -> list[Feature]:
        """Give a feature its values; return those that divide a part of it a second time."""
        loose: list[Feature] = []

        def leaves(own: Feature) -> list[frozenset[int]]:
            name, short = self._short(own)
            if own is feature:
                top.name = name
            refined: dict[int, Feature] = {}
            for inner in inside.get(own.name, ()):
                cell = self.lattice.cells.get(inner.sums[0].line, {})
                part = cell.get(own.name)
                if part is None or part in refined:
                    loose.append(inner)
                else:
                    refined[part] = inner
            spread: list[frozenset[int]] = []
            for part, label in enumerate(short):
                if part in refined:
                    below = leaves(refined[part])
                    spread.append(frozenset().union(*below))
                    top.inner[refined[part].name] = (part, below)
                else:
                    top.labels.append(label)
                    spread.append(frozenset((len(top.labels) - 1,)))
            return spread

        top.leaves = leaves(feature)
        return loose

    def _short(self, feature: Feature) -> tuple[str, list[str]]:
        """Return the name of a feature, and its values without what their headers share."""
        return shared(
            [self.labels.get(part, ()) for part in feature.sums[0].of],
            self.labels.get(feature.sums[0].line, ()),
        )

    def _place(self, top: _Top) -> None:
        """Add a feature, and say of each line which of its values it counts."""
        number = len(self.features)
        name = top.feature.name
        for line, cell in self.lattice.cells.items():
            own: frozenset[int] | None = None
            if name in cell:
                own = top.leaves[cell[name]]
            for inner, (_, below) in top.inner.items():
                if inner in cell and (own is None or below[cell[inner]] < own):
                    own = below[cell[inner]]
            if own is not None:
                self.values.setdefault(line, {})[number] = own
        rest = "other" if top.feature.inside is not None else ""
        paths = [self.labels.get(part, ()) for part in top.feature.sums[0].of]
        whole = self.labels.get(top.feature.sums[0].line, ())
        groups = None if top.inner or rest else crossing(paths, whole)
        if groups is None:
            self.features.append(DraftedFeature(top.name, tuple(top.labels), rest))
        else:
            self._cross(number, groups)

    def _cross(self, number: int, groups: Sequence[tuple[str, ...]]) -> None:
        """Put a feature for each word of labels in place of one for every combination of them."""
        combinations = list(dict.fromkeys(zip(*groups, strict=True)))
        values = [tuple(dict.fromkeys(own)) for own in groups]
        self.features += [DraftedFeature("", own) for own in values]
        for own in self.values.values():
            chosen = own.pop(number, None)
            if chosen is not None and len(chosen) == 1:
                words = combinations[next(iter(chosen))]
                for at, word in enumerate(words):
                    own[number + at] = frozenset((values[at].index(word),))

    # --- lines beside each other ------------------------------------------------------------

    def _relate(self) -> list[int]:
        """Say what lines are that are no parts of others."""
        parts = {part for each in self.lattice.features for s in each.sums for part in s.of}
        heads = [line for line in self.lines if line not in parts]
        if len(heads) < 2:
            return []
        heads = self._without_equals(heads)
        self.subsets = {
            **self._wholes(heads),
            **self._within_parts(heads),
            **self.subsets,
            **self.said.inner,
        }
        of_others = [line for line in heads if self.subsets.get(line) in self.at]
        self.beside = self._may_exclude({line: self.subsets[line] for line in of_others})
        self._add_subsets(of_others)
        heads = [line for line in heads if line not in of_others]
        totals = {each.line for f in self.lattice.features for each in f.sums}
        related = [line for line in heads if line in totals]
        single = [line for line in heads if line not in totals]
        some = [line for line in heads if self._is_some(line)]
        whole = next((line for line in related if line not in some), None)
        if whole is not None:
            wider = [line for line in some if self._is_wider(line, whole)]
            if wider:
                self._add_alone([whole, *wider])
            some = [line for line in some if line not in wider]
            heads = [line for line in heads if line not in wider]
            single = [line for line in single if line not in wider]
            spans = self._add_spans(some, whole)
            apart = [line for line in some if line not in spans]
            self.beside |= self._may_exclude(dict.fromkeys(apart, whole))
            self._add_yes_or_no(apart, whole)
            heads = [line for line in heads if line not in some]
            single = [line for line in single if line not in some]
        if any(self._is_whole(line, heads) for line in single):
            return self._peers(heads)
        if whole is not None and single and related == [whole]:
            self._add_apart([line for line in single if line in self.said.apart], whole)
            return [line for line in single if line not in self.said.apart]
        loose = [line for line in single if line not in self.said.apart]
        is_whole = any(says(" ".join(self.labels.get(line, ())), Sense.TOTAL) for line in loose)
        if related and loose and not is_whole:
            # What adds up is counted; what is in no relation to it may be anything.
            return [*loose, *(self._peers(related) if len(related) > 1 else [])]
        return self._peers(heads) if len(heads) > 1 else []

    def _wholes(self, heads: Sequence[int]) -> dict[int, int]:
        """Map lines that are said to count some people to those that count them all.

        Where no sum tells the whole, it is the line of most of their words that is nowhere less.
        A counted line that is nowhere less than the total of sums has this total in it.
        """
        some = [line for line in heads if self._is_some(line)]
        others = [line for line in heads if line not in some]
        totals = {each.line for f in self.lattice.features for each in f.sums}
        if inner := [line for line in others if line in totals]:
            return self._within_counted(some, inner[0]) if len(inner) == 1 else {}
        found: dict[int, int] = {}
        for line in some:
            own = {*self.labels.get(line, ())}
            able = [each for each in others if self.numbers.exceeds(each, [line])]
            if able:
                found[line] = max(able, key=lambda at: len(own & {*self.labels.get(at, ())}))
                before = [each for each in able if self.at[each] < self.at[line]]
                if before and before[-1] != found[line]:
                    self._ask_either([line], before[-1], found[line])
        return found

    def _within_counted(self, some: Sequence[int], total: int) -> dict[int, int]:
        """Map a total to the one counted line that is nowhere less, and others that are to it."""
        wider = [line for line in some if self._is_wider(line, total)]
        if len(wider) != 1 or total in self.said.inner:
            return {}
        within = [line for line in some if self.numbers.exceeds(total, [line])]
        (whole,) = wider
        names = [" ".join(self.labels[line]) for line in (total, whole)]
        self.doubts.append("whether {!r} is among {!r}: nowhere more, and taken so".format(*names))
        return {total: whole, **dict.fromkeys(within, total)}

    def _is_wider(self, line: int, total: int) -> bool:
        """Test whether somebody counts a line that is nowhere less than a total, and is more."""
        is_more = not self.numbers.exceeds(total, [line]) and self.numbers.exceeds(line, [total])
        return is_more and line in self.said.counted

    def _ask_either(self, lines: Iterable[int], part: int, whole: int) -> None:
        """Ask of which of two lines count some people, where only words say that they do.

        A block of columns under a header of its own is of the whole.
        """
        told = {*self.said.counted, *self.said.inner}
        own = tuple(line for line in lines if line not in told)
        if any(says(self.labels[line][-1], Sense.OF_WHICH) for line in own):
            self.either.setdefault((part, whole), []).extend(own)
        elif own:
            shown = (" ".join(self.labels[line]) for line in (own[0], part, whole))
            self.doubts.append(
                "whether {!r} is of {!r} alone: it is taken to be of {!r}".format(*shown)
            )

    def _within_parts(self, heads: Sequence[int]) -> dict[int, int]:
        """Map lines that count some people to the part of a sum behind which they stand.

        Behind the last part they may be of its total, unless lines behind other parts are of these.
        """
        some = [line for line in heads if self._is_some(line)]
        others = [line for line in self.lines if line not in some]
        before = {
            line: next((each for each in reversed(others) if self.at[each] < self.at[line]), None)
            for line in some
        }
        found: dict[int, int] = {}
        for each in (own for feature in self.lattice.features for own in feature.sums):
            last = max(self.at[line] for line in (each.line, *each.of))
            every = {line: part for line, part in before.items() if part in each.of}
            behind = {
                line: part for line, part in every.items() if self.numbers.exceeds(part, [line])
            }
            inner = {line: part for line, part in behind.items() if self.at[line] < last}
            found |= behind if inner else {}
            if behind and not inner and behind == every:
                self._ask_either(behind, next(iter(behind.values())), each.line)
        return found

    def _peers(self, heads: list[int]) -> list[int]:
        """Say what lines are that no sum joins; return those of which it is not known.

        Where one of them is nowhere less than any other, these may be some of its people.
        """
        largest = max(heads, key=lambda line: float(self.block.low[self.at[line]].sum()))
        others = [line for line in heads if line != largest]
        words = without_ends(shared([self.labels[line] for line in heads], ())[1])
        is_apart = set(heads) <= self.said.apart or are_apart(words)
        if {*heads} <= self.said.counted:
            return self._add_alone(heads)
        if not is_apart and self.numbers.exceeds(largest, others):
            return self._below_largest(heads, largest, words)
        inside = [] if is_apart else self._inside_totals(heads)
        heads = [line for line in heads if line not in inside]
        groups = self._groups_of_one_sum(heads)
        for group in groups:
            self._add_peers(group)
        return inside

    def _below_largest(self, heads: list[int], largest: int, words: Sequence[str]) -> list[int]:
        """Say what lines are of which one is nowhere less; return those of which it is not known.

        Args:
            words: What tells each of them apart.
        """
        others = [line for line in heads if line != largest]
        is_said = len(others) > 1 and set(others) <= self.said.apart
        have_ages = not is_said and self._have_overlapping_ages(others)
        if have_ages and self._add_spans(others, largest) == others:
            return []
        is_total = says(words[heads.index(largest)], Sense.TOTAL)
        if not is_said:
            every = list(self._possible_sums(largest, others)) if is_total else []
            self.possible = every or list(self._inner_sums(heads))
            if not is_total or self.possible:
                self.peers = heads
                return others
        own = [word for line, word in zip(heads, words, strict=True) if line != largest]
        if is_said or (len(own) > 1 and are_apart(own)):
            self._add_apart(others, largest)
        elif others:
            shown = ", ".join(repr(" ".join(self.labels[line])) for line in others[:4])
            one, several = "is among {}", "are among {}, and exclude each other"
            among = (several if len(others) > 1 else one).format(
                repr(" ".join(self.labels[largest]))
            )
            taken = "each is taken to be some of it" if len(others) > 1 else "and taken so"
            self.doubts.append(f"whether {shown} {among}: nowhere more, {taken}")
            self.beside |= self._may_exclude(dict.fromkeys(others, largest))
            self._add_yes_or_no(others, largest)
        return []

    def _possible_sums(
        self, total: int, others: Sequence[int]
    ) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Yield the ways in which lines may add up to a total, all of them or in two groups.

        What is withheld leaves it open; where all is printed sums are found by themselves.
        """
        at = [self.at[line] for line in (total, *others)]
        parts = list(range(1, len(at)))
        block = self.block.take(np.array(at), np.arange(self.block.low.shape[1]))
        slack = (self.base - 1) * len(at)
        low, high = block.low[parts].sum(axis=0), block.high[parts].sum(axis=0)
        if block.known.all() or len(parts) < 2:
            return
        if (low <= block.high[0] + slack).all() and (high >= block.low[0] - slack).all():
            yield ((total, *others),)
        for split in possible_splits(block, 0, parts):
            yield tuple((total, *(others[i] for i in own)) for own in split)

    def _inner_sums(self, heads: Sequence[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Yield lines that those beside them, or around them, may add up to, and would give away.

        No number breaks such a sum, and one of its numbers at most is withheld somewhere.
        """
        said = self.said.counted | self.said.apart
        for at, total in enumerate(heads):
            found = [
                [*heads[start:at], *heads[at + 1 : stop]]
                for start in range(max(0, at - _MOST_INNER), at + 1)
                for stop in range(at + 1, min(len(heads), at + _MOST_INNER) + 1)
                if stop - start > 2
            ]
            able = [
                own for own in found if not said & {*own} and self.numbers.may_add_up(total, own)
            ]
            if able:
                group = self.labels[total][:-1]
                near = [own for own in able if all(self.labels[i][:-1] == group for i in own)]
                yield ((total, *max(near or able, key=len)),)

    def _inside_totals(self, heads: Sequence[int]) -> list[int]:
        """Return lines that may be some of others beside them, which a word says are totals."""
        totals = [line for line in heads if says(" ".join(self.labels[line]), Sense.TOTAL)]
        others = [line for line in heads if line not in totals]
        return [
            line for line in others if any(self.numbers.exceeds(each, [line]) for each in totals)
        ]

    def _groups_of_one_sum(self, heads: list[int]) -> list[list[int]]:
        """Lines beside each other whose sums are the same in all positions; all of them if none.

        Each group divides the same whole, which is not printed.
        """
        low = np.array([self.block.low[self.at[line]] for line in heads])
        told = np.array([self.block.known[self.at[line]] for line in heads]).all(axis=0)
        if not told.any() or len(heads) < 4:
            return [heads]
        low = low[:, told]
        slack = (self.base - 1) * len(heads)
        for first in range(2, len(heads) - 1):
            whole = low[:first].sum(axis=0)
            bits = np.log2((1 + whole) / (1 + 2 * slack)).clip(0).sum()
            groups = [heads[:first]]
            start = first
            for stop in range(first + 1, len(heads) + 1):
                if (np.abs(low[start:stop].sum(axis=0) - whole) <= slack).all():
                    groups.append(heads[start:stop])
                    start = stop
            if start == len(heads) and len(groups) > 1 and bits >= FEWEST_BITS:
                return groups
        return [heads]

    def _is_some(self, line: int) -> bool:
        """Whether the user, or a header, says that a line counts some of the people of another."""
        words = " ".join(self.labels.get(line, ()))
        is_said = line in self.said.counted or says(words, Sense.OF_WHICH)
        return is_said and line not in self.said.apart

    def _is_whole(self, line: int, heads: Sequence[int]) -> bool:
        """Test whether a word calls a line the total, and it is nowhere less than others."""
        is_total = says(" ".join(self.labels.get(line, ())), Sense.TOTAL)
        return is_total and self.numbers.exceeds(line, [each for each in heads if each != line])

    def _without_equals(self, heads: list[int]) -> list[int]:
        """Leave lines out that have the numbers of another: they have its values, too."""
        kept: list[int] = []
        for line in heads:
            called = {each for each in (*kept, line) if is_total(" ".join(self.labels[each][-1:]))}
            same = next(
                (
                    each
                    for each in kept
                    if self.numbers.are_equal(each, line, are_totals={each, line} <= called)
                ),
                None,
            )
            if same is None:
                kept.append(line)
            else:
                self.equals[line] = same
        return kept

    def _below(self, line: int) -> Iterator[int]:
        """Return a line, and all that are parts of it, and of its parts."""
        waiting, seen = [line], set[int]()
        while waiting:
            each = waiting.pop()
            if each in seen:
                continue
            seen.add(each)
            yield each
            for feature in self.lattice.features:
                for own in feature.sums:
                    if own.line == each:
                        waiting += own.of

    def _add_subsets(self, lines: Sequence[int]) -> None:
        """Add a feature for lines that are percentages of others: those counted, and the rest."""
        groups: dict[str, list[int]] = {}
        for whole, *parts in self.said.within:
            if len(parts) > 1:  # parts of a sum exclude each other
                self._add_apart(parts, whole)
        beside = {part for _, *parts in self.said.within if len(parts) > 1 for part in parts}
        for line in sorted(lines, key=self._depth):  # values of a whole before those of its parts
            if line in beside:
                continue
            base = self.labels.get(self.subsets[line], ())
            groups.setdefault(self._told(line, base), []).append(line)
        for label, own in groups.items():
            known = self._value_called(label)
            taken = {n for line in own for n in self.values.get(self.subsets[line], {})}
            if known is None or known[0] in taken:
                known = len(self.features), 0
                self.features.append(DraftedFeature("", (label,), f"not {label}"))
            else:
                self.doubts.append(
                    f"whether {label!r} means the same wherever it stands: some of its sums are "
                    "withheld, and it is taken so"
                )
            for line in own:
                base_values = self.values.get(self.subsets[line], {})
                self._add_below(line, {**base_values, known[0]: frozenset((known[1],))})

    def _may_exclude(self, whole_of: Mapping[int, int]) -> dict[int, tuple[int, ...]]:
        """Map lines to several that count some of their people, and may exclude each other.

        They do as far as numbers go, and would tell what is withheld of each other.

        Args:
            whole_of: Line → the line whose people it counts some of.
        """
        told = {
            *self.said.inner,
            *self.said.counted,
            *(line for own in self.either.values() for line in own),
        }
        found: dict[int, list[int]] = {}
        for line, whole in whole_of.items():
            if line not in told and interval(self.labels[line][-1]) is None:
                found.setdefault(whole, []).append(line)
        return {
            whole: tuple(parts)
            for whole, parts in found.items()
            if len(parts) > 1 and self.numbers.may_exclude(whole, parts)
        }

    def _depth(self, line: int) -> int:
        """Count the lines that a line is some of, each some of the next."""
        depth = 0
        while line in self.subsets and depth < len(self.lines):
            line, depth = self.subsets[line], depth + 1
        return depth

    def _value_called(self, label: str) -> tuple[int, int] | None:
        """Return the feature, and its value, that lines whose sums are shown call so.

        Where stars hide the sum, lines of one name count what others of that name count.
        """
        for number, feature in enumerate(self.features):
            names = [canonical(each) for each in feature.labels]
            if not feature.rest and canonical(label) in names:
                return number, names.index(canonical(label))
        return None

    def _add_spans(self, lines: Sequence[int], whole: int) -> list[int]:
        """Add a feature for those of some lines that are called by ages; return these.

        Of *15 to 24* and *15 to 19* one is in the other, and *55 and over* is in neither, as far as
        no number speaks against it. Where ages add up already, theirs is the feature, cut finer.
        """
        path = self.labels.get(whole, ())
        words = {line: [w for w in self.labels.get(line, ()) if w not in path] for line in lines}
        heads = {line: tuple(own[:-1]) for line, own in words.items() if own}
        spans = {line: span for line in heads if (span := interval(words[line][-1])) is not None}
        # Of "Under 183" beside "18 and over3" the last digit is a footnote's.
        is_noted = any(_NOTED.search(word) for path in self.labels.values() for word in path)
        is_old = any(map(ends_in_note, spans.values()))
        number, known = self._ages_of(whole) if {heads[line] for line in spans} == {()} else (0, [])
        if not spans or len(spans) + len(known) < 2 or is_noted or is_old:
            return []
        if len({heads[line] for line in spans}) > 1:
            return []
        steps, within = steps_of([*spans.values(), *known])
        ages = dict(zip(spans, within, strict=False))
        told = self._in_steps(whole, number, within[len(spans) :])
        every = told | ages
        if not all(
            self.numbers.exceeds(outer, [inner])
            for inner, outer in itertools.permutations(every, 2)
            if every[inner] < every[outer]
        ) or not all(self.numbers.have_room(line, own, told) for line, own in ages.items()):
            return []
        if known:
            self._cut(number, steps, within[len(spans) :])
            for line, own in ages.items():
                self._add_below(line, {**self.values.get(whole, {}), number: own})
            return [*spans]
        number = len(self.features)
        whole_span = (interval(path[-1]) if path else None) or (0, None)
        rest = "" if is_filled(steps, whole_span) else "other"
        if not rest:
            shown = ", ".join(repr(" ".join(self.labels[line])) for line in lines[:4])
            self.doubts.append(
                f"whether everybody is in one of {shown}: by their ages, and taken so"
            )
        self.features.append(DraftedFeature("", tuple(map(called, steps)), rest))
        for line, own in ages.items():
            self._add_below(line, {**self.values.get(whole, {}), number: own})
        return [*spans]

    def _ages_of(self, whole: int) -> tuple[int, list[Interval]]:
        """Return the one feature that divides a line by ages, and its ages; none if none does."""
        found = []
        for number, feature in enumerate(self.features):
            ages = [age for label in feature.labels if (age := interval(label)) is not None]
            is_whole = number not in self.values.get(whole, {}) and not feature.rest
            if is_whole and len(ages) == len(feature.labels) and not do_overlap(ages):
                found.append((number, ages))
        return found[0] if len(found) == 1 else (0, [])

    def _in_steps(
        self, whole: int, number: int, steps: Sequence[frozenset[int]]
    ) -> dict[int, frozenset[int]]:
        """Map the lines that divide a whole by one feature alone to the steps of its values."""
        base = self.values.get(whole, {})
        return {
            line: frozenset().union(*(steps[value] for value in own[number]))
            for line, own in self.values.items()
            if steps and number in own and {k: v for k, v in own.items() if k != number} == base
        }

    def _cut(self, number: int, ages: Sequence[Interval], steps: Sequence[frozenset[int]]) -> None:
        """Cut the values of a feature into ages, of which each was some."""
        self.features[number] = replace(self.features[number], labels=tuple(map(called, ages)))
        for own in self.values.values():
            if number in own:
                own[number] = frozenset().union(*(steps[value] for value in own[number]))

    def _have_overlapping_ages(self, lines: Sequence[int]) -> bool:
        """Test whether lines are called by ages of which some are in two."""
        spans = [interval(self.labels[line][-1]) for line in lines if self.labels.get(line)]
        ages = [span for span in spans if span is not None]
        return len(ages) == len(lines) > 1 and do_overlap(ages)

    def _add_below(self, line: int, values: Values) -> None:
        """Add values of a line to those of all that are parts or percentages of it."""
        below = set(self._below(line))
        below |= {each for each in self.subsets if self.subsets[each] in below}
        for each in below:
            self.values[each] = {**values, **self.values.get(each, {})}

    def _add_alone(self, lines: Sequence[int]) -> list[int]:
        """Add a feature for each line that counts some people, whether or not others count them."""
        largest = max(lines, key=lambda line: float(self.block.low[self.at[line]].sum()))
        others = [line for line in lines if line != largest]
        if self.numbers.exceeds(largest, others):
            shown = ", ".join(repr(" ".join(self.labels[line])) for line in others[:4])
            whole = " ".join(self.labels[largest])
            self.doubts.append(
                f"whether {shown} count some of {whole!r}: each is taken to be of its own; if they "
                "do, say `--sum 'TOTAL = PART + ...'`"
            )
        for line in lines:
            label = self._told(line, ())
            self._add_below(line, {len(self.features): frozenset((0,))})
            self.features.append(DraftedFeature("", (label,), f"not {label}"))
        return []

    def _add_yes_or_no(self, lines: Sequence[int], whole: int) -> None:
        """Add a feature for each line that counts some of the people of another."""
        for line in lines:
            number = len(self.features)
            label = self._told(line, self.labels.get(whole, ()))
            self.features.append(DraftedFeature("", (label,), f"not {label}"))
            self._add_below(line, {**self.values.get(whole, {}), number: frozenset((0,))})

    def _told(self, line: int, whole: Path) -> str:
        """Return the words of a line that its whole lacks, without *total* and *of which*."""
        words = self.labels.get(line, ())
        own = [word for word in words if word not in whole]
        told = [w for w in own if not (is_total(w) or is_word(w, Sense.OF_WHICH))] or own
        return " ".join(told) or " ".join(words[-1:]) or str(line)

    def _add_apart(self, lines: Sequence[int], whole: int) -> None:
        """Add a feature whose values are lines that exclude each other, among a whole."""
        if not lines:
            return
        name, short = shared([self.labels.get(line, ()) for line in lines], ())
        number = len(self.features)
        self.features.append(DraftedFeature(name, tuple(without_ends(short)), "other"))
        for place, line in enumerate(lines):
            self._add_below(line, {**self.values.get(whole, {}), number: frozenset((place,))})

    def _add_peers(self, lines: Sequence[int]) -> None:
        """Add a feature whose values are lines of which no total is printed."""
        name, short = shared([self.labels.get(line, ()) for line in lines], ())
        short = without_ends(short)
        number = len(self.features)
        self.features.append(DraftedFeature(name, tuple(short), has_total=False))
        shown = ", ".join(map(repr, short[:4])) + ", …" * (len(short) > 4)
        self.doubts.append(
            f"whether somebody is in none or several of {shown}: no total shows it, and everybody "
            "is taken to be in one"
        )
        for i, line in enumerate(lines):
            below = set(self._below(line))
            below |= {each for each in self.subsets if self.subsets[each] in below}
            for each in below:
                own = self.values.setdefault(each, {})
                before = own.get(number, frozenset())
                own[number] = before | {i}
