"""The header of a sheet, and the columns that it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Final
from unicodedata import category

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.formats.count_sheet import (
    CountColumn,
    CountSheet,
    DimensionColumns,
    cell_text,
)
from recon_cli.sources.tabular import Sheet, first_line, read_sheet

#: A whole cell that is a number, of any kind.
NUMBER: Final = r"^-?[0-9]+([.,][0-9]+)*%?$"


def row_with(sheet: Sheet, names: Collection[str]) -> int | None:
    """Return the index of the first row that has all ``names``; None if there is none."""
    for i, row in enumerate(sheet.head):
        if set(names) <= set(row):
            return i
    return None


@dataclass(frozen=True)
class HeadedSheet:
    """A sheet whose columns are named in row ``at`` of its head, counted from 0."""

    sheet: Sheet
    at: int

    @classmethod
    def of(cls, document: Document, *names: str) -> HeadedSheet:
        """Read the sheet of a document, and find its header as `within` does."""
        return cls.within(read_sheet(document), *names)

    @classmethod
    def within(cls, sheet: Sheet, *names: str) -> HeadedSheet:
        """Find the header of a sheet: the first row that has all ``names``.

        Raises:
            SourceError: There is no such row, or it has an invisible character.
        """
        at = row_with(sheet, names)
        if at is None:
            wanted = " and ".join(map(repr, names))
            raise SourceError(f"{sheet.label}: expected a row with {wanted}")
        for column, header in enumerate(sheet.head[at]):
            for letter in header:
                if category(letter) in ("Cf", "Cc"):
                    raise SourceError(
                        f"{sheet.where(at + 1, column)}: the header {header!r} has an invisible "
                        f"character (U+{ord(letter):04X}); take it away"
                    )
        return cls(sheet, at)

    @property
    def headers(self) -> tuple[str, ...]:
        return self.sheet.head[self.at]

    @property
    def below(self) -> tuple[str, ...]:
        """Return the row below, which may have labels; empty cells if there is none."""
        return (*self.sheet.head[self.at + 1 :], ("",) * self.sheet.width)[0]

    def column(self, header: str) -> int | None:
        """Return the place of a column, the first of that name; None if there is none."""
        return self._places.get(header)

    @cached_property
    def _places(self) -> dict[str, int]:
        """Map each header to its first place."""
        backwards = range(len(self.headers) - 1, -1, -1)
        return {self.headers[at]: at for at in backwards}

    def count(self, header: str) -> CountColumn:
        return CountColumn(self._places[header], header)

    def roles(
        self,
        place: int,
        counts: tuple[CountColumn, ...],
        dimensions: tuple[DimensionColumns, ...] = (),
        flags: tuple[int, ...] = (),
        *,
        geoid: pl.Expr | None = None,
        where: Mapping[int, tuple[str, ...]] = MappingProxyType({}),
        skip: bool = False,
    ) -> CountSheet:
        """Return the sheet with the roles of its columns.

        Args:
            geoid: Default the text of the place.
            skip: Whether the row below has no counts.
        """
        return CountSheet(
            self.sheet,
            self.at + 1 + skip,
            self.headers,
            (place,),
            cell_text(place) if geoid is None else geoid,
            counts,
            dimensions,
            flags,
            where,
        )


def first_line_has(*names: str) -> Callable[[Document], bool]:
    """Test for documents that have all ``names`` in their first line."""
    return lambda document: all(name in first_line(document) for name in names)


def is_number(cell: str) -> bool:
    """Test whether a cell has a number."""
    return re.match(NUMBER, cell.strip()) is not None


def numbers_in(row: Sequence[str]) -> int:
    """Count how many cells of a row are numbers."""
    return sum(map(is_number, row))
