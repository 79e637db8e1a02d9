"""Counts at their place in the legacy files, for the writer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recon_cli.errors import SourceError
from recon_cli.frames import COUNTS
from recon_cli.sources.legacy.layout import Layout, Segment


@dataclass(frozen=True)
class PositionedCounts:
    """Counts at their place in the files, sorted by segment and row.

    Attributes:
        row: Place of the geounit among the sorted units.
        column: In the segment.
        spans: Segment number → where its counts start and end.
    """

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    value: NDArray[np.int64]
    spans: dict[int, tuple[int, int]]

    def matrix(self, segment: Segment, start: int, stop: int) -> NDArray[np.int64]:
        """The columns of ``segment`` for units ``start`` to ``stop - 1``, zeros included."""
        low, high = self.spans[segment.number]
        rows = self.row[low:high]
        first, last = (low + int(i) for i in np.searchsorted(rows, [start, stop]))
        matrix = np.zeros((stop - start, segment.columns), np.int64)
        matrix[self.row[first:last] - start, self.column[first:last]] = self.value[first:last]
        return matrix


def position_counts(
    counts: pl.DataFrame, geounits: pl.DataFrame, units: pl.DataFrame, layout: Layout
) -> PositionedCounts:
    """Find each count's segment, row and column, or refuse it."""
    places = pl.DataFrame(
        [
            (level, p.table.name, cell.number, s.number, p.first + cell.number - 1)
            for s in layout.segments
            for p in s.placements
            for level in p.table.levels
            for cell in p.table.cells
        ],
        schema={
            "level": pl.String,
            "table": pl.String,
            "cell": pl.Int16,
            "segment": pl.Int64,
            "column": pl.Int64,
        },
        orient="row",
    )
    ignored = geounits.filter(~pl.col("level").is_in(list(layout.summary_levels)))["geoid"]
    placed = (
        counts.select(COUNTS.names())
        .filter(~pl.col("geoid").is_in(ignored.implode()))
        .join(units, on="geoid", how="left", maintain_order="left")
        .join(places, on=["level", "table", "cell"], how="left", maintain_order="left")
    )
    _refuse_unpositioned(placed)
    placed = placed.sort("segment", "logrecno", "column")
    segment = placed["segment"].to_numpy()
    ends = {
        s.number: (
            int(np.searchsorted(segment, s.number, "left")),
            int(np.searchsorted(segment, s.number, "right")),
        )
        for s in layout.segments
    }
    row = placed["logrecno"].cast(pl.Int64).to_numpy() - 1
    value = placed["count"].cast(pl.Int64).to_numpy()
    return PositionedCounts(row, placed["column"].to_numpy(), value, ends)


def _refuse_unpositioned(placed: pl.DataFrame) -> None:
    for problem, rows in (
        ("is not among the geounits", placed.filter(pl.col("level").is_null())),
        ("is not published there", placed.filter(pl.col("segment").is_null())),
        ("is negative or missing", placed.filter(~pl.col("count").ge(0).fill_null(value=False))),
        ("occurs twice", placed.filter(pl.struct("geoid", "table", "cell").is_duplicated())),
    ):
        if len(rows):
            geoid, table, cell, count = rows.select(COUNTS.names()).row(0)
            raise SourceError(
                f"count {count} of geoid {geoid}, table {table}, cell {cell} {problem}"
            )
