"""The intervals of published counts as arrays over geounits and cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.frames import OPEN
from recon_cli.statement.protection import Protection
from recon_cli.statement.stored_counts import StoredCounts


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


def count_intervals(stored: StoredCounts, protection: Protection) -> CountIntervals:
    """Arrange the intervals of protected counts."""
    at = (stored.row, stored.column)
    low = stored.frame["low"].cast(pl.Int64).to_numpy()
    above = stored.frame["high"].cast(pl.Int64).fill_null(OPEN).to_numpy() + 1
    return CountIntervals(
        sparse.csr_array((low, at), shape=stored.shape),
        sparse.csr_array((above, at), shape=stored.shape),
        stored.by_table(protection.greatest_of_zero),
        stored.level,
    )
