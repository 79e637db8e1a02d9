"""Features and levels that the sums among lines imply: a total, its margins and their crosses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from recon_cli.capabilities.init.proposal.relation import Relation


@dataclass(frozen=True)
class Feature:
    """Lines that are parts of a whole in one order, wherever that whole is divided.

    Attributes:
        name: F1, F2, …: words may name it later.
        values: A label for each part, where it divides the largest whole.
        sums: The sums that divide by it.
        inside: The feature of which it divides one part further; None for a feature of its own.
    """

    name: str
    values: tuple[str, ...]
    sums: tuple[Relation, ...]
    inside: str | None = None


@dataclass(frozen=True)
class Lattice:
    """The features of lines of counts, and the part of each feature that a line counts.

    Attributes:
        roots: Lines that are no parts of others.
        cells: Line → feature → the position of the part, from 0; a total if the feature is absent.
        conflicts: Lines to which two ways through the sums give different parts of a feature.
    """

    features: tuple[Feature, ...]
    roots: tuple[int, ...]
    cells: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    conflicts: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        sums: Sequence[Relation],
        labels: Mapping[int, tuple[str, ...]],
        are_two: Callable[[Relation, Relation], bool] | None = None,
    ) -> Lattice:
        """Read the features off sums.

        Args:
            labels: Line → the words of its header. They serve only to decide whether two sums that
                nothing else joins have the same parts.
            are_two: Tests whether numbers show that two sums with the same words differ.
        """
        return _Builder(sums, labels, are_two).lattice()

    @property
    def sums(self) -> tuple[Relation, ...]:
        """Return the sums of all features."""
        return tuple(each for feature in self.features for each in feature.sums)


class _Builder:
    def __init__(
        self,
        sums: Sequence[Relation],
        labels: Mapping[int, tuple[str, ...]],
        are_two: Callable[[Relation, Relation], bool] | None,
    ) -> None:
        self.sums = _nested(_independent(sums))
        self.labels = labels
        self.are_two = are_two
        self.group = list(range(len(self.sums)))
        self.whole_of: dict[int, list[Relation]] = {}
        for each in self.sums:
            for part in each.of:
                self.whole_of.setdefault(part, []).append(each)

    def lattice(self) -> Lattice:
        parts = set(self.whole_of)
        totals = {each.line for each in self.sums}
        roots = tuple(sorted(totals - parts))
        for one in range(len(self.sums)):
            for two in range(one):
                if self._are_alike(self.sums[one], self.sums[two]):
                    self._join(one, two)
        names = self._names(roots)
        cells, conflicts = self._cells(roots, names)
        features = tuple(self._feature(group, name, roots, names) for group, name in names.items())
        return Lattice(features, roots, cells, tuple(sorted(conflicts)))

    # --- which sums divide by one feature ---------------------------------------------------

    def _join(self, one: int, two: int) -> None:
        keep, drop = sorted((self.group[one], self.group[two]))
        self.group = [keep if each == drop else each for each in self.group]

    def _are_alike(self, one: Relation, two: Relation) -> bool:
        if len(one.of) != len(two.of) or one.line == two.line:
            return False
        pairs = list(zip(one.of, two.of, strict=True))
        if all(self._is_linked(a, b) for a, b in pairs):
            return True
        offsets = [tuple(part - each.line for part in each.of) for each in (one, two)]
        if one.step > 1 and one.step == two.step and offsets[0] == offsets[1]:
            return True
        rest = [[self._rest(part, each.line) for part in each.of] for each in (one, two)]
        are_alike = rest[0] == rest[1] and all(rest[0])
        return are_alike and not (self.are_two is not None and self.are_two(one, two))

    def _is_linked(self, one: int, two: int) -> bool:
        """Test whether one line is a part of the other."""
        return any(each.line == two for each in self.whole_of.get(one, ())) or any(
            each.line == one for each in self.whole_of.get(two, ())
        )

    def _rest(self, part: int, total: int) -> str:
        """Return the words of a part without those of its total."""
        own = _words(self.labels.get(part, ()))
        without = set(_words(self.labels.get(total, ())))
        return " ".join(word for word in own if word not in without)

    # --- features and cells -----------------------------------------------------------------

    def _names(self, roots: Sequence[int]) -> dict[int, str]:
        """Map groups to names: first those that divide a root, in order of their columns."""
        first: dict[int, tuple[bool, int]] = {}
        for group, each in zip(self.group, self.sums, strict=True):
            key = each.line not in roots, min(each.of)
            first[group] = min(first.get(group, key), key)
        ordered = sorted(first, key=lambda group: first[group])
        return {group: f"F{i}" for i, group in enumerate(ordered, start=1)}

    def _cells(
        self, roots: Sequence[int], names: Mapping[int, str]
    ) -> tuple[dict[int, dict[str, int]], set[int]]:
        cells: dict[int, dict[str, int]] = {root: {} for root in roots}
        conflicts: set[int] = set()
        waiting = list(roots)
        while waiting:
            line = waiting.pop(0)
            for group, each in zip(self.group, self.sums, strict=True):
                if each.line != line:
                    continue
                for place, part in enumerate(each.of):
                    own = {**cells[line], names[group]: place}
                    if part not in cells:
                        cells[part] = own
                        waiting.append(part)
                    elif any(cells[part].get(name, at) != at for name, at in own.items()):
                        conflicts.add(part)
                    elif len(own) > len(cells[part]):
                        cells[part] = {**cells[part], **own}
                        waiting.append(part)
        return cells, conflicts

    def _feature(
        self, group: int, name: str, roots: Sequence[int], names: Mapping[int, str]
    ) -> Feature:
        own = [each for at, each in zip(self.group, self.sums, strict=True) if at == group]
        own.sort(key=lambda each: (each.line not in roots, each.line))
        values = tuple(": ".join(self.labels.get(part, ())) or str(part) for part in own[0].of)
        inside = None
        if len(own) == 1 and own[0].line not in roots:
            above = self.whole_of.get(own[0].line, [])
            outer = next(
                (at for at, each in zip(self.group, self.sums, strict=True) if each in above), None
            )
            inside = None if outer is None else names[outer]
        return Feature(name, values, tuple(own), inside)


def _independent(sums: Sequence[Relation]) -> list[Relation]:
    """Return sums without those that others imply: of a total over the parts of its parts."""
    parts: dict[int, list[frozenset[int]]] = {}
    for each in sums:
        parts.setdefault(each.line, []).append(frozenset(each.of))
    below: dict[int, frozenset[int]] = {}

    def descendants(line: int, seen: frozenset[int] = frozenset()) -> frozenset[int]:
        if line in below or line in seen:
            return below.get(line, frozenset())
        own = frozenset[int]().union(*parts.get(line, ()))
        deeper = (descendants(each, seen | {line}) for each in own)
        below[line] = own.union(*deeper)
        return below[line]

    def reach(line: int) -> frozenset[int]:
        return descendants(line) | {line}

    def is_implied(each: Relation) -> bool:
        own = set(each.of)
        return any(
            len(other) < len(own)
            and all(own & reach(part) for part in other)
            and own <= frozenset[int]().union(*map(reach, other))
            for other in parts[each.line]
            if other != frozenset(each.of)
        )

    return [each for each in sums if not is_implied(each)]


def _nested(sums: Sequence[Relation]) -> list[Relation]:
    """Return sums in which a subtotal that a sum skips replaces its parts.

    Beside each year of age, for example, "under 18" is "under 15" and three years.
    """
    found: list[Relation] = []
    for each in sums:
        inner = [
            other
            for other in sums
            if other.line not in {each.line, *each.of} and {*other.of} < {*each.of}
        ]
        own = each
        for other in sorted(inner, key=lambda other: -len(other.of)):
            if {*other.of} <= {*own.of}:
                first = own.of.index(other.of[0])
                rest = [part for part in own.of if part not in other.of]
                first -= sum(part in other.of for part in own.of[:first])
                own = replace(own, of=(*rest[:first], other.line, *rest[first:]))
        found.append(own)
    return found


def _words(label: Sequence[str]) -> list[str]:
    return re.findall(r"[^\W_]+", " ".join(label).casefold())
