"""Intervals of true counts from the counts of randomised records.

If a cell involves only one randomised feature, the law of its reported count depends only on its
true count and the known number of people who fit the cell in all other features: the interval
inverts two exact one-sided tests. For other cells the interval is that of a normal estimate. Both
intervals are likely, not certain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.schema import Cell, Release, bits
from recon_cli.statement.randomized import Randomized

#: With more people the normal interval is used: the exact one hardly differs, and is slow.
MOST_PEOPLE: Final = 500


@dataclass(frozen=True)
class ReportedCell:
    """The exact law of a cell's reported count.

    Attributes:
        others: The cell's predicate without the randomised feature; fits everybody who was asked.
        inside: Probability that a person in the cell is reported in the cell.
        outside: Probability that a person asked who is not in the cell is reported in it.
    """

    others: tuple[int, ...]
    inside: float
    outside: float


def answer_of(release: Release, cell: Cell, matrices: dict[int, FloatArray]) -> ReportedCell | None:
    """Return the law of a cell; None if it does not depend on its true count alone.

    Args:
        matrices: Feature → probabilities of reported values (columns) for true ones (rows).
    """
    asked = [f for f in matrices if cell.masks[f] != release.features[f].full]
    if cell.tally is not None or len(asked) != 1:
        return None
    [f] = asked
    inside = np.zeros(len(matrices[f]), dtype=bool)
    inside[list(bits(cell.masks[f]))] = True
    chance = matrices[f][:, inside].sum(axis=1)
    chances = chance[inside], chance[~inside]
    if any(np.ptp(each) > 1e-12 for each in chances) or chances[0][0] <= chances[1][0]:
        return None
    full = release.features[f].full
    others = (*cell.masks[:f], full, *cell.masks[f + 1 :])
    return ReportedCell(others, min(float(chances[0][0]), 1.0), max(float(chances[1][0]), 0.0))


def exact_interval(law: Randomized, reported: int, level: float) -> tuple[int, int]:
    """Return the least and greatest count that neither of two one-sided tests rejects.

    Args:
        level: Coverage in percent.

    Source: Clopper & Pearson (1934), for one binomial count.
    """
    tail = (1 - level / 100) / 2
    least, most = (int(end) for end in law.intervals(np.array(reported)))
    low = _first(least, most, lambda n: law.probabilities(n)[reported:].sum() > tail)
    high = _first(-most, -least, lambda n: law.probabilities(-n)[: reported + 1].sum() > tail)
    return low, -high


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the least number from which ``holds`` is true; ``high`` if it never is."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def normal_intervals(
    estimate: FloatArray, sd: FloatArray, level: float
) -> tuple[IntArray, IntArray]:
    """Return the integers from 0 within the level's quantiles; the nearest one if there is none.

    >>> least, most = normal_intervals(np.array([10.0]), np.array([1.0]), 95)
    >>> least.tolist(), most.tolist()
    ([9], [11])
    """
    z = NormalDist().inv_cdf(0.5 + level / 200)
    low = np.maximum(np.ceil(estimate - z * sd - 1e-9), 0).astype(np.int64)
    high = np.maximum(np.floor(estimate + z * sd + 1e-9), 0).astype(np.int64)
    nearest = np.maximum(np.rint(estimate), 0).astype(np.int64)
    return np.where(low > high, nearest, low), np.where(low > high, nearest, high)


def exact_intervals(
    answer: ReportedCell, people: IntArray, reported: IntArray, level: float
) -> tuple[IntArray, IntArray, IntArray]:
    """Return intervals of the geounits with few enough people to compute them exactly.

    Args:
        answer: Law of the cell's reported count.
        people: (geounits,) people who were asked.
        reported: (geounits,) reported counts.
        level: Coverage in percent.

    Returns:
        Positions of these geounits in the arrays, and the ends of their intervals.
    """
    places = np.flatnonzero(people <= MOST_PEOPLE)
    pairs = np.stack([people[places], reported[places]], axis=1)
    distinct, back = np.unique(pairs, axis=0, return_inverse=True)
    ends = np.array(
        [
            exact_interval(
                Randomized(people=asked, inside=answer.inside, outside=answer.outside), count, level
            )
            for asked, count in distinct.tolist()
        ],
        dtype=np.int64,
    ).reshape(-1, 2)[back.ravel()]
    return places, ends[:, 0], ends[:, 1]
