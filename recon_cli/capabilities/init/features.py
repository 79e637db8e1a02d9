"""The features of a drafted schema: their names, and the keys of their values."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from recon_cli.capabilities.init.conditions import Condition
from recon_cli.capabilities.init.line_features import DraftedFeature
from recon_cli.capabilities.init.names import canonical, slug, usual_name
from recon_cli.capabilities.init.spans import called
from recon_cli.capabilities.init.structure import Structure
from recon_cli.schema.geography import RESERVED_COLUMNS
from recon_cli.sources.formats.vocabulary import Interval, interval

#: Greatest age.
_OLDEST: Final = 200
#: The feature of a table that counts only everybody, since a schema must have a feature.
_ANYBODY: Final = "person"


@dataclass
class Features:
    """The features of a schema under construction: in all tables, the same labels are one feature.

    They are two features if one table crosses them, or divides the same people by both; and if
    headers give them two names, unless the labels say by themselves (ages, sexes) what they are.

    Attributes:
        known: Each feature as drafted from counts, with its name and the keys of its values.
        doubts: What stays unknown, a sentence each.
    """

    known: list[tuple[DraftedFeature, str, tuple[str, ...]]] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """Map each feature to the keys of its values."""
        return {name: keys for _, name, keys in self.known}

    @property
    def forms(self) -> dict[str, object]:
        """Map each feature to its form in a schema."""
        return {name: {"categories": list(keys)} for name, keys in self.keys.items()}

    def forms_of(self, names: Iterable[str]) -> dict[str, object]:
        """Return the forms of some features in a schema; without any, one for everybody."""
        forms = self.forms
        return {name: forms[name] for name in names} or {_ANYBODY: {"categories": ["counted"]}}

    def conditions(
        self,
        structure: Structure,
        crossed: Iterable[Condition] = (),
        tables: Mapping[int, int] | None = None,
    ) -> dict[int, Condition]:
        """Add the features of a structure; return the condition of each line.

        Args:
            crossed: Conditions of the lines with which these lines are crossed.
            tables: Line → the number of its table; None if all lines are of one table.
        """
        names: list[tuple[str, tuple[str, ...]]] = []
        taken = {name for condition in crossed for name in condition}
        wholes = [_wholes(structure, number, tables) for number in range(len(structure.features))]
        for number, feature in enumerate(structure.features):
            beside = {
                other
                for values in structure.values.values()
                if number in values
                for other in values
                if other < number
            }
            beside |= {o for o in range(number) if not wholes[o].isdisjoint(wholes[number])}
            names.append(self._add(feature, taken | {names[other][0] for other in beside}))
        found: dict[int, Condition] = {}
        for line, values in structure.values.items():
            condition: dict[str, tuple[str, ...]] = {}
            for number, places in values.items():
                name, keys = names[number]
                if len(places) < len(keys):
                    condition[name] = tuple(keys[i] for i in sorted(places))
            found[line] = condition
        return found

    def _add(self, feature: DraftedFeature, used: Collection[str]) -> tuple[str, tuple[str, ...]]:
        """Return the name of a feature and the keys of its values: a known one's, or new ones."""
        own = {canonical(label) for label in feature.labels}
        for known, name, keys in self.known:
            if name not in used and bool(known.rest) == bool(feature.rest):
                theirs = {canonical(label): i for i, label in enumerate(known.labels)}
                is_same = set(theirs) == own and len(own) == len(feature.labels)
                if is_same and not self._are_two(known, feature):
                    order = [keys[theirs[canonical(label)]] for label in feature.labels]
                    return name, (*order, *keys[len(known.labels) :])
        keys = _value_keys(feature)
        name = slug(feature.name) or usual_name(feature.labels)
        if not name and feature.rest and len(feature.labels) == 1:
            name = slug(feature.labels[0])
        taken = {*(each for _, each, _ in self.known), *RESERVED_COLUMNS}
        if not name or name in taken:
            stem = name or "feature"
            name = next(
                f"{stem}_{n}"
                for n in itertools.count(1 if stem == "feature" else 2)
                if f"{stem}_{n}" not in taken
            )
        self.known.append((feature, name, keys))
        return name, keys

    def _are_two(self, one: DraftedFeature, other: DraftedFeature) -> bool:
        """Test whether features with the same labels differ by their names; add a doubt if so."""
        names = [canonical(each.name) for each in (one, other)]
        if not all(names) or names[0] == names[1] or usual_name(one.labels):
            return False
        shown = ", ".join(map(repr, one.labels[:4])) + ", …" * (len(one.labels) > 4)
        self.doubts.append(
            f"whether {one.name!r} and {other.name!r} are the same, both being {shown}: they are "
            "taken for two"
        )
        return True


def _wholes(
    structure: Structure, number: int, tables: Mapping[int, int] | None
) -> set[tuple[int, frozenset[tuple[int, frozenset[int]]]]]:
    """Return the people whom a feature divides: the table and other values of its lines."""
    return {
        (
            0 if tables is None else tables.get(line, 0),
            frozenset((other, own) for other, own in values.items() if other != number),
        )
        for line, values in structure.values.items()
        if number in values
    }


def _value_keys(feature: DraftedFeature) -> tuple[str, ...]:
    """Return distinct keys for a feature's values: ages as they are, other words in Latin."""
    keys: list[str] = []
    spans = [interval(label) for label in feature.labels]
    told = [each for each in spans if each is not None]
    is_one = len(spans) == 1 and bool(feature.rest)
    if len(told) == len(spans) and _are_apart(told) and not is_one:
        return (*map(called, told), *([slug(feature.rest) or "rest"] if feature.rest else []))
    labels = [*feature.labels, *([feature.rest] if feature.rest else [])]
    for number, label in enumerate(labels, start=1):
        key = slug(label) or f"value_{number}"
        keys.append(key if key not in keys else f"{key}_{number}")
    return tuple(keys)


def _are_apart(spans: Sequence[Interval]) -> bool:
    ordered = sorted((low, _OLDEST if high is None else high) for low, high in spans)
    return all(one[1] < two[0] for one, two in itertools.pairwise(ordered))
