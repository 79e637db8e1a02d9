"""From measured sizes to the nation: the growth exponent, and core-hours for everybody.

A projection takes the largest size that was measured and multiplies. Assumed is that the nation's
blocks are distributed like the synthetic ones, that nothing has to be done twice, and that files
are on a local disk.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import linear_regression
from typing import Any

#: The United States on 1 April 2010, and its inhabited blocks.
PEOPLE = 308_745_538
BLOCKS = 6_207_027
#: Between these sizes the exponent is fitted.
FITTED = (100_000, 10_000_000)

Run = Mapping[str, Any]


@dataclass(frozen=True)
class Projection:
    """One stage for everybody.

    Attributes:
        core_hours: In proportion, with the growth exponent where that is above 1.
        by_people: In proportion to people alone.
        by_blocks: In proportion to inhabited blocks alone.
        exponent: Of core-seconds, fitted; None without two sizes.
        from_people: The size that it is projected from.
        core_seconds: What was measured there.
        peak_mb: Of any process there.
    """

    core_hours: float
    by_people: float
    by_blocks: float
    exponent: float | None
    from_people: int
    core_seconds: float
    peak_mb: float


def project(runs: Sequence[Run], stage: str) -> Projection:
    """A stage from the largest of ``runs``, results of `benchmarks.growth`."""
    largest = max(runs, key=lambda run: int(run["people"]))
    measured = largest["stages"][stage]
    covered = coverage(largest, measured["about"])
    seconds = float(measured["core_seconds"])
    people, blocks = PEOPLE / covered[0], BLOCKS / covered[1]
    exponent = fit_exponent({int(run["people"]): whole_nation(run, stage) for run in runs})
    beyond = max(0.0, (exponent or 1.0) - 1.0)
    further = (PEOPLE / int(largest["people"])) ** beyond
    return Projection(
        core_hours=seconds * max(people, blocks) * further / 3600,
        by_people=seconds * people / 3600,
        by_blocks=seconds * blocks / 3600,
        exponent=exponent,
        from_people=covered[0],
        core_seconds=seconds,
        peak_mb=float(measured["peak_mb"]),
    )


def coverage(run: Run, about: str) -> tuple[int, int]:
    """People and inhabited blocks that a measure is of: the nation's, or its sample's."""
    blocks = run["counts" if about == "nation" else "sample"]["blocks"]
    return int(blocks["people"]), int(blocks["units"])


def whole_nation(run: Run, stage: str) -> float:
    """Core-seconds of a stage for the synthetic population; a sample's in proportion to people."""
    measured = run["stages"][stage]
    covered, _ = coverage(run, measured["about"])
    return float(measured["core_seconds"]) * int(run["people"]) / covered


def fit_exponent(seconds: Mapping[int, float]) -> float | None:
    """Least-squares slope of log time over log people, within `FITTED`.

    >>> round(fit_exponent({100_000: 2.0, 1_000_000: 20.0, 10_000_000: 200.0}), 3)
    1.0
    """
    inside = {size: took for size, took in seconds.items() if FITTED[0] <= size <= FITTED[1]}
    if len(inside) < 2:
        return None
    sizes = [math.log(size) for size in inside]
    times = [math.log(took) for took in inside.values()]
    return linear_regression(sizes, times).slope
