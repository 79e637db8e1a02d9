"""The variability of a batch as frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.attack.unit_status import UNDECIDED
from recon_cli.attack.variability.batch import BatchVariability
from recon_cli.attack.variability.distance import Distances
from recon_cli.attack.variability.histogram import HistogramCells, with_open_ends
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import Plan
from recon_cli.model.system import System

#: Columns of `recon_cli.attack.variability.partition.Variability.regions`.
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
    """Columns of `Variability.units`."""
    percentages = ["solvar_pct", "solvar_upper_pct"]
    if diameter:
        percentages += ["diameter_pct", "diameter_upper_pct"]
    schema = pl.Schema({plan.release.geoid_column: pl.String, "population": pl.Int32})
    schema.update(dict.fromkeys(percentages, pl.Float64()))
    schema.update(dict.fromkeys(("certain_records", "certain_upper"), pl.Int32()))
    schema.update({"status": pl.String(), "method": pl.String(), "seconds": pl.Float64()})
    return schema


def interval_schema(plan: Plan, columns: tuple[str, ...]) -> pl.Schema:
    """Columns of `Variability.intervals`."""
    schema = pl.Schema({plan.release.geoid_column: pl.String})
    schema.update({name: plan.release.column_groups(name).dtype() for name in columns})
    schema.update({"lower": pl.Int32(), "upper": pl.Int32(), "exact": pl.Boolean()})
    return schema


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
        """A row a unit, with the columns of `unit_schema`."""
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
        """A row a histogram cell that may hold somebody, with the columns of `interval_schema`."""
        intervals = self.variability.intervals
        frame = self.histogram.frame(self.plan, self.counts, self.system).with_columns(
            lower=pl.Series(intervals.lower),
            upper=pl.Series(intervals.upper),
            exact=intervals.is_exact,
        )
        frame = frame.filter((pl.col("lower") > 0) | (pl.col("lower") < pl.col("upper")))
        columns = self.histogram.columns
        frame = with_open_ends(frame, self.plan, self.counts, self.system, columns)
        return frame.select(pl.col(name).cast(dtype) for name, dtype in schema.items())

    def regions(self) -> pl.DataFrame:
        """A row a region, with the columns of `REGIONS`; none where units were taken alone."""
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
    """The value reached, and the bound, which is null where more people are possible."""
    upper = pl.Series(_share(distances.bound, people)).set(pl.Series(~bounded), None)
    return {f"{name}_pct": pl.Series(_share(distances.reached, people)), f"{name}_upper_pct": upper}


def _share(distance: IntArray, people: IntArray) -> npt.NDArray[np.float64]:
    """Percent of twice the people; of an empty unit, 100 if another solution has people there."""
    twice = np.where(people > 0, 2 * people, np.maximum(distance, 1))
    return 100 * distance / twice


def _status(distances: Distances, bounded: BoolArray) -> pl.Series:
    proven = (distances.reached == distances.bound).astype(np.int64)
    return pl.Series(["bounded", "proven", "open"]).gather(np.where(bounded, proven, 2))
