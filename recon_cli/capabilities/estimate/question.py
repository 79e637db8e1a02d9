"""Generalised least squares on the tree of geounits: estimates of counts, and their variance.

Two passes, exact for linear measurements with independent noise: upwards each geounit combines its
own measurements with the sum of its children; downwards each child uses what its parent knows from
the others. Counts that the units do not measure stay open there, and are estimated above from the
levels that do. Counts are not constrained to be at least 0, so an interval has its level for each
count by itself, whatever the truth. Symmetries of the measurements divide the work into small
blocks.

Source: Hay et al. (2010), Boosting the Accuracy of Differentially Private Histograms Through
Consistency, for one count; Cumings-Menon (2024), for many queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import polars as pl
from scipy.special import ndtri

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.ask.quarantine import Quarantine
from recon_cli.ask.question import Answer, Question, RegionData
from recon_cli.capabilities.measurements.hierarchy import Hierarchy
from recon_cli.capabilities.measurements.measurements import (
    LevelMeasurements,
    Measurements,
    read_measurements,
)
from recon_cli.capabilities.measurements.symmetry import (
    MatrixBlock,
    SymmetricBasis,
    symmetric_basis,
)
from recon_cli.errors import SourceError
from recon_cli.progress import OnProgress
from recon_cli.schema import Release

#: Most rows of a matrix, which is inverted for every geounit with children.
MOST_CELLS: Final = 1_500
#: Most entries of the histograms of all units together, which take 1.6 GB.
MOST_NUMBERS: Final = 200_000_000
#: Eigenvalues of a Gram matrix of unit vectors below this are rounding errors.
_ZERO: Final = 1e-10

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
    """Estimates of one level, in the coordinates of one block.

    Attributes:
        mean: (size × geounits × copies) estimates of the histogram.
        kind: (geounits,) index of each geounit's variance.
        variance: (kinds × size × size) variances, the same for every copy.
    """

    mean: FloatArray
    kind: IntArray
    variance: FloatArray


def estimate_counts(measurements: Measurements, level: float) -> pl.DataFrame:
    """Compute best linear unbiased estimates of all measured counts, with intervals. Eq. (tree).

    Args:
        measurements: Measurements of one partition.
        level: Coverage of an interval in percent, for each count by itself.

    Returns:
        Columns of `ESTIMATES`: ``low`` and ``high`` are whole numbers, at least 0; they are
        likely, never certain.

    Raises:
        SourceError: There are too many histogram cells that are not treated alike, or too many
            geounits of as many cells.
    """
    size, units = measurements.domain.size, len(measurements.hierarchy.geoids[-1])
    if size * units > MOST_NUMBERS:
        raise SourceError(
            f"estimate: {units:,} units of {size:,} histogram cells each are {size * units:,} "
            f"numbers, at most {MOST_NUMBERS:,} are possible; use fewer tables"
        )
    basis = symmetric_basis(measurements.domain.sizes, measurements.levels)
    largest = max(block.size for block in basis.blocks)
    if largest > MOST_CELLS:
        raise SourceError(
            f"estimate: the measurements tell {largest:,} histogram cells apart that they do not "
            f"treat alike, at most {MOST_CELLS:,} are possible; use fewer tables"
        )
    estimates = [np.zeros_like(each.noisy) for each in measurements.levels]
    variances = [np.zeros_like(each.noisy) for each in measurements.levels]
    coordinates = [_Coordinates.of(basis, each) for each in measurements.levels]
    for block in basis.blocks:
        levels = _restricted(block, coordinates)
        nodes = _down(measurements.hierarchy, levels, _up(measurements.hierarchy, levels))
        for depth, (each, node) in enumerate(zip(levels, nodes, strict=True)):
            estimates[depth] += np.tensordot(each.rows, node.mean, axes=([0, 2], [0, 2]))
            variances[depth] += _variances(each.rows, node.variance)[:, node.kind]
    names = zip(
        measurements.hierarchy.levels, measurements.hierarchy.geoids, measurements.levels,
        estimates, variances, strict=True,
    )  # fmt: skip
    z = float(ndtri(0.5 + level / 200))
    return pl.concat([_rows(*each, z) for each in names])


@dataclass(frozen=True, eq=False)
class _Restricted:
    """A level in the coordinates of one block.

    Attributes:
        information: (size × size) information matrix.
        said: (size × geounits × copies) weighted sums of noisy counts.
        rows: (size × counts × copies) vectors of the counts.
        directions: (size × rank) orthonormal basis of the space measured here or below; None for
            the whole space.
    """

    information: FloatArray
    said: FloatArray
    rows: FloatArray
    directions: FloatArray | None

    def inverse(self, matrix: FloatArray) -> FloatArray:
        """Invert a matrix along the directions that are measured; zero elsewhere."""
        if self.directions is None:
            return np.linalg.inv(matrix).astype(np.float64, copy=False)
        inside = np.linalg.inv(self.directions.T @ matrix @ self.directions)
        found: FloatArray = self.directions @ inside @ self.directions.T
        return found


@dataclass(frozen=True, eq=False)
class _Coordinates:
    """A level in a basis.

    Attributes:
        weight: (counts,) weights.
        length: (counts,) lengths of the counts' vectors of histogram cells, at least 1.
        counted: (features' bases …, counts) vectors of the counts.
        said: (features' bases …, geounits) weighted sums of noisy counts.
    """

    weight: FloatArray
    length: FloatArray
    counted: FloatArray
    said: FloatArray

    @classmethod
    def of(cls, basis: SymmetricBasis, each: LevelMeasurements) -> Self:
        """Express a level's measurements in the basis."""
        said = basis.to_basis(each.operator.T @ (each.weight[:, None] * each.noisy))
        counted = each.operator.T.toarray()
        length = np.maximum(np.linalg.norm(counted, axis=0), 1)
        return cls(each.weight, length, basis.to_basis(counted), said)


def _restricted(block: MatrixBlock, levels: Sequence[_Coordinates]) -> list[_Restricted]:
    found: list[_Restricted] = []
    measured = np.zeros((block.size, block.size))
    for each in reversed(levels):
        rows = block.of(each.counted)
        one = rows[:, :, 0]  # every copy has the same information
        measured += (one / each.length**2) @ one.T
        found.append(
            _Restricted((one * each.weight) @ one.T, block.of(each.said), rows, _range(measured))
        )
    return found[::-1]


def _range(measured: FloatArray) -> FloatArray | None:
    """Return orthonormal columns that span a Gram matrix of unit vectors; None for the whole space.

    The rows are unweighted, so that the precision of a count does not decide whether it is
    measured.
    """
    values, vectors = np.linalg.eigh(measured)
    inside = values > _ZERO
    if inside.all():
        return None
    found: FloatArray = vectors[:, inside]
    return found


def _variances(rows: FloatArray, variance: FloatArray) -> FloatArray:
    """Compute (counts × kinds) variances of counts."""
    found = [(np.tensordot(each, rows, axes=1) * rows).sum(axis=(0, 2)) for each in variance]
    return np.stack(found, axis=1)


def _up(hierarchy: Hierarchy, levels: Sequence[_Restricted]) -> list[_Node]:
    """Estimate from the units up: each geounit from measurements at it and below."""
    found: list[_Node] = []
    for depth in range(len(hierarchy.levels) - 1, -1, -1):
        information, said = levels[depth].information, levels[depth].said
        if not found:
            variance = levels[depth].inverse(information)
            kind = np.zeros(said.shape[1], dtype=np.int64)
            found.append(_Node(np.tensordot(variance, said, axes=1), kind, variance[None]))
            continue
        below = found[0]
        means, kinds, variances = [], [], dict[tuple[int, ...], int]()
        stacked: list[tuple[FloatArray, FloatArray]] = []
        for place, children in enumerate(hierarchy.children(depth)):
            # children of a kind share a variance, so the number of each kind determines the sum's
            key = tuple(np.bincount(below.kind[children], minlength=len(below.variance)).tolist())
            if key not in variances:
                summed = np.tensordot(np.array(key, dtype=np.float64), below.variance, axes=1)
                of_sum = levels[depth + 1].inverse(summed)
                variances[key] = len(stacked)
                own = levels[depth].inverse(information + of_sum)
                stacked.append((own, of_sum))
            variance, of_sum = stacked[variances[key]]
            total = below.mean[:, children].sum(axis=1)
            means.append(variance @ (said[:, place] + of_sum @ total))
            kinds.append(variances[key])
        found.insert(
            0, _Node(np.stack(means, axis=1), np.array(kinds), np.stack([v for v, _ in stacked]))
        )
    return found


def _down(hierarchy: Hierarchy, levels: Sequence[_Restricted], up: Sequence[_Node]) -> list[_Node]:
    """Estimate from the top down: each geounit from all measurements."""
    found = [up[0]]
    for depth in range(1, len(up)):
        above, own = found[-1], up[depth]
        mean = np.empty_like(own.mean)
        kind = np.empty(own.mean.shape[1], dtype=np.int64)
        variances: list[FloatArray] = []
        for place, children in enumerate(hierarchy.children(depth - 1)):
            counts = np.bincount(own.kind[children], minlength=len(own.variance))
            summed = np.tensordot(counts.astype(np.float64), own.variance, axes=1)
            of_sum = levels[depth].inverse(summed)
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


def _rows(  # noqa: PLR0917
    level: str,
    geoids: pl.Series,
    each: LevelMeasurements,
    estimate: FloatArray,
    variance: FloatArray,
    z: float,
) -> pl.DataFrame:
    sd = np.sqrt(np.maximum(variance, 0))
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


@dataclass(frozen=True)
class EstimateQuestion(Question):
    """The question of each count's estimate from all measurements of its tree.

    Attributes:
        level: Coverage of the intervals, in percent.
    """

    schema: Release
    level: float

    @classmethod
    def of(cls, release: Release, level: float) -> Self:
        return cls(release, level)

    @property
    def release(self) -> Release:
        return self.schema

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:  # noqa: ARG002
        """Compute rows of ``estimates/``; no solver is started.

        Raises:
            SourceError: Some counts have no noise, or there are too many distinct histogram cells.
        """
        measurements = read_measurements(self.release, part.published)
        rows = estimate_counts(measurements, self.level)
        units = len(measurements.hierarchy.geoids[-1])
        on_progress(units, 0)
        return Answer({"estimates": rows}, totals={"units": units, "cells": len(rows)})
