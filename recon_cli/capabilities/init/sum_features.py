"""Features that follow from the sums among lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recon_cli.capabilities.init.label_words import crossing, shared
from recon_cli.capabilities.init.line_features import DraftedFeature, LineFeatures
from recon_cli.capabilities.init.proposal.lattice import Feature


def add_features_of_sums(lines: LineFeatures) -> None:
    """Add the features that divide lines, and set the values that each line counts.

    A division of one value of a feature makes this feature finer.
    """
    inside: dict[str, list[Feature]] = {}
    waiting: list[Feature] = []
    for each in lines.lattice.features:
        if each.inside is None:
            waiting.append(each)
        else:
            inside.setdefault(each.inside, []).append(each)
    tops: list[_Top] = []
    while waiting:
        top = _Top(waiting.pop(0))
        waiting += _fill(top, lines, inside)
        tops.append(top)
    for top in tops:
        _place(top, lines)


@dataclass
class _Top:
    """A feature under construction: its values, and which of them each part of its sums has."""

    feature: Feature
    labels: list[str] = field(default_factory=list)
    leaves: list[frozenset[int]] = field(default_factory=list)
    inner: dict[str, list[frozenset[int]]] = field(default_factory=dict)
    name: str = ""


def _fill(top: _Top, lines: LineFeatures, inside: Mapping[str, list[Feature]]) -> list[Feature]:
    """Give a feature its values; return those that divide a part of it a second time."""
    loose: list[Feature] = []

    def leaves(own: Feature) -> list[frozenset[int]]:
        first = own.sums[0]
        name, short = shared(
            [lines.labels.get(part, ()) for part in first.of], lines.labels.get(first.line, ())
        )
        if own is top.feature:
            top.name = name
        refined: dict[int, Feature] = {}
        for inner in inside.get(own.name, ()):
            part = lines.lattice.cells.get(inner.sums[0].line, {}).get(own.name)
            if part is None or part in refined:
                loose.append(inner)
            else:
                refined[part] = inner
        spread: list[frozenset[int]] = []
        for part, label in enumerate(short):
            if part in refined:
                below = leaves(refined[part])
                spread.append(frozenset().union(*below))
                top.inner[refined[part].name] = below
            else:
                top.labels.append(label)
                spread.append(frozenset((len(top.labels) - 1,)))
        return spread

    top.leaves = leaves(top.feature)
    return loose


def _place(top: _Top, lines: LineFeatures) -> None:
    """Add a feature, and set which of its values each line counts."""
    number = len(lines.features)
    name = top.feature.name
    for line, cell in lines.lattice.cells.items():
        own: frozenset[int] | None = None
        if name in cell:
            own = top.leaves[cell[name]]
        for inner, below in top.inner.items():
            if inner in cell and (own is None or below[cell[inner]] < own):
                own = below[cell[inner]]
        if own is not None:
            lines.values.setdefault(line, {})[number] = own
    rest = "other" if top.feature.inside is not None else ""
    paths = [lines.labels.get(part, ()) for part in top.feature.sums[0].of]
    whole = lines.labels.get(top.feature.sums[0].line, ())
    groups = None if top.inner or rest else crossing(paths, whole)
    if groups is None:
        lines.features.append(DraftedFeature(top.name, tuple(top.labels), rest))
    else:
        _cross(lines, number, groups)


def _cross(lines: LineFeatures, number: int, groups: Sequence[tuple[str, ...]]) -> None:
    """Replace a feature whose labels combine words by one feature for each of these words."""
    combinations = list(dict.fromkeys(zip(*groups, strict=True)))
    values = [tuple(dict.fromkeys(own)) for own in groups]
    lines.features += [DraftedFeature("", own) for own in values]
    for own in lines.values.values():
        chosen = own.pop(number, None)
        if chosen is not None and len(chosen) == 1:
            words = combinations[next(iter(chosen))]
            for at, word in enumerate(words):
                own[number + at] = frozenset((values[at].index(word),))
