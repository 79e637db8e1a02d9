"""The likeliest histograms by all levels together, and whole people near them: likely records.

No fit proves anything: every histogram is possible under unbounded noise. Compared with top-down,
each count of a geounit is fitted together with those of all geounits around it, not only with those
of its parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import polars as pl
from scipy import sparse
from scipy.optimize import minimize
from scipy.sparse.linalg import lsqr

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.ask.quarantine import Quarantine
from recon_cli.ask.question import Answer, Question, RegionData
from recon_cli.capabilities.measurements.hierarchy import Hierarchy
from recon_cli.capabilities.measurements.least_squares import (
    StoppingRule,
    nonnegative_least_squares,
)
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

#: A cell with fewer people in the whole partition is taken as empty.
_EMPTY: Final = 0.05
#: Largest share of all people in the small cells that are left out.
_FEW: Final = 0.01
#: Entries of all histograms together; the largest cells stay.
_MOST_NUMBERS: Final = 20_000_000
#: Least number of people in a divisor.
_NOBODY: Final = 1e-9
#: Steps of a fit, and fits of a level, between which the expected people are scaled.
_STEPS: Final = 300
_ROUNDS: Final = 4
#: A fit ends where no count is further from its balance, in standard deviations.
_NEAR: Final = 0.01
_EXACT: Final = 1e-10
#: Largest variance of counts about the expected ones, per person.
_MOST_SPREAD: Final = 100.0
#: Largest exponent by which an entry grows in a step.
_STEEPEST: Final = 30.0
#: Status and method of a unit whose records fit noisy counts; nothing is proven about such a unit.
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


def fit_people(measurements: Measurements, steps: int = _STEPS) -> LikelyHistograms:
    """Compute likely histograms of all units of a partition. Eq. (joint).

    From the top down, the geounits of a level are expected to have the composition of their parent,
    in proportion to their people, and are fitted to the counts of all levels; counts of lower
    levels are added up.
    """
    hierarchy, seen = measurements.hierarchy, measurements.levels
    people = _fit_totals(measurements)
    is_measured = sum(abs(each.operator).sum(axis=0) for each in seen) > 0
    cells = np.flatnonzero(is_measured)
    found = np.repeat(people[0][None] / max(len(cells), 1), len(cells), axis=0)
    seen = _only(seen, cells)
    for depth, totals in enumerate(people):
        if depth:
            above = np.bincount(hierarchy.parent[depth - 1], totals, len(people[depth - 1]))
            found = (found / np.maximum(above, _NOBODY))[:, hierarchy.parent[depth - 1]] * totals
        found = likeliest(_seen_from(hierarchy, seen, depth), found, steps)
        kept = _inhabited(found.sum(axis=1), len(hierarchy.geoids[-1]))
        cells, found, seen = cells[kept], found[kept], _only(seen, kept)
    if not len(cells):
        return LikelyHistograms(cells, np.zeros(found.shape, dtype=np.int64))
    return LikelyHistograms(cells, _whole_people(found))


def _only(levels: Sequence[LevelMeasurements], cells: IntArray) -> tuple[LevelMeasurements, ...]:
    """Select histogram cells of measurements."""
    return tuple(
        replace(each, operator=sparse.csr_array(each.operator[:, cells])) for each in levels
    )


def _inhabited(people: FloatArray, units: int) -> IntArray:
    """Return the cells to fit: all except small ones that together have few of the people."""
    order = np.argsort(-people, kind="stable")
    before = np.cumsum(people[order]) - people[order]
    is_kept = (people[order] > _EMPTY) | (before < (1 - _FEW) * people.sum())
    return np.sort(order[is_kept][: max(_MOST_NUMBERS // units, 1)])


@dataclass(frozen=True, eq=False)
class Sums:
    """Measurements of a level, expressed as sums over the fitted geounits.

    Attributes:
        operator: (rows × cells).
        place: (geounits × sums) membership; None where each geounit is a sum by itself.
        noisy: (rows × sums).
        variance: (rows × sums).
    """

    operator: sparse.csr_array
    place: sparse.csr_array | None
    noisy: FloatArray
    variance: FloatArray

    def counts(self, point: FloatArray) -> FloatArray:
        """Compute the (rows × sums) counts of (cells × geounits) people."""
        found: FloatArray = self.operator @ point
        return found if self.place is None else found @ self.place

    def adjoint(self, pressure: FloatArray) -> FloatArray:
        """Add up (rows × sums) over the counts that contain each (cells × geounits) entry."""
        found: FloatArray = self.operator.T @ pressure
        return found if self.place is None else found @ self.place.T


def _seen_from(hierarchy: Hierarchy, levels: Sequence[LevelMeasurements], depth: int) -> list[Sums]:
    """Return all measurements as sums over geounits of a level; lower levels are added up."""
    found = []
    for at, each in enumerate(levels):
        place = hierarchy.place(min(at, depth), max(at, depth))
        width = len(hierarchy.geoids[min(at, depth)])
        ones = (np.ones(len(place)), (np.arange(len(place)), place))
        inside = sparse.csr_array(ones, shape=(len(place), width))
        noisy, variance = each.noisy, np.repeat(1 / each.weight[:, None], each.noisy.shape[1], 1)
        if at > depth:
            noisy, variance = np.asarray(noisy @ inside), np.asarray(variance @ inside)
        found.append(Sums(each.operator, inside if at < depth else None, noisy, variance))
    return found


def _fit_totals(measurements: Measurements) -> list[FloatArray]:
    """Fit the (geounits,) people of every level, by each level's best sum of counts."""
    told, all_of = [], []
    for each, place in zip(measurements.levels, chain(measurements.hierarchy), strict=True):
        root = np.sqrt(each.weight)
        scaled = sparse.csr_array((sparse.diags_array(root) @ each.operator).T)
        everybody = np.asarray(abs(scaled).sum(axis=1) > 0, dtype=np.float64)
        combination = lsqr(scaled, everybody, atol=_EXACT, btol=_EXACT)[0]
        row = (place.T, (root * combination) @ each.noisy, combination @ combination)
        all_of.append(row)
        if everybody.all() and np.allclose(scaled @ combination, 1, atol=1e-6):
            told.append(row)
    rows = told or all_of
    operator = sparse.csr_array(sparse.vstack([place for place, _, _ in rows], format="csr"))
    weight = np.concatenate([np.full(len(noisy), 1 / variance) for _, noisy, variance in rows])
    noisy = np.concatenate([noisy for _, noisy, _ in rows])
    units = nonnegative_least_squares(operator, noisy, weight, StoppingRule())
    return [units @ place for place in chain(measurements.hierarchy)]


def likeliest(levels: Sequence[Sums], expected: FloatArray, steps: int) -> FloatArray:
    """Fit people, (cells × geounits), to the measurements and to the expected histogram.

    The problem is solved by its dual, which is smooth, has no bounds, and has a *pressure* y for
    each count; the people are x = μ exp(φ Aᵀy), with μ the expected people. Since ``expected``
    tells only the composition of a geounit, μ is then scaled to the number found in it, and the fit
    repeated.
    """
    spread = dispersion(levels, expected)
    ends = np.cumsum([each.noisy.size for each in levels])[:-1]
    noisy = np.concatenate([each.noisy.ravel() for each in levels])
    variance = np.concatenate([each.variance.ravel() for each in levels])

    def counts(point: FloatArray) -> FloatArray:
        return np.concatenate([each.counts(point).ravel() for each in levels])

    def histogram(pressure: FloatArray, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the people under some pressure, and their integral."""
        pushed = np.zeros_like(mean)
        for each, part in zip(levels, np.split(pressure, ends), strict=True):
            pushed += each.adjoint(part.reshape(each.noisy.shape))
        pushed *= spread
        beyond = np.maximum(pushed - _STEEPEST, 0)  # there the exponential goes on as a line
        grown = mean * np.exp(np.minimum(pushed, _STEEPEST))
        return grown * (1 + beyond), grown * (1 + beyond + beyond**2 / 2)

    def dual(scaled: FloatArray, scale: FloatArray, mean: FloatArray) -> tuple[float, FloatArray]:
        pressure = scaled * scale
        people, integral = histogram(pressure, mean)
        value = integral.sum() / spread + pressure @ (variance * pressure / 2 - noisy)
        return float(value), (counts(people) + variance * pressure - noisy) * scale

    found, pressure = expected, np.zeros(len(noisy))
    for _ in range(_ROUNDS):
        scale = 1 / np.sqrt(variance + spread * counts(found))
        solved = minimize(
            dual, pressure / scale, (scale, expected), jac=True, method="L-BFGS-B",
            options={"maxiter": steps, "maxcor": 20, "ftol": _EXACT, "gtol": _NEAR},
        )  # fmt: skip
        pressure = solved.x * scale
        found = histogram(pressure, expected)[0]
        expected = expected * (found.sum(axis=0) / np.maximum(expected.sum(axis=0), _NOBODY))
    return found


def dispersion(levels: Sequence[Sums], expected: FloatArray) -> float:
    """Estimate the variance of true counts about what is expected, per person: φ.

    By moments of the geounits' own counts, weighted by their precision; at least 1, as if people
    were independent.
    """
    above = below = 0.0
    people = np.maximum(expected.sum(axis=0), _NOBODY)
    for each in levels:
        if each.place is None:
            mean = each.counts(expected)
            own = np.maximum(mean * (1 - mean / people), 0)
            trust = 1 / (own + each.variance) ** 2
            above += float((trust * own * ((each.noisy - mean) ** 2 - each.variance)).sum())
            below += float((trust * own**2).sum())
    return float(np.clip(above / below, 1, _MOST_SPREAD)) if below > 0 else 1.0


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
