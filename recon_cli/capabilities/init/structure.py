"""Find the features of lines of counts, and the values that each line counts.

A line is a column, or a row of categories. Features follow from the sums among lines: parts of one
whole are values of one feature, and two groups that add up to one whole are two features.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from recon_cli.capabilities.init.age_features import add_ages
from recon_cli.capabilities.init.inner_lines import InnerLines
from recon_cli.capabilities.init.label_words import are_apart, ends_in_note, shared, without_ends
from recon_cli.capabilities.init.line_features import DraftedFeature, LineFeatures, Values
from recon_cli.capabilities.init.line_numbers import LineNumbers
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.lattice import Lattice
from recon_cli.capabilities.init.proposal.relation import Relation
from recon_cli.capabilities.init.said import NOTHING_SAID, Said
from recon_cli.capabilities.init.spans import do_overlap
from recon_cli.capabilities.init.sum_features import add_features_of_sums
from recon_cli.errors import SourceError
from recon_cli.sources.formats.vocabulary import interval, is_total
from recon_cli.sources.read.row_labels import Path
from recon_cli.sources.read.words import Sense, says

#: Most lines on either side of a line that may be its parts.
_MOST_INNER: Final = 8


@dataclass(frozen=True)
class Structure:
    """The features of some lines.

    Attributes:
        values: Line → the values that the line counts, by feature; all values of an absent feature.
        doubts: Assumptions that no number shows, a sentence each.
        unplaced: Lines that are parts of no sum, and whose relation to other lines is unknown.
        peers: Unplaced lines that may exclude each other, and the line that is nowhere less.
        chain: The peers, sorted so that each is nowhere less than the one before; empty if no order
            is so, or for fewer than three.
        possible: Ways in which lines may add up to a total: the sums of each way, total first.
        either: Lines that words call some of others → the line that they stand behind and may be
            some of, and the whole that they are taken to be some of.
        beside: Line → lines that count some of its people and may exclude each other.
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
            sums: The sums among the lines, which are given by number.
            block: The counts of the lines, in the order of `labels`.
            subsets: Line → a line whose people it counts some of.
            base: What numbers are rounded to.
        """
        return _Builder(labels, sums, block, subsets, said, base).structure()


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
        self.labels = labels
        self.said = said
        self.numbers = LineNumbers(block, {line: i for i, line in enumerate(labels)}, base)
        told = [each for each in sums if self._may_be_sum(each)]
        lattice = Lattice.of(told, labels, self.numbers.divide_twice)
        self.features = LineFeatures(labels, lattice, subsets)
        self.inner = InnerLines(self.features, self.numbers, said)
        self.peers: list[int] = []
        self.possible: list[tuple[tuple[int, ...], ...]] = []
        self.equals: dict[int, int] = {}
        self.beside: dict[int, tuple[int, ...]] = {}

    def structure(self) -> Structure:
        for line, whole in self.said.inner.items():
            if not self.numbers.exceeds(whole, [line]):
                own, of = (" ".join(self.labels[each]) for each in (line, whole))
                raise SourceError(f"--sum '{of} = {own} + ...': {own!r} is more somewhere")
        add_features_of_sums(self.features)
        values = self.features.values
        for line in self.labels:
            values.setdefault(line, {})
        unplaced = self._relate()
        for line, same in self.equals.items():
            values[line] = {**values[same], **values[line]}
        peers = tuple(self.peers) if unplaced else ()
        return Structure(
            tuple(self.features.features),
            values,
            tuple(self.features.doubts),
            tuple(unplaced),
            peers,
            next(filter(self._is_chain, (peers, peers[::-1])), ()),
            tuple(self.possible) if unplaced else (),
            {tuple(lines): either for either, lines in self.inner.either.items()},
            self.beside,
        )

    def _is_chain(self, lines: Sequence[int]) -> bool:
        """Test whether each of three lines or more may count some of the next."""
        steps = itertools.pairwise(lines)
        return len(lines) > 2 and all(self.numbers.exceeds(more, [less]) for less, more in steps)

    def _may_be_sum(self, each: Relation) -> bool:
        """Test whether the user says a sum, or no age is in two of its parts."""
        paths = [self.labels[part] for part in each.of if self.labels.get(part)]
        spans = [interval(path[-1]) for path in paths if path[:-1] == paths[0][:-1]]
        ages = [span for span in spans if span is not None and not ends_in_note(span)]
        return each.support.is_said or len(ages) < len(each.of) or not do_overlap(ages)

    # --- lines beside each other ------------------------------------------------------------

    def _relate(self) -> list[int]:
        """Give values to the lines that are parts of no sum; return those that stay unplaced."""
        features, inner = self.features, self.inner
        sums = features.lattice.sums
        parts = {part for each in sums for part in each.of}
        heads = [line for line in self.labels if line not in parts]
        if len(heads) < 2:
            return []
        heads = self._without_equals(heads)
        features.subsets = {
            **inner.wholes(heads),
            **inner.within_parts(heads),
            **features.subsets,
            **self.said.inner,
        }
        of_others = [line for line in heads if features.subsets.get(line) in self.numbers.at]
        self.beside = inner.may_exclude({line: features.subsets[line] for line in of_others})
        inner.add_subsets(of_others)
        heads = [line for line in heads if line not in of_others]
        totals = {each.line for each in sums}
        related = [line for line in heads if line in totals]
        some = [line for line in heads if inner.is_some(line)]
        whole = next((line for line in related if line not in some), None)
        if whole is not None:
            self._add_some(some, whole)
            heads = [line for line in heads if line not in some]
        single = [line for line in heads if line not in totals]
        if any(self._is_whole(line, heads) for line in single):
            return self._peers(heads)
        loose = [line for line in single if line not in self.said.apart]
        if whole is not None and single and related == [whole]:
            features.add_apart([line for line in single if line not in loose], whole)
            return loose
        is_whole = any(says(features.words(line), Sense.TOTAL) for line in loose)
        if related and loose and not is_whole:
            # What adds up is counted; what is in no relation to it may be anything.
            return [*loose, *(self._peers(related) if len(related) > 1 else [])]
        return self._peers(heads) if len(heads) > 1 else []

    def _add_some(self, some: Sequence[int], whole: int) -> None:
        """Add features for lines that count some people of a whole, or of more than the whole."""
        wider = [line for line in some if self.inner.is_wider(line, whole)]
        if wider:
            self._add_alone([whole, *wider])
        within = [line for line in some if line not in wider]
        ages = add_ages(self.features, self.numbers, within, whole)
        apart = [line for line in within if line not in ages]
        self.beside |= self.inner.may_exclude(dict.fromkeys(apart, whole))
        self.features.add_each(apart, whole)

    def _peers(self, heads: list[int]) -> list[int]:
        """Give values to lines that no sum joins; return those that stay unplaced.

        If one line is nowhere less than the others, these may count some of its people.
        """
        largest = self.numbers.largest(heads)
        others = [line for line in heads if line != largest]
        words = without_ends(shared([self.labels[line] for line in heads], ())[1])
        is_apart = set(heads) <= self.said.apart or are_apart(words)
        if {*heads} <= self.said.counted:
            self._add_alone(heads)
            return []
        if not is_apart and self.numbers.exceeds(largest, others):
            return self._below_largest(heads, largest, words)
        inside = [] if is_apart else self._inside_totals(heads)
        heads = [line for line in heads if line not in inside]
        for group in self.numbers.groups_of_one_sum(heads):
            self.features.add_peers(group)
        return inside

    def _below_largest(self, heads: list[int], largest: int, words: Sequence[str]) -> list[int]:
        """Give values to lines that are nowhere more than the largest; return the unplaced ones.

        Args:
            words: The words of each of `heads` that the others lack.
        """
        others = [line for line in heads if line != largest]
        is_said = len(others) > 1 and set(others) <= self.said.apart
        have_ages = not is_said and self._have_overlapping_ages(others)
        if have_ages and add_ages(self.features, self.numbers, others, largest) == others:
            return []
        is_total = says(words[heads.index(largest)], Sense.TOTAL)
        if not is_said:
            every = list(self.numbers.possible_sums(largest, others)) if is_total else []
            self.possible = every or list(self._inner_sums(heads))
            if not is_total or self.possible:
                self.peers = heads
                return others
        own = [word for line, word in zip(heads, words, strict=True) if line != largest]
        if is_said or (len(own) > 1 and are_apart(own)):
            self.features.add_apart(others, largest)
        elif others:
            shown, whole = self.features.quoted(others), self.features.words(largest)
            self.features.doubts.append(
                f"whether {shown} are among {whole!r}, and exclude each other: nowhere more, each "
                "is taken to be some of it"
                if len(others) > 1
                else f"whether {shown} is among {whole!r}: nowhere more, and taken so"
            )
            self.beside |= self.inner.may_exclude(dict.fromkeys(others, largest))
            self.features.add_each(others, largest)
        return []

    def _inner_sums(self, heads: Sequence[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Yield possible sums that would give numbers away: a line, then neighbours as its parts.

        No number contradicts such a sum, and somewhere at most one of its numbers is withheld.
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
        """Return lines that may count some of the people of a line that a word calls a total."""
        totals = [line for line in heads if says(self.features.words(line), Sense.TOTAL)]
        others = [line for line in heads if line not in totals]
        return [
            line for line in others if any(self.numbers.exceeds(each, [line]) for each in totals)
        ]

    def _is_whole(self, line: int, heads: Sequence[int]) -> bool:
        """Test whether a word calls a line the total, and it is nowhere less than others."""
        is_total = says(self.features.words(line), Sense.TOTAL)
        return is_total and self.numbers.exceeds(line, [each for each in heads if each != line])

    def _without_equals(self, heads: list[int]) -> list[int]:
        """Leave out lines with the numbers of an earlier line, and note this line in `equals`."""
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

    def _have_overlapping_ages(self, lines: Sequence[int]) -> bool:
        """Test whether lines are labelled with ages, and some of these overlap."""
        spans = [interval(self.labels[line][-1]) for line in lines if self.labels.get(line)]
        ages = [span for span in spans if span is not None]
        return len(ages) == len(lines) > 1 and do_overlap(ages)

    def _add_alone(self, lines: Sequence[int]) -> None:
        """Add a feature for each line that counts some people, whether or not others count them."""
        largest = self.numbers.largest(lines)
        others = [line for line in lines if line != largest]
        if self.numbers.exceeds(largest, others):
            shown, whole = self.features.quoted(others), self.features.words(largest)
            self.features.doubts.append(
                f"whether {shown} count some of {whole!r}: each is taken to be of its own; if they "
                "do, say `--sum 'TOTAL = PART + ...'`"
            )
        self.features.add_each(lines, None)
