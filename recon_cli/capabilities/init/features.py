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

#: No age is above.
_OLDEST: Final = 200
#: The feature of a table of everybody alone, which a schema must have one of.
_ANYBODY: Final = "person"


@dataclass
class Features:
    """The features of a schema in the making: the same for the same labels, in all tables.

    They are two where one table is crossed by both or divides the same people by both, and where
    headers call them by two names, if words say of no label what it is of.

    Attributes:
        known: Each as counts tell it, with its name and the keys of its values.
        doubts: What could not be told, a sentence each.
    """

    known: list[tuple[DraftedFeature, str, tuple[str, ...]]] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """Map each feature to the keys of its values."""
        return {name: keys for _, name, keys in self.known}

    @property
    def forms(self) -> dict[str, object]:
        """Map each feature to how a schema writes it."""
        return {name: {"categories": list(keys)} for name, keys in self.keys.items()}

    def forms_of(self, names: Iterable[str]) -> dict[str, object]:
        """Return how a schema writes some features; where there are none, one of anybody."""
        forms = self.forms
        return {name: forms[name] for name in names} or {_ANYBODY: {"categories": ["counted"]}}

    def conditions(
        self,
        structure: Structure,
        crossed: Iterable[Condition] = (),
        tables: Mapping[int, int] | None = None,
    ) -> dict[int, Condition]:
        """Add the features of a structure; return what each line counts of them.

        Args:
            crossed: What lines count that these are crossed with.
            tables: Line → the number of its table; None where all are of one.
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
        """Return the name of a feature and the keys of its values; the same for the same labels."""
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
        """Test whether features of the same labels are two, by their names; and say so."""
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
    """Return what a feature divides: of each table the other values of its lines."""
    return {
        (
            0 if tables is None else tables.get(line, 0),
            frozenset((other, own) for other, own in values.items() if other != number),
        )
        for line, values in structure.values.items()
        if number in values
    }


def _value_keys(feature: DraftedFeature) -> tuple[str, ...]:
    """Return distinct keys of a feature's values: ages as such, other words in Latin letters."""
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
