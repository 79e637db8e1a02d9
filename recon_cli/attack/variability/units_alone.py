"""What the tables of a unit prove by themselves, whatever coarser places publish besides.

A further count never takes away a proof. But the more counts there are, the more histogram cells
they tell apart, and a region with too many to list is only bounded. So where a region is left open
its units are taken alone, with their own tables, and what is proven there stands in the region.
It is the same work as if only the units' tables were published, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.attack.variability.distance import Distances
from recon_cli.attack.variability.frames import BatchFrames
from recon_cli.frames import OPEN


def narrow(frames: BatchFrames, alone: Callable[[], BatchFrames | None]) -> BatchFrames:
    """A region's variability within what its units prove alone; as it is where nothing is open.

    Args:
        frames: Of a region.
        alone: Measures its units by their own tables, for the same columns and records; None where
            that says no more.
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
    # A bound of whom a solution lacks is one of the unit if all its people were looked at.
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
    """The units of which nothing is open, so that they alone have no more to say."""
    found = frames.variability
    varies = np.bincount(frames.histogram.unit, ~found.intervals.is_exact, len(frames.people))
    return np.equal(varies + (found.solvar.reached < found.solvar.bound), 0)


def _by_region(frames: BatchFrames, bound: IntArray) -> IntArray:
    """Sums over the units of each region."""
    _, place = np.unique(frames.system.regions, return_inverse=True)
    return np.bincount(place, bound).astype(np.int64)


def _cells(frames: BatchFrames) -> pl.DataFrame:
    """The unit's geoid and the histogram columns of each histogram cell, ``lower``, ``upper``."""
    intervals = frames.variability.intervals
    named = frames.histogram.frame(frames.plan, frames.counts, frames.system)
    return named.with_columns(lower=pl.Series(intervals.lower), upper=pl.Series(intervals.upper))


def _totals(frames: BatchFrames) -> pl.DataFrame:
    """Of each unit its geoid, ``people``, the ``bound`` of its distance, and how it was found."""
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
