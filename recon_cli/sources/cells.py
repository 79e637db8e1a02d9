"""Numbering of all published cells of a release."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recon_cli.frames import COUNTS
from recon_cli.schema import Release


@dataclass(frozen=True)
class CellIndex:
    """Cells of all tables in published order; a cell's ordinal is its index here.

    Attributes:
        offsets: Table name → ordinal of its first cell.
        table_of: Ordinal → index into ``tables``.
        cell_of: Ordinal → cell number, from 1.
        codes: Ordinal → published cell code.
    """

    tables: tuple[str, ...]
    offsets: dict[str, int]
    table_of: NDArray[np.int16]
    cell_of: NDArray[np.int16]
    codes: tuple[str, ...]

    @classmethod
    def of(cls, release: Release) -> CellIndex:
        """Number the cells of ``release``."""
        sizes = [len(table.cells) for table in release.tables]
        offsets = np.cumsum([0, *sizes])[:-1]
        return cls(
            tuple(table.name for table in release.tables),
            {t.name: int(at) for t, at in zip(release.tables, offsets, strict=True)},
            np.repeat(np.arange(len(sizes), dtype=np.int16), sizes),
            np.concatenate([np.arange(1, size + 1, dtype=np.int16) for size in sizes]),
            tuple(code for table in release.tables for code in table.codes),
        )

    def table_name(self, ordinal: int) -> str:
        return self.tables[int(self.table_of[ordinal])]

    def name(self, ordinal: int) -> str:
        """Name a cell for messages: ``table P12, cell P0120003``."""
        return f"table {self.table_name(ordinal)}, cell {self.codes[ordinal]}"

    def numbers(self, ordinals: Iterable[int]) -> dict[str, tuple[int, ...]]:
        """Map tables to the sorted numbers of some cells, as in coverage patterns."""
        found: dict[str, list[int]] = {}
        for ordinal in sorted(ordinals):
            found.setdefault(self.table_name(ordinal), []).append(int(self.cell_of[ordinal]))
        return {table: tuple(numbers) for table, numbers in found.items()}

    def named(self, ordinals: NDArray[np.integer[Any]]) -> dict[str, pl.Series]:
        """Return the columns ``table`` and ``cell`` of cells."""
        tables = pl.Series(self.tables, dtype=pl.String)
        return {
            "table": tables.gather(self.table_of[ordinals].astype(np.int64)),
            "cell": pl.Series(self.cell_of[ordinals]),
        }

    def counts(
        self,
        geoids: pl.Series,
        rows: NDArray[np.int64],
        ordinals: NDArray[np.int64],
        values: NDArray[np.int64],
    ) -> pl.DataFrame:
        """Make the columns of `COUNTS` from parallel arrays.

        Args:
            geoids: The geoids that ``rows`` points into.
            rows: Place of each count's geounit.
        """
        return pl.DataFrame(
            {
                "geoid": geoids.gather(rows),
                **self.named(ordinals),
                "count": values.astype(np.int32),
            },
            schema=COUNTS,
        )
