"""Descriptions of values and published cells, from the schema alone."""

from __future__ import annotations

from collections.abc import Sequence

from recon_cli.schema.features import Feature, Value, bits
from recon_cli.schema.release import Release
from recon_cli.schema.tables import Cell

#: Categories that, like numbers, mean nothing without the name of their feature.
_VAGUE = frozenset(
    {"none", "no", "yes", "other", "any", "some", "all", "unknown", "missing", "total", "refused"}
)
#: Values that are listed one by one.
_LISTED = 3


def describe_values(feature: Feature, mask: int) -> str:
    """Describe a set of values, for use under a heading that names the feature.

    >>> age = Feature("age", tuple(range(91)), ordered=True)
    >>> [describe_values(age, mask) for mask in (0b1111100, age.full - 0b11, 0b1001)]
    ['2–6', '2+', '0, 3']
    >>> race = Feature("race", tuple(range(1, 8)), ("white", "black", "asian"))
    >>> masks = (0b1, 0b100, race.includes("black"), race.picked(2))
    >>> [describe_values(race, mask) for mask in masks]
    ['white alone', 'white + black', 'black, alone or not', '2']
    """
    if mask == feature.full:
        return "any"
    if feature.ordered:
        return _runs(feature, mask)
    if feature.options:
        return _options(feature, mask)
    return " or ".join(_plain(feature.values[at]) for at in bits(mask))


def describe_condition(feature: Feature, mask: int) -> str:
    """Describe a set of values, for use in a sentence; empty for all values.

    >>> describe_condition(Feature("smoker", (False, True)), 1)
    'not smoker'
    >>> describe_condition(Feature("age", tuple(range(91)), ordered=True), 0b1111100)
    'age 2–6'
    >>> describe_condition(Feature("householder_age", ("none", "15-24", "25-34")), 2)
    'householder age 15-24'
    >>> payer = Feature("payer", ("public", "none"))
    >>> describe_condition(payer, 1), describe_condition(payer, 2), describe_condition(payer, 3)
    ('public', 'payer none', '')
    """
    if mask == feature.full:
        return ""
    name = feature.name.replace("_", " ")
    values = [feature.values[at] for at in bits(mask)]
    if isinstance(values[0], bool):
        return name if values[0] else f"not {name}"
    words = describe_values(feature, mask)
    if feature.ordered:
        return f"{name} {words}"
    if feature.options:
        return f"{name}: {words}" if _counts(feature, mask) else words
    is_vague = _VAGUE.intersection(map(str, values)) or any(str(v)[:1].isdigit() for v in values)
    return f"{name} {words}" if is_vague else words


def describe_cell(release: Release, cell: Cell, known: Sequence[int] = ()) -> str:
    """Describe the people that a published cell counts.

    Args:
        known: Features to leave out, because a caption names them for the whole table.
    """
    words = [
        describe_condition(feature, mask)
        for f, (feature, mask) in enumerate(zip(release.features, cell.masks, strict=True))
        if f not in known
    ]
    said = ", ".join(word for word in words if word)
    if cell.tally is None:
        return said or "all"
    tallied = f"mentions of {release.features[cell.tally].name.replace('_', ' ')}"
    return f"{said}, {tallied}" if said else tallied


def describe_label(release: Release, column: str, label: Value | None) -> str:
    """Describe a value of a histogram or microdata column; a dash for an unknown one."""
    if label is None:
        return "–"
    groups = release.column_groups(column)
    feature = release.features[release.feature_index[groups.feature]]
    return describe_values(feature, groups.masks[groups.labels.index(label)])


def _runs(feature: Feature, mask: int) -> str:
    """Format numbers as runs: ``0–5, 8``, with ``85+`` for a run up to the last."""
    places = list(bits(mask))
    starts = [at for at in places if not (mask << 1) >> at & 1]
    runs = []
    for start in starts:
        end = start
        while mask >> end + 1 & 1:
            end += 1
        low, high = feature.values[start], feature.values[end]
        if start == end:
            runs.append(f"{low}")
        elif end == len(feature.values) - 1:
            runs.append(f"{low}+")
        else:
            runs.append(f"{low}–{high}")
    return ", ".join(runs)


def _options(feature: Feature, mask: int) -> str:
    """Describe values of a multi-select feature by their options."""
    values = [int(feature.values[at]) for at in bits(mask)]
    if len(values) == 1:
        return _picked(feature, values[0])
    for option in feature.options:
        if mask == feature.includes(option):
            return f"{_plain(option)}, alone or not"
    if counts := _counts(feature, mask):
        return _describe_counts(counts, len(feature.options))
    if len(values) <= _LISTED:
        return " or ".join(_picked(feature, value) for value in values)
    left_out = list(bits(feature.full & ~mask))
    if len(left_out) <= _LISTED:
        return "not " + ", not ".join(_picked(feature, int(feature.values[at])) for at in left_out)
    return f"{len(values)} of {len(feature.values)} combinations"


def _counts(feature: Feature, mask: int) -> list[int]:
    """Return the numbers of options for which a set of several values is complete; else none."""
    counts = sorted({int(feature.values[at]).bit_count() for at in bits(mask)})
    is_all = mask == sum(feature.picked(count) for count in counts)
    return counts if is_all and mask.bit_count() > 1 else []


def _describe_counts(counts: list[int], most: int) -> str:
    if len(counts) == 1:
        return "one" if counts == [1] else str(counts[0])
    if counts == list(range(counts[0], most + 1)):
        return f"{counts[0]} or more"
    return ", ".join(map(str, counts))


def _picked(feature: Feature, value: int) -> str:
    names = [_plain(option) for at, option in enumerate(feature.options) if value >> at & 1]
    return f"{names[0]} alone" if len(names) == 1 else " + ".join(names)


def _plain(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).replace("_", " ")
