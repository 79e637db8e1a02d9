"""What a differentially private release can tell of a person beyond what it tells without."""

from __future__ import annotations

import math


def largest_gain(epsilon: float) -> float:
    """The most by which any chance differs, with a person in the data and without: Eq. (gainbound).

    For a release that is ε-differentially private where neighbours add or remove one person, and
    for any attack on it: the chance of an event, or the mean of a number between 0 and 1. Where
    neighbours replace a person, leaving one out is half of it only if the ε given here is that of
    adding or removing one.

    Args:
        epsilon: ε, at least 0.

    Raises:
        ValueError: ε is negative.

    >>> largest_gain(0.0), round(largest_gain(1.0), 3)
    (0.0, 0.462)
    """
    if epsilon < 0:
        raise ValueError(f"epsilon is at least 0, found {epsilon}")
    return math.tanh(epsilon / 2)
