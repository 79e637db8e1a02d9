"""Rows and columns of text, in batches, with their positions in the file."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from recon_cli.errors import SourceError

#: Column with the number of the row in its file, from 1.
ROW: Final = "row"
#: Rows by which a sheet is recognised.
HEAD_ROWS: Final = 60
#: Most columns that a spreadsheet can have; more are rows that were written as columns.
MOST_COLUMNS: Final = 16_384

#: First row and column, last row and column of a range of cells, from 0.
Merge = tuple[int, int, int, int]


@dataclass(frozen=True)
class Sheet:
    """A sheet of text.

    Attributes:
        head: Its first rows, each as wide as the sheet; an empty cell is empty text.
        batches: Reads all rows: columns ``row`` and ``0``, ``1``, … as text. An empty cell is
            null, a row without any text is left out.
        merges: Merged ranges of a workbook; the first cell of each has the content.
    """

    label: str
    head: tuple[tuple[str, ...], ...]
    width: int
    batches: Callable[[], Iterator[pl.DataFrame]]
    merges: tuple[Merge, ...] = ()

    def __post_init__(self) -> None:
        if not self.width or not any(any(row) for row in self.head):
            raise SourceError(f"{self.label}: expected a table, found nothing in it")
        if self.width > MOST_COLUMNS:
            raise SourceError(
                f"{self.label}: {self.width:,} columns, more than {MOST_COLUMNS:,}; "
                "publish it with a row for each count (geoid, table, cell, count)"
            )

    def where(self, row: int, column: int | None = None, header: str = "") -> str:
        """Locate a cell for messages."""
        if column is None:
            return f"{self.label}: row {row}"
        return f"{self.label}: row {row}, column {header or column + 1}"

    def rows(self, skip: int) -> Generator[pl.DataFrame, None, None]:
        """Yield the batches without the first ``skip`` rows."""
        for batch in self.batches():
            rows = batch.filter(pl.col(ROW) > skip)
            if rows.height:
                yield rows


def sheet_of_rows(label: str, rows: list[list[str]]) -> Sheet:
    """Make a sheet of rows in memory, with short rows padded by empty cells."""
    width = max(map(len, rows), default=0)
    full = [(*row, *[""] * (width - len(row))) for row in rows]
    head = tuple(tuple(cell.strip() for cell in row) for row in full[:HEAD_ROWS])

    def batches() -> Iterator[pl.DataFrame]:
        columns = {str(i): [row[i] or None for row in full] for i in range(width)}
        frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
        yield with_row_numbers(frame, 1)

    return Sheet(label, head, width, batches)


def with_row_numbers(frame: pl.DataFrame, first: int) -> pl.DataFrame:
    """Add the column ``row``; drop rows without any text."""
    numbered = frame.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias(ROW) + first, pl.all())
    return numbered.filter(pl.any_horizontal(pl.exclude(ROW).is_not_null()))
