"""Protected counts with their places in arrays over geounits and cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.schema import Release


@dataclass(frozen=True)
class StoredCounts:
    """The rows of protected counts that some geounits and cells have.

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
        """Those of ``counts`` whose geounit and cell are given.

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
        """Counts whose geounits and cells are known.

        Args:
            levels: Level of each geounit.
            frame: The counts.
            at: Geounit and cell of each.
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
        """Number of geounits, number of cells."""
        return len(self.level), sum(len(cells) for cells in self.tables.values())

    def by_table(self, value: Callable[[str, str], int]) -> IntArray:
        """(levels × cells) ``value(table, level)``."""
        found = np.zeros((len(self.levels), self.shape[1]), dtype=np.int64)
        for table, cells in self.tables.items():
            for i, level in enumerate(self.levels):
                found[i, cells] = value(table, level)
        return found
