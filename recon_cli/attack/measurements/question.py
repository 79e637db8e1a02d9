"""What do noisy counts say together? The questions of `recon estimate`, and of a reconstruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import polars as pl

from recon_cli.attack.excluded_units import Quarantine
from recon_cli.attack.measurements.joint_fit import fit_people, likely_records
from recon_cli.attack.measurements.measurements import read_measurements
from recon_cli.attack.measurements.tree_estimates import estimate_counts
from recon_cli.attack.question import Answer, Question, RegionData
from recon_cli.frames import is_place
from recon_cli.progress import OnProgress
from recon_cli.schema import Release, Table

#: Status and method of a unit whose records fit noisy counts; nothing is proven of it.
LIKELY: Final = "likely"
LEAST_SQUARES: Final = "least_squares"


@dataclass(frozen=True)
class LikelyRecordsQuestion(Question):
    """Which records fit noisy counts best? Of whole partitions: coarse noise speaks of all units.

    Attributes:
        tables: Those in use.
    """

    schema: Release
    tables: tuple[Table, ...]

    @classmethod
    def of(cls, release: Release, tables: Sequence[Table]) -> Self:
        """For some tables."""
        return cls(release, tuple(tables))

    @property
    def release(self) -> Release:
        """The schema."""
        return self.schema

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:  # noqa: ARG002
        """Rows of ``microdata/`` and ``blocks/``; no solver is started.

        Raises:
            SourceError: The measurements cannot be fitted.
        """
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


@dataclass(frozen=True)
class EstimateQuestion(Question):
    """What is each count, from all measurements of its tree together?

    Attributes:
        level: Of the intervals, in percent.
    """

    schema: Release
    level: float

    @classmethod
    def of(cls, release: Release, level: float) -> Self:
        """With intervals of a level, in percent."""
        return cls(release, level)

    @property
    def release(self) -> Release:
        """The schema."""
        return self.schema

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:  # noqa: ARG002
        """Rows of ``estimates/``; no solver is started.

        Raises:
            SourceError: Some counts have no noise, or too much is told apart.
        """
        measurements = read_measurements(self.release, part.published)
        rows = estimate_counts(measurements, self.level)
        units = len(measurements.hierarchy.geoids[-1])
        on_progress(units, 0)
        return Answer({"estimates": rows}, totals={"units": units, "cells": len(rows)})
