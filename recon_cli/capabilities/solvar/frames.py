"""The variability of a batch as frames, tightened by what its units prove alone.

A further count never invalidates a proof. But more counts distinguish more histogram cells, and a
region with too many to list is only bounded. So if a region stays open its units are examined
alone, with their own tables, and what is proven there holds in the region. This is the same work as
if only the units' tables were published, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.reconstruct.unit_status import UNDECIDED
from recon_cli.capabilities.solvar.batch import BatchVariability
from recon_cli.capabilities.solvar.distance import Distances
from recon_cli.capabilities.solvar.histogram import HistogramCells, histogram_schema, with_open_ends
from recon_cli.frames import OPEN
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import Plan
from recon_cli.model.system import System

#: Columns of `recon_cli.capabilities.solvar.question.Variability.regions`.
REGIONS = pl.Schema(
    {
        "geoid": pl.String,
        "population": pl.Int32,
        "solvar_pct": pl.Float64,
        "solvar_upper_pct": pl.Float64,
        "certain_records": pl.Int32,
        "status": pl.String,
    }
)


def unit_schema(plan: Plan, *, diameter: bool) -> pl.Schema:
    """Return the columns of `Variability.units`."""
    percentages = ["solvar_pct", "solvar_upper_pct"]
    if diameter:
        percentages += ["diameter_pct", "diameter_upper_pct"]
    schema = pl.Schema({plan.release.geoid_column: pl.String, "population": pl.Int32})
    schema.update(dict.fromkeys(percentages, pl.Float64()))
    schema.update(dict.fromkeys(("certain_records", "certain_upper"), pl.Int32()))
    schema.update({"status": pl.String(), "method": pl.String(), "seconds": pl.Float64()})
    return schema


def interval_schema(plan: Plan, columns: tuple[str, ...]) -> pl.Schema:
    """Return the columns of `Variability.intervals`."""
    ends = {"lower": pl.Int32(), "upper": pl.Int32(), "exact": pl.Boolean()}
    return histogram_schema(plan.release, columns, ends)


@dataclass(frozen=True)
class BatchFrames:
    """The variability of one batch as frames."""

    plan: Plan
    counts: PartitionCounts
    system: System
    histogram: HistogramCells
    variability: BatchVariability
    people: IntArray

    def units(self, schema: pl.Schema) -> pl.DataFrame:
        """Make a row for each unit, with the columns of `unit_schema`."""
        variability, bounded = self.variability, self.system.is_bounded
        intervals = variability.intervals
        columns: dict[str, Any] = {
            self.plan.release.geoid_column: self.counts.geoids.gather(self.system.units),
            "population": self.people,
            **_percent("solvar", variability.solvar, self.people, bounded),
            "certain_records": self._by_unit(intervals.lower),
            "certain_upper": self._by_unit(intervals.lowest),
            "status": _status(variability.solvar, bounded).set(
                pl.Series(~variability.is_searched), UNDECIDED
            ),
            "method": pl.Series(["propagation", "solver"]).gather(
                variability.used_solver.astype(np.int64)
            ),
            "seconds": variability.deterministic_time.round(6),
        }
        if variability.diameter is not None:
            columns |= _percent("diameter", variability.diameter, self.people, bounded)
        return pl.DataFrame([pl.Series(n, columns[n]).cast(t) for n, t in schema.items()])

    def intervals(self, schema: pl.Schema) -> pl.DataFrame:
        """Make a row for each possible histogram cell, with the columns of `interval_schema`."""
        intervals = self.variability.intervals
        frame = self.histogram.frame(self.plan, self.counts, self.system).with_columns(
            lower=pl.Series(intervals.lower),
            upper=pl.Series(intervals.upper),
            exact=intervals.is_exact,
        )
        frame = frame.filter((pl.col("lower") > 0) | (pl.col("lower") < pl.col("upper")))
        columns = self.histogram.columns
        frame = with_open_ends(frame, self.plan, self.counts, self.system, columns)
        return frame.select(schema.names()).cast(schema)

    def regions(self) -> pl.DataFrame:
        """Make a row for each region, with the columns of `REGIONS`; none for units alone."""
        region = self.variability.region
        if region is None:
            return pl.DataFrame(schema=REGIONS)
        numbers, place = np.unique(self.system.regions, return_inverse=True)
        people = np.bincount(place, weights=self.people).astype(np.int64)
        certain = np.bincount(place, weights=self._by_unit(self.variability.intervals.lower))
        bounded = np.bincount(place, weights=~self.system.is_bounded) == 0
        columns: dict[str, Any] = {
            "geoid": self.counts.region_geoids.gather(numbers),
            "population": people,
            **_percent("solvar", region, people, bounded),
            "certain_records": certain,
            "status": _status(region, bounded),
        }
        return pl.DataFrame([pl.Series(n, columns[n]).cast(t) for n, t in REGIONS.items()])

    def _by_unit(self, values: IntArray) -> IntArray:
        unit = self.histogram.unit
        return np.bincount(unit, weights=values, minlength=len(self.people)).astype(np.int64)


def _percent(
    name: str, distances: Distances, people: IntArray, bounded: BoolArray
) -> dict[str, pl.Series]:
    """Return the attained value, and the bound, null if more people are possible."""
    upper = pl.Series(_share(distances.bound, people)).set(pl.Series(~bounded), None)
    return {f"{name}_pct": pl.Series(_share(distances.reached, people)), f"{name}_upper_pct": upper}


def _share(distance: IntArray, people: IntArray) -> npt.NDArray[np.float64]:
    """Return percent of twice the people; 100 for an empty unit that another solution populates."""
    twice = np.where(people > 0, 2 * people, np.maximum(distance, 1))
    return 100 * distance / twice


def _status(distances: Distances, bounded: BoolArray) -> pl.Series:
    proven = (distances.reached == distances.bound).astype(np.int64)
    return pl.Series(["bounded", "proven", "open"]).gather(np.where(bounded, proven, 2))


def narrow(frames: BatchFrames, alone: Callable[[], BatchFrames | None]) -> BatchFrames:
    """Tighten a region's variability by what its units prove alone, if anything is open.

    Args:
        alone: Measures the region's units by their own tables, for the same columns and records;
            returns None where that proves no more.
    """
    found = frames.variability
    if found.intervals.is_exact.all() and (found.solvar.reached == found.solvar.bound).all():
        return frames
    units = alone()
    if units is None:
        return frames
    of_cells = _joined(_cells(frames).drop("lower", "upper"), _cells(units))
    lower = np.maximum(found.intervals.lower, of_cells["lower"].fill_null(0).to_numpy())
    upper = np.minimum(found.intervals.upper, of_cells["upper"].fill_null(OPEN).to_numpy())
    intervals = replace(
        found.intervals,
        lower=lower,
        upper=upper,
        is_exact=(found.intervals.is_exact | (lower == upper)) & (upper < OPEN),
        lowest=np.clip(found.intervals.lowest, lower, upper),
    )
    mine = _totals(frames)
    of_units = _joined(mine.select(mine.columns[0]), _totals(units))
    # A bound of the people that a solution lacks is valid for a unit if all its people were
    # searched.
    is_whole = (of_units["people"] == mine["people"]).fill_null(value=False).to_numpy()
    theirs = of_units["bound"].fill_null(0).to_numpy()
    certain = np.bincount(frames.histogram.unit, lower, len(frames.people)).astype(np.int64)
    bound = np.where(is_whole, np.minimum(found.solvar.bound, theirs), found.solvar.bound)
    bound = np.minimum(bound, 2 * (frames.people - certain))
    region = found.region
    if region is not None:
        region = Distances(region.reached, np.minimum(region.bound, _by_region(frames, bound)))
    return replace(
        frames,
        variability=replace(
            found,
            intervals=intervals,
            solvar=Distances(found.solvar.reached, bound),
            region=region,
            is_searched=found.is_searched
            & (_is_settled(frames) | of_units["searched"].fill_null(value=True).to_numpy()),
            used_solver=found.used_solver | of_units["used"].fill_null(value=False).to_numpy(),
            deterministic_time=found.deterministic_time
            + of_units["seconds"].fill_null(0.0).to_numpy(),
        ),
    )


def _is_settled(frames: BatchFrames) -> BoolArray:
    """Return the units without anything open, which need no further search."""
    found = frames.variability
    varies = np.bincount(frames.histogram.unit, ~found.intervals.is_exact, len(frames.people))
    return np.equal(varies + (found.solvar.reached < found.solvar.bound), 0)


def _by_region(frames: BatchFrames, bound: IntArray) -> IntArray:
    """Sum over the units of each region."""
    _, place = np.unique(frames.system.regions, return_inverse=True)
    return np.bincount(place, bound).astype(np.int64)


def _cells(frames: BatchFrames) -> pl.DataFrame:
    """Return the geoid, histogram columns, ``lower`` and ``upper`` of each histogram cell."""
    intervals = frames.variability.intervals
    named = frames.histogram.frame(frames.plan, frames.counts, frames.system)
    return named.with_columns(lower=pl.Series(intervals.lower), upper=pl.Series(intervals.upper))


def _totals(frames: BatchFrames) -> pl.DataFrame:
    """Return each unit's geoid, ``people``, ``bound`` of its distance, and how it was found."""
    found = frames.variability
    return pl.DataFrame(
        {
            frames.plan.release.geoid_column: frames.counts.geoids.gather(frames.system.units),
            "people": frames.people,
            "bound": found.solvar.bound,
            "searched": found.is_searched,
            "used": found.used_solver,
            "seconds": found.deterministic_time,
        }
    )


def _joined(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    key = left.columns
    return left.join(right, on=key, how="left", nulls_equal=True, maintain_order="left")
