"""Protected counts with their positions in arrays over geounits and cells, and their intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.frames import IS_AS_PUBLISHED, OPEN
from recon_cli.schema import Release
from recon_cli.statement.protection import Protection


@dataclass(frozen=True)
class StoredCounts:
    """The protected counts of some geounits and cells.

    Attributes:
        frame: Columns of `recon_cli.publication.STATEMENTS`.
        row: For each row of the frame its geounit.
        column: For each row of the frame its cell.
        level: For each geounit the place of its level in `levels`.
        levels: Names of the release's levels.
        tables: Table → its cells.
    """

    frame: pl.DataFrame
    row: IntArray
    column: IntArray
    level: IntArray
    levels: tuple[str, ...]
    tables: Mapping[str, IntArray]

    @classmethod
    def find(
        cls,
        release: Release,
        geounits: pl.DataFrame,
        counts: pl.DataFrame,
        places: Mapping[tuple[str, int], int],
    ) -> StoredCounts:
        """Select those of ``counts`` whose geounit and cell are given.

        Args:
            geounits: Columns ``geoid, level``, each geoid once.
            counts: Columns of `recon_cli.publication.STATEMENTS`.
            places: Table and number of each cell → its column, from 0 without gaps.
        """
        cells = pl.DataFrame(
            [(table, number, place) for (table, number), place in places.items()],
            schema={"table": pl.String, "cell": pl.Int16, "_column": pl.Int64},
            orient="row",
        )
        rows = geounits.select("geoid").with_row_index("_row")
        stored = counts.join(rows, on="geoid").join(cells, on=["table", "cell"])
        row, column = (stored[name].cast(pl.Int64).to_numpy() for name in ("_row", "_column"))
        return cls.at(release, geounits["level"], stored, (row, column), places)

    @classmethod
    def at(
        cls,
        release: Release,
        levels: pl.Series,
        frame: pl.DataFrame,
        at: tuple[IntArray, IntArray],
        places: Mapping[tuple[str, int], int],
    ) -> StoredCounts:
        """Store counts whose geounits and cells are known.

        Args:
            levels: Level of each geounit.
            at: Geounit and cell of each count.
            places: As for `find`.
        """
        names = tuple(level.name for level in release.geography.levels)
        columns: dict[str, list[int]] = {}
        for (table, _), place in places.items():
            columns.setdefault(table, []).append(place)
        level = levels.cast(pl.Enum(names)).to_physical().cast(pl.Int64).to_numpy()
        tables = {table: np.array(cells) for table, cells in columns.items()}
        return cls(frame, *at, level, names, tables)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.level), sum(len(cells) for cells in self.tables.values())

    def by_table(self, value: Callable[[str, str], int]) -> IntArray:
        """Return the (levels × cells) array of ``value(table, level)``."""
        found = np.zeros((len(self.levels), self.shape[1]), dtype=np.int64)
        for table, cells in self.tables.items():
            for i, level in enumerate(self.levels):
                found[i, cells] = value(table, level)
        return found


@dataclass(frozen=True)
class CountIntervals:
    """Least and greatest true counts of the cells of many geounits.

    Attributes:
        low: Sparse (geounits × cells): least counts of the stored rows.
        above: Sparse (geounits × cells): 1 + greatest counts of the stored rows.
        absent: Two arrays (levels × cells) of the least and the greatest count where no row is
            stored, for a published zero.
        others: Sparse (geounits × cells): 1 where a stored row allows a single count, which is
            not the published number.
        level: For each geounit its row in `absent`.
    """

    low: sparse.csr_array
    above: sparse.csr_array
    absent: tuple[IntArray, IntArray]
    others: sparse.csr_array
    level: IntArray

    def of(self, geounits: IntArray) -> tuple[IntArray, IntArray]:
        """Return the (geounits × cells) least and greatest counts, `OPEN` if unbounded.

        Cells that are not published have the values of a published zero.
        """
        above = self.above[geounits].toarray()
        low, high = (ends[self.level[geounits]] for ends in self.absent)
        is_stored = above > 0
        stored = self.low[geounits].toarray()
        return np.where(is_stored, stored, low), np.where(is_stored, above - 1, high)

    def is_withheld(self, geounits: IntArray) -> BoolArray:
        """Return a (geounits × cells) mask of the counts that are not published exactly."""
        low, high = self.of(geounits)
        is_stored = self.above[geounits].toarray() > 0
        is_other = np.where(is_stored, self.others[geounits].toarray() > 0, low > 0)
        found: BoolArray = (low < high) | is_other
        return found


def count_intervals(stored: StoredCounts, protection: Protection) -> CountIntervals:
    """Compute the intervals of protected counts."""
    at = (stored.row, stored.column)
    low = stored.frame["low"].cast(pl.Int64).to_numpy()
    above = stored.frame["high"].cast(pl.Int64).fill_null(OPEN).to_numpy() + 1
    is_other = stored.frame.select((pl.col("low") == pl.col("high")) & ~IS_AS_PUBLISHED)
    others = is_other.to_series().fill_null(value=False).cast(pl.Int64).to_numpy()
    return CountIntervals(
        sparse.csr_array((low, at), shape=stored.shape),
        sparse.csr_array((above, at), shape=stored.shape),
        absent=(
            stored.by_table(lambda table, level: protection.ends_of_zero(table, level)[0]),
            stored.by_table(lambda table, level: protection.ends_of_zero(table, level)[1]),
        ),
        others=sparse.csr_array((others, at), shape=stored.shape),
        level=stored.level,
    )
