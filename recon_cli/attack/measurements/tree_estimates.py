"""Generalised least squares on the tree of geounits: estimates of counts, and their variance.

Two passes, exact for linear measurements with independent noise: upwards each geounit combines its
own measurements with the sum of its children, downwards a child learns from its parent what the
others have left. No use is made of the fact that counts are at least 0, so an interval holds at its
level for each count by itself, and for no reason depends on the truth.

Source: Hay et al. (2010), Boosting the Accuracy of Differentially Private Histograms Through
Consistency, for one count; Cumings-Menon (2024), for many queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from scipy.special import ndtri

from recon_cli.attack.measurements.measurements import LevelMeasurements, Measurements
from recon_cli.errors import SourceError
from recon_cli.noise.density import FloatArray, IntArray

#: Matrices of so many rows are inverted for every geounit with children.
MOST_CELLS: Final = 1_500

#: Columns of `estimate_counts`.
ESTIMATES: Final = pl.Schema(
    {
        "geoid": pl.String,
        "level": pl.String,
        "table": pl.String,
        "cell": pl.Int16,
        "noisy": pl.Float64,
        "estimate": pl.Float64,
        "sd": pl.Float64,
        "low": pl.Int32,
        "high": pl.Int32,
    }
)


@dataclass(frozen=True, eq=False)
class _Node:
    """Estimates of one level.

    Attributes:
        mean: (cells × geounits) of the histogram.
        kind: (geounits,) which of the variances is each one's.
        variance: (kinds × cells × cells).
    """

    mean: FloatArray
    kind: IntArray
    variance: FloatArray


def estimate_counts(measurements: Measurements, level: float) -> pl.DataFrame:
    """Best linear unbiased estimates of all measured counts, with intervals. Eq. (tree).

    Args:
        measurements: Of one partition; those of the units tell all histogram cells apart.
        level: Coverage of an interval in percent, for each count by itself.

    Returns:
        Columns of `ESTIMATES`: ``low`` and ``high`` are whole numbers, at least 0; they are
        likely, never certain.

    Raises:
        SourceError: There are too many histogram cells, or those of the units do not tell all
            apart.
    """
    size = measurements.domain.size
    if size > MOST_CELLS:
        raise SourceError(
            f"estimate: the measurements tell {size:,} histogram cells apart, at most "
            f"{MOST_CELLS:,} are possible; use fewer tables"
        )
    nodes = _down(measurements, _up(measurements))
    names = zip(
        measurements.hierarchy.levels, measurements.hierarchy.geoids, measurements.levels, nodes,
        strict=True,
    )  # fmt: skip
    z = float(ndtri(0.5 + level / 200))
    frames = [_rows(name, geoids, each, node, z) for name, geoids, each, node in names]
    return pl.concat(frames)


def _up(measurements: Measurements) -> list[_Node]:
    """From the units up: each geounit from what is measured at it and below."""
    found: list[_Node] = []
    hierarchy = measurements.hierarchy
    for depth in range(len(hierarchy.levels) - 1, -1, -1):
        each = measurements.levels[depth]
        information = _information(each)
        said = each.operator.T @ (each.weight[:, None] * each.noisy)
        geounits = each.noisy.shape[1]
        if not found:
            if np.linalg.matrix_rank(information) < len(information):
                raise SourceError(
                    f"estimate: the measurements of level {hierarchy.levels[-1]!r} do not tell "
                    "all histogram cells apart"
                )
            variance = _inverse(information)
            kind = np.zeros(geounits, dtype=np.int64)
            found.append(_Node(variance @ said, kind, variance[None]))
            continue
        below = found[0]
        means, kinds, variances = [], [], dict[tuple[int, ...], int]()
        stacked: list[tuple[FloatArray, FloatArray]] = []
        for place, children in enumerate(hierarchy.children(depth)):
            # children of a kind have one variance, so that their numbers say it all
            key = tuple(np.bincount(below.kind[children], minlength=len(below.variance)).tolist())
            if key not in variances:
                summed = np.tensordot(np.array(key, dtype=np.float64), below.variance, axes=1)
                of_sum = _inverse(summed)
                variances[key] = len(stacked)
                own = _inverse(information + of_sum)
                stacked.append((own, of_sum))
            variance, of_sum = stacked[variances[key]]
            total = below.mean[:, children].sum(axis=1)
            means.append(variance @ (said[:, place] + of_sum @ total))
            kinds.append(variances[key])
        found.insert(
            0,
            _Node(np.stack(means, axis=1), np.array(kinds), np.stack([v for v, _ in stacked])),
        )
    return found


def _down(measurements: Measurements, up: list[_Node]) -> list[_Node]:
    """From above: each geounit from all measurements."""
    found = [up[0]]
    for depth in range(1, len(up)):
        above, own = found[-1], up[depth]
        mean = np.empty_like(own.mean)
        kind = np.empty(own.mean.shape[1], dtype=np.int64)
        variances: list[FloatArray] = []
        for place, children in enumerate(measurements.hierarchy.children(depth - 1)):
            counts = np.bincount(own.kind[children], minlength=len(own.variance))
            of_sum = _inverse(np.tensordot(counts.astype(np.float64), own.variance, axes=1))
            rest = above.mean[:, place] - own.mean[:, children].sum(axis=1)
            for number in np.flatnonzero(counts):
                variance = own.variance[number]
                gain = variance @ of_sum
                some = children[own.kind[children] == number]
                mean[:, some] = own.mean[:, some] + (gain @ rest)[:, None]
                kind[some] = len(variances)
                spread = above.variance[above.kind[place]]
                variances.append(variance - gain @ variance + gain @ spread @ gain.T)
        found.append(_Node(mean, kind, np.stack(variances)))
    return found


def _inverse(matrix: FloatArray) -> FloatArray:
    found: FloatArray = np.linalg.inv(matrix).astype(np.float64, copy=False)
    return found


def _information(each: LevelMeasurements) -> FloatArray:
    dense = each.operator.toarray()
    found: FloatArray = dense.T @ (each.weight[:, None] * dense)
    return found


def _rows(
    level: str, geoids: pl.Series, each: LevelMeasurements, node: _Node, z: float
) -> pl.DataFrame:
    estimate = each.operator @ node.mean
    dense = each.operator.toarray()
    spread = np.stack([((dense @ each_kind) * dense).sum(axis=1) for each_kind in node.variance])
    sd = np.sqrt(np.maximum(spread, 0))[node.kind].T
    width = len(each.counted)
    low = np.maximum(np.ceil(estimate - z * sd - 1e-9), 0)
    high = np.maximum(np.floor(estimate + z * sd + 1e-9), 0)
    empty = low > high
    nearest = np.maximum(np.rint(estimate), 0)
    low, high = np.where(empty, nearest, low), np.where(empty, nearest, high)
    columns = {
        "geoid": geoids.gather(np.repeat(np.arange(len(geoids)), width)),
        "level": pl.repeat(level, estimate.size, eager=True),
        "table": [table for table, _ in each.counted] * len(geoids),
        "cell": [cell for _, cell in each.counted] * len(geoids),
        "noisy": each.noisy.T.ravel(),
        "estimate": estimate.T.ravel(),
        "sd": sd.T.ravel(),
        "low": low.T.ravel(),
        "high": high.T.ravel(),
    }
    return pl.DataFrame(columns).cast(ESTIMATES)
