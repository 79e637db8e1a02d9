"""Features of lines that are labelled with ages, which may contain each other."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from recon_cli.capabilities.init.label_words import ends_in_note
from recon_cli.capabilities.init.line_features import DraftedFeature, LineFeatures
from recon_cli.capabilities.init.line_numbers import LineNumbers
from recon_cli.capabilities.init.spans import called, do_overlap, is_filled, steps_of
from recon_cli.sources.formats.vocabulary import Interval, interval

#: A word with the mark of a footnote.
_NOTED: Final = re.compile(r"[^\W\d_]{2}\d{1,2}$")


def add_ages(
    features: LineFeatures, numbers: LineNumbers, lines: Sequence[int], whole: int
) -> list[int]:
    """Add a feature for the lines that are labelled with ages; return these lines.

    *15 to 24* contains *15 to 19* and no part of *55 and over*, unless a number contradicts it.
    If sums already divide the whole by ages, their feature is cut finer.

    Args:
        whole: The line whose people the lines count some of.
    """
    labels = features.labels
    path = labels.get(whole, ())
    words = {line: [w for w in labels.get(line, ()) if w not in path] for line in lines}
    heads = {line: tuple(own[:-1]) for line, own in words.items() if own}
    spans = {line: span for line in heads if (span := interval(words[line][-1])) is not None}
    # Of "Under 183" beside "18 and over3" the last digit is a footnote's.
    is_noted = any(_NOTED.search(word) for path in labels.values() for word in path)
    is_old = any(map(ends_in_note, spans.values()))
    has_one_head = {heads[line] for line in spans} == {()}
    number, known = _ages_of(features, whole) if has_one_head else (0, [])
    if not spans or len(spans) + len(known) < 2 or is_noted or is_old:
        return []
    if len({heads[line] for line in spans}) > 1:
        return []
    steps, within = steps_of([*spans.values(), *known])
    ages = dict(zip(spans, within, strict=False))
    told = _in_steps(features, whole, number, within[len(spans) :])
    every = told | ages
    if not all(
        numbers.exceeds(outer, [inner])
        for inner, outer in itertools.permutations(every, 2)
        if every[inner] < every[outer]
    ) or not all(numbers.have_room(line, own, told) for line, own in ages.items()):
        return []
    if known:
        _cut(features, number, steps, within[len(spans) :])
    else:
        number = len(features.features)
        whole_span = (interval(path[-1]) if path else None) or (0, None)
        rest = "" if is_filled(steps, whole_span) else "other"
        if not rest:
            features.doubts.append(
                f"whether everybody is in one of {features.quoted(lines)}: by their ages, and "
                "taken so"
            )
        features.features.append(DraftedFeature("", tuple(map(called, steps)), rest))
    for line, own in ages.items():
        features.add_below(line, {**features.values_of(whole), number: own})
    return [*spans]


def _ages_of(features: LineFeatures, whole: int) -> tuple[int, list[Interval]]:
    """Return the only feature that divides a line by ages, and these; else 0 and no ages."""
    found = []
    for number, feature in enumerate(features.features):
        ages = [age for label in feature.labels if (age := interval(label)) is not None]
        is_whole = number not in features.values_of(whole) and not feature.rest
        if is_whole and len(ages) == len(feature.labels) and not do_overlap(ages):
            found.append((number, ages))
    return found[0] if len(found) == 1 else (0, [])


def _in_steps(
    features: LineFeatures, whole: int, number: int, steps: Sequence[frozenset[int]]
) -> dict[int, frozenset[int]]:
    """Map each line that differs from a whole in one feature alone to the steps of its values."""
    base = features.values_of(whole)
    return {
        line: frozenset().union(*(steps[value] for value in own[number]))
        for line, own in features.values.items()
        if steps and number in own and {k: v for k, v in own.items() if k != number} == base
    }


def _cut(
    features: LineFeatures,
    number: int,
    ages: Sequence[Interval],
    steps: Sequence[frozenset[int]],
) -> None:
    """Cut each value of a feature into ages, at the positions that its steps give."""
    drafted = features.features[number]
    features.features[number] = replace(drafted, labels=tuple(map(called, ages)))
    for own in features.values.values():
        if number in own:
            own[number] = frozenset().union(*(steps[value] for value in own[number]))
