"""Lines that count some of another line's people: by words, by numbers, or as the user says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from recon_cli.capabilities.init.line_features import DraftedFeature, LineFeatures
from recon_cli.capabilities.init.line_numbers import LineNumbers
from recon_cli.capabilities.init.said import Said
from recon_cli.sources.formats.vocabulary import interval
from recon_cli.sources.read.words import Sense, says


class InnerLines:
    """Lines that count some of the people of others.

    Attributes:
        either: (line, its whole) → the lines behind this line that words call some of others, and
            that are taken to count some people of the whole.
    """

    def __init__(self, features: LineFeatures, numbers: LineNumbers, said: Said) -> None:
        self.features = features
        self.numbers = numbers
        self.said = said
        self.either: dict[tuple[int, int], list[int]] = {}

    def is_some(self, line: int) -> bool:
        """Test whether the user, or a header, says that a line counts some of another's people."""
        is_said = line in self.said.counted or says(self.features.words(line), Sense.OF_WHICH)
        return is_said and line not in self.said.apart

    def is_wider(self, line: int, total: int) -> bool:
        """Test whether the user counts a line that is nowhere less than a total, and is more."""
        is_more = not self.numbers.exceeds(total, [line]) and self.numbers.exceeds(line, [total])
        return is_more and line in self.said.counted

    def wholes(self, heads: Sequence[int]) -> dict[int, int]:
        """Map lines that are said to count some people to the lines that count all of these.

        Without sums, the whole is the line that is nowhere less and shares the most words.
        A counted line that is nowhere less than the only total of sums contains this total.

        Args:
            heads: Lines that are no parts of others.
        """
        labels, at = self.features.labels, self.numbers.at
        some = [line for line in heads if self.is_some(line)]
        others = [line for line in heads if line not in some]
        totals = {each.line for each in self.features.lattice.sums}
        if inner := [line for line in others if line in totals]:
            return self._within_counted(some, inner[0]) if len(inner) == 1 else {}
        found: dict[int, int] = {}
        for line in some:
            own = {*labels.get(line, ())}
            able = [each for each in others if self.numbers.exceeds(each, [line])]
            if able:
                found[line] = max(able, key=lambda each: len(own & {*labels.get(each, ())}))
                before = [each for each in able if at[each] < at[line]]
                if before and before[-1] != found[line]:
                    self._ask_either([line], before[-1], found[line])
        return found

    def within_parts(self, heads: Sequence[int]) -> dict[int, int]:
        """Map lines that count some people to the part of a sum behind which they stand.

        Lines behind the last part may be of the total, unless lines stand behind other parts, too.
        """
        at = self.numbers.at
        some = [line for line in heads if self.is_some(line)]
        others = [line for line in self.features.labels if line not in some]
        before = {
            line: next((each for each in reversed(others) if at[each] < at[line]), None)
            for line in some
        }
        found: dict[int, int] = {}
        for each in self.features.lattice.sums:
            last = max(at[line] for line in (each.line, *each.of))
            every = {line: part for line, part in before.items() if part in each.of}
            behind = {
                line: part for line, part in every.items() if self.numbers.exceeds(part, [line])
            }
            inner = {line: part for line, part in behind.items() if at[line] < last}
            found |= behind if inner else {}
            if behind and not inner and behind == every:
                self._ask_either(behind, next(iter(behind.values())), each.line)
        return found

    def may_exclude(self, whole_of: Mapping[int, int]) -> dict[int, tuple[int, ...]]:
        """Map each line to several that count some of its people and may exclude each other.

        The numbers allow that these exclude each other, which would give away withheld ones.

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
            if line not in told and interval(self.features.labels[line][-1]) is None:
                found.setdefault(whole, []).append(line)
        return {
            whole: tuple(parts)
            for whole, parts in found.items()
            if len(parts) > 1 and self.numbers.may_exclude(whole, parts)
        }

    def add_subsets(self, lines: Sequence[int]) -> None:
        """Add a feature (the people counted, and the rest) for lines that count some of others."""
        features, subsets = self.features, self.features.subsets
        sums = [(whole, parts) for whole, *parts in self.said.within if len(parts) > 1]
        for whole, parts in sums:  # parts of a sum exclude each other
            features.add_apart(parts, whole)
        beside = {part for _, parts in sums for part in parts}
        groups: dict[str, list[int]] = {}
        for line in sorted(lines, key=self._depth):  # values of a whole before those of its parts
            if line not in beside:
                label = features.told(line, features.labels.get(subsets[line], ()))
                groups.setdefault(label, []).append(line)
        for label, own in groups.items():
            known = features.value_called(label)
            taken = {n for line in own for n in features.values_of(subsets[line])}
            if known is None or known[0] in taken:
                known = len(features.features), 0
                features.features.append(DraftedFeature("", (label,), f"not {label}"))
            else:
                features.doubts.append(
                    f"whether {label!r} means the same wherever it stands: some of its sums are "
                    "withheld, and it is taken so"
                )
            number, value = known
            for line in own:
                values = features.values_of(subsets[line])
                features.add_below(line, {**values, number: frozenset((value,))})

    def _within_counted(self, some: Sequence[int], total: int) -> dict[int, int]:
        """Map a total to the only counted line that is wider, and lines within it to the total."""
        wider = [line for line in some if self.is_wider(line, total)]
        if len(wider) != 1 or total in self.said.inner:
            return {}
        within = [line for line in some if self.numbers.exceeds(total, [line])]
        (whole,) = wider
        inner, outer = self.features.words(total), self.features.words(whole)
        self.features.doubts.append(
            f"whether {inner!r} is among {outer!r}: nowhere more, and taken so"
        )
        return {total: whole, **dict.fromkeys(within, total)}

    def _ask_either(self, lines: Iterable[int], part: int, whole: int) -> None:
        """Ask whether lines that only words call some of others are of a part or of its whole.

        Lines without these words of their own (under a header) are taken to be of the whole.
        """
        told = {*self.said.counted, *self.said.inner}
        own = tuple(line for line in lines if line not in told)
        if any(says(self.features.labels[line][-1], Sense.OF_WHICH) for line in own):
            self.either.setdefault((part, whole), []).extend(own)
        elif own:
            first, one, every = (self.features.words(line) for line in (own[0], part, whole))
            self.features.doubts.append(
                f"whether {first!r} is of {one!r} alone: it is taken to be of {every!r}"
            )

    def _depth(self, line: int) -> int:
        """Count the steps from a line to its outermost whole."""
        subsets, depth = self.features.subsets, 0
        while line in subsets and depth < len(self.features.labels):
            line, depth = subsets[line], depth + 1
        return depth
