"""The features of a drafted schema: their names, and the keys of their values."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from recon_cli.capabilities.init.conditions import Condition
from recon_cli.capabilities.init.names import canonical, slug, usual_name
from recon_cli.capabilities.init.spans import called
from recon_cli.capabilities.init.structure import DraftedFeature, Structure
from recon_cli.schema.geography import RESERVED_COLUMNS
from recon_cli.sources.formats.vocabulary import Interval, interval

#: No age is above.
_OLDEST: Final = 200
#: The feature of a table of everybody alone, which a schema must have one of.
_ANYBODY: Final = "person"


@dataclass
class Features:
    """The features of a schema in the making: the same for the same labels, in all tables.

    Attributes:
        known: Each as counts tell it, with its name and the keys of its values.
    """

    known: list[tuple[DraftedFeature, str, tuple[str, ...]]] = field(default_factory=list)

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

    def conditions(self, structure: Structure) -> dict[int, Condition]:
        """Add the features of a structure; return what each line counts of them."""
        names: list[tuple[str, tuple[str, ...]]] = []
        for number, feature in enumerate(structure.features):
            beside = {
                other
                for values in structure.values.values()
                if number in values
                for other in values
                if other < number
            }
            names.append(self._add(feature, {names[other][0] for other in beside}))
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
                if set(theirs) == own and len(own) == len(feature.labels):
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


def _value_keys(feature: DraftedFeature) -> tuple[str, ...]:
    """Keys of a feature's values: ages as such, other words in Latin letters, each once."""
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
