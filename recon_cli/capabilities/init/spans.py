"""Groups of ages that overlap: the steps that all of them are made of."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from recon_cli.sources.formats.vocabulary import Interval


def steps_of(spans: Sequence[Interval]) -> tuple[list[Interval], list[frozenset[int]]]:
    """Return the largest steps that no end of a group cuts, and the steps of each group.

    >>> steps_of([(15, 24), (15, 19), (55, None)])
    ([(15, 19), (20, 24), (55, None)], [frozenset({0, 1}), frozenset({0}), frozenset({2})])
    """
    lows = {low for low, _ in spans} | {high + 1 for _, high in spans if high is not None}
    closed = [(low, after - 1) for low, after in itertools.pairwise(sorted(lows))]
    every: list[Interval] = [*closed, (max(lows), None)]
    steps = [step for step in every if any(is_within(step, span) for span in spans)]
    return steps, [
        frozenset(i for i, step in enumerate(steps) if is_within(step, span)) for span in spans
    ]


def is_within(one: Interval, other: Interval) -> bool:
    """Test whether a group of ages is in another.

    >>> is_within((15, 19), (15, 24)), is_within((55, None), (15, 64))
    (True, False)
    """
    (low, high), (least, most) = one, other
    return least <= low and (most is None or (high is not None and high <= most))


def do_overlap(spans: Sequence[Interval]) -> bool:
    """Test whether an age is in two groups.

    >>> do_overlap([(0, 17), (16, 64)]), do_overlap([(0, 17), (18, None)])
    (True, False)
    """
    ordered = sorted(spans, key=lambda span: span[0])
    return any(
        high is None or after <= high for (_, high), (after, _) in itertools.pairwise(ordered)
    )


def is_filled(steps: Sequence[Interval], span: Interval) -> bool:
    """Test whether steps, in order, fill a group of ages.

    >>> is_filled([(0, 15), (16, 17), (18, None)], (0, None)), is_filled([(18, None)], (0, None))
    (True, False)
    """
    ends = [span[0] - 1, *(high for _, high in steps)]
    are_joined = all(
        end is not None and low == end + 1 for end, (low, _) in zip(ends, steps, strict=False)
    )
    return are_joined and ends[-1] == span[1]


def called(step: Interval) -> str:
    """Return the label of a group of ages.

    >>> called((15, 19)), called((3, 3)), called((55, None))
    ('15-19', '3', '55+')
    """
    low, high = step
    if high is None:
        return f"{low}+"
    return f"{low}-{high}" if low < high else str(low)
