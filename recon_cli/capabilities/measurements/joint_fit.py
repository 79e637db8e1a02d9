"""Joint weighted least squares over all levels, and whole people near it: likely records.

No fit proves anything: every histogram is possible under unbounded noise. Compared with top-down,
each count of a geounit is fitted together with those of all geounits around it, not only with those
of its parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.ask.quarantine import Quarantine
from recon_cli.ask.question import Answer, Question, RegionData
from recon_cli.capabilities.measurements.least_squares import StoppingRule, descend
from recon_cli.capabilities.measurements.measurements import (
    LevelMeasurements,
    Measurements,
    chain,
    read_measurements,
)
from recon_cli.capabilities.measurements.rounding import round_alone, round_children
from recon_cli.frames import is_place
from recon_cli.progress import OnProgress
from recon_cli.schema import Release, Table

#: Below it a cell of the whole partition is taken as empty, in people.
_EMPTY: Final = 0.05
#: All levels pull at an entry, so that it comes to rest later than in top-down.
_RULE: Final = StoppingRule(steps=300, tolerance=0.002)
#: Status and method of a unit whose records fit noisy counts; nothing is proven of it.
LIKELY: Final = "likely"
LEAST_SQUARES: Final = "least_squares"


@dataclass(frozen=True, eq=False)
class LikelyHistograms:
    """Whole people that fit the measurements well.

    Attributes:
        cells: Histogram cells with people.
        people: (cells × units).
    """

    cells: IntArray
    people: IntArray


def fit_people(measurements: Measurements, rule: StoppingRule = _RULE) -> LikelyHistograms:
    """Compute likely histograms of all units of a partition.

    The whole partition is fitted first, over all cells; empty cells stay empty. Then all units are
    fitted together, by accelerated projected gradient over all levels, Eq. (joint).
    """
    places = chain(measurements.hierarchy)
    whole = _fit_whole(measurements, rule)
    cells = np.flatnonzero(whole > _EMPTY)
    if not len(cells):
        return LikelyHistograms(cells, np.zeros((0, places[0].shape[0]), dtype=np.int64))
    levels = [
        LevelMeasurements(
            each.counted, sparse.csr_array(each.operator[:, cells]), each.noisy, each.weight
        )
        for each in measurements.levels
    ]
    units = places[0].shape[0]
    start = np.repeat(whole[cells, None] / units, units, axis=1)
    fitted = _descend(levels, places, start, rule)
    return LikelyHistograms(cells, _whole_people(fitted))


def _fit_whole(measurements: Measurements, rule: StoppingRule) -> FloatArray:
    """Fit the (histogram cells,) people of the partition, from its coarsest level alone."""
    first = measurements.levels[0]
    geounits = first.noisy.shape[1]
    place = [sparse.csr_array(np.eye(geounits))]
    start = np.zeros((measurements.domain.size, geounits))
    found: FloatArray = _descend([first], place, start, rule).sum(axis=1)
    return found


def _descend(
    levels: list[LevelMeasurements],
    places: list[sparse.csr_array],
    start: FloatArray,
    rule: StoppingRule,
) -> FloatArray:
    """Fit (cells × units) non-negative numbers with least weighted squares.

    The step of an entry is one over the sum, over all counts that contain it, of weight times
    entries in the count, which bounds the curvature of the objective.
    """
    curvature = np.zeros_like(start)
    for each, place in zip(levels, places, strict=True):
        ones = each.operator @ np.ones(start.shape) @ place
        curvature += each.operator.T @ ((each.weight[:, None] * ones) @ place.T)
    step = 1 / np.maximum(curvature, np.finfo(float).tiny)

    def gradient(point: FloatArray) -> FloatArray:
        found = np.zeros_like(point)
        for each, place in zip(levels, places, strict=True):
            residual = each.operator @ (point @ place) - each.noisy
            found += each.operator.T @ ((each.weight[:, None] * residual) @ place.T)
        return found

    return descend(start, step, gradient, lambda point: np.maximum(point, 0), rule)


def _whole_people(fitted: FloatArray) -> IntArray:
    """Round a fit: first cells' sums over units, then units, then their totals."""
    totals = fitted.sum(axis=1)
    people = round_alone(totals, int(np.rint(totals.sum())))
    scale = np.divide(people, totals, out=np.zeros_like(totals), where=totals > 0)
    everybody = np.zeros(len(people), dtype=np.int64)
    return round_children(fitted * scale[:, None], people, None, [everybody])


def likely_records(measurements: Measurements, fitted: LikelyHistograms) -> pl.DataFrame:
    """Make person records from a fit.

    Returns:
        The unit's geoid and the release's microdata columns, by unit. A feature that the
        measurements see in groups has the first value of the group; one that they do not see is
        null.
    """
    unit, cell = np.nonzero(fitted.people.T)
    people = fitted.people[cell, unit]
    geoids = measurements.hierarchy.geoids[-1].gather(unit)
    return measurements.domain.microdata(geoids, fitted.cells[cell], people)


@dataclass(frozen=True)
class LikelyRecordsQuestion(Question):
    """The question of the records that fit noisy counts best, for whole partitions."""

    schema: Release
    tables: tuple[Table, ...]

    @classmethod
    def of(cls, release: Release, tables: Sequence[Table]) -> Self:
        return cls(release, tuple(tables))

    @property
    def release(self) -> Release:
        return self.schema

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:  # noqa: ARG002
        """Compute rows of ``microdata/`` and ``blocks/``; no solver is started."""
        release = self.release
        measurements = read_measurements(release, part.published, self.tables)
        fitted = fit_people(measurements)
        microdata = likely_records(measurements, fitted)
        microdata = microdata.with_columns(certain=pl.lit(value=False))
        units = measurements.hierarchy.geoids[-1]
        cells = np.full(len(units), len(fitted.cells))
        blocks = pl.DataFrame(
            {
                release.geoid_column: units,
                "population": pl.Series([None] * len(units), dtype=pl.Int32),
                "candidates": pl.Series(cells, dtype=pl.Int32),
                "free": pl.Series(cells, dtype=pl.Int32),
                "status": pl.repeat(LIKELY, len(units), eager=True),
                "method": pl.repeat(LEAST_SQUARES, len(units), eager=True),
                "seconds": pl.zeros(len(units), dtype=pl.Float64, eager=True),
            }
        )
        places = blocks.filter(is_place(release.geoid_column)).height
        unlisted = len(units) - places
        on_progress(len(units), len(microdata))
        return Answer(
            {"microdata": microdata, "blocks": blocks},
            statuses={LIKELY: places},
            totals={
                "units": places,
                **({"unlisted": unlisted} if unlisted else {}),
                "uncounted": len(units),
                "people": len(microdata),
                "certain": 0,
                "people_in_unique": 0,
                "candidates": int(blocks["candidates"].sum()),
                "free": int(blocks["free"].sum()),
                "cells_compared": 0,
                f"by_{LEAST_SQUARES}": len(units),
            },
        )
