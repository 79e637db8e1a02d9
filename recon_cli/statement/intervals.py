"""The intervals of published counts as arrays over geounits and cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.schema import Release
from recon_cli.statement.law import OPEN, IntArray
from recon_cli.statement.protection import Protection


@dataclass(frozen=True)
class CountIntervals:
    """Least and greatest true counts of the cells of many geounits.

    Attributes:
        low: Sparse (geounits × cells) least counts of the stored rows.
        above: Sparse (geounits × cells) greatest counts of the stored rows, and one more.
        absent: (levels × cells) greatest count where no row is stored, for a published zero.
        level: For each geounit its row in `absent`.
    """

    low: sparse.csr_array
    above: sparse.csr_array
    absent: IntArray
    level: IntArray

    def of(self, geounits: IntArray) -> tuple[IntArray, IntArray]:
        """(geounits × cells) least and greatest counts, `OPEN` where there is none.

        Cells that are not published have the values of a published zero.
        """
        low = self.low[geounits].toarray()
        above = self.above[geounits].toarray()
        return low, np.where(above > 0, above - 1, self.absent[self.level[geounits]])


def count_intervals(
    release: Release,
    geounits: pl.DataFrame,
    counts: pl.DataFrame,
    protection: Protection,
    places: Mapping[tuple[str, int], int],
) -> CountIntervals:
    """Arrange the intervals of protected counts.

    Args:
        release: The schema.
        geounits: Columns ``geoid, level``, each geoid once.
        counts: Columns of `recon_cli.publication.STATEMENTS`; rows of other geounits and cells
            are left out.
        protection: The laws.
        places: Table and number of each cell → its column, from 0 without gaps.
    """
    width = len(places)
    cells = pl.DataFrame(
        [(table, number, place) for (table, number), place in places.items()],
        schema={"table": pl.String, "cell": pl.Int16, "_column": pl.Int64},
        orient="row",
    )
    rows = geounits.select("geoid").with_row_index("_row")
    stored = counts.join(rows, on="geoid").join(cells, on=["table", "cell"])
    at = (stored["_row"].cast(pl.Int64).to_numpy(), stored["_column"].to_numpy())
    low = stored["low"].cast(pl.Int64).to_numpy()
    above = stored["high"].cast(pl.Int64).fill_null(OPEN).to_numpy() + 1
    shape = (len(geounits), width)
    levels = [level.name for level in release.geography.levels]
    absent = np.zeros((len(levels), width), dtype=np.int64)
    for table in dict.fromkeys(table for table, _ in places):
        columns = [place for (name, _), place in places.items() if name == table]
        for i, level in enumerate(levels):
            absent[i, columns] = protection.greatest_of_zero(table, level)
    return CountIntervals(
        sparse.csr_array((low, at), shape=shape),
        sparse.csr_array((above, at), shape=shape),
        absent,
        geounits["level"].cast(pl.Enum(levels)).to_physical().cast(pl.Int64).to_numpy(),
    )
