"""One table of a sheet, as it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray
from recon_cli.sources.read.choices import column_names
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.names import Names
from recon_cli.sources.read.regions import Region
from recon_cli.sources.read.row_labels import PART_OF, Path

#: A place without a name: in a long table the total of all.
NAMELESS: Final = "(blank)"
#: What stands for the one place of a table that names none.
ONE_PLACE: Final = "A"


@dataclass(frozen=True)
class SheetPlace:
    """The place that all of a sheet is about, called by the sheet's name.

    Attributes:
        is_total: Whether somebody says that those of the other sheets add up to it.
        is_apart: Whether somebody says that they do not.
    """

    name: str
    is_total: bool = False
    is_apart: bool = False


@dataclass(frozen=True)
class Share:
    """A column that is a share of a column of counts among another.

    Attributes:
        line: The column of shares.
        part: Whom it is the share of.
        base: Among whom.
        times: 100 of a percentage, 1,000 of a rate per thousand.
    """

    line: int
    part: int
    base: int
    times: int = 100


@dataclass(frozen=True, kw_only=True)
class TableReading:
    """One table of a sheet.

    Attributes:
        grid: The cells, with labels in each row that they are for.
        headers: Column → its words, outermost first.
        names: The columns that name its rows.
        counts: Columns of counts.
        statistics: Columns of percentages, means and the like that nothing is made of.
        left_out: Column → why it is not used.
        place: The column of places; None if its rows name none.
        withheld: (rows × columns of the grid) Numbers that a flag takes back.
        rows: The words that name each row, outermost first.
        are_kinds: Whether its rows are kinds of what is counted, of one place.
        not_chosen: Column → the rows that are not read for what stands in it.
        shares: Columns that are shares of counts.
        printed: Columns of statistics that are used, as somebody says.
        left_rows: Rows that are not used, by their words: percentages, or as somebody says.
        row_reasons: Words of such a row → why it is not used, as somebody says.
        repeated: Row that prints another one again → that row.
        codes: Negative numbers that stand for what is withheld.
        left_as: The name by which somebody leaves it out; empty of one that is read.
        number: Which of the tables of counts of its sheet it is, from 1.
        sheet_place: The place of its sheet, where each sheet is about one.
    """

    grid: Grid
    region: Region
    headers: Mapping[int, tuple[str, ...]]
    names: Names
    counts: tuple[int, ...]
    statistics: tuple[int, ...]
    left_out: Mapping[int, str]
    place: int | None
    withheld: BoolArray
    rows: tuple[Path, ...]
    are_kinds: bool
    not_chosen: Mapping[int, NDArray[np.intp]] = field(default_factory=dict)
    shares: tuple[Share, ...] = ()
    printed: tuple[int, ...] = ()
    left_rows: tuple[tuple[str, int], ...] = ()
    row_reasons: Mapping[str, str] = field(default_factory=dict)
    repeated: Mapping[int, int] = field(default_factory=dict)
    codes: frozenset[float] = frozenset()
    left_as: str = ""
    number: int = 0
    sheet_place: SheetPlace | None = None

    @property
    def parents(self) -> list[int]:
        """Return the columns that say what a place is part of, the largest first."""
        chain: list[int] = []
        at = self.place
        while at in self.names.parents and self.names.parents[at] not in chain:
            at = self.names.parents[at]
            chain.insert(0, at)
        return chain

    @property
    def only_place(self) -> str:
        """Return what stands for the place of all rows, where they name none."""
        return ONE_PLACE if self.sheet_place is None else self.sheet_place.name

    @cached_property
    def place_paths(self) -> list[Path]:
        """Return the words of the place of each row, with what it is part of before it."""
        if not self.names.is_long:
            return list(self.rows)
        if self.place is None:
            return [(self.only_place,)] * len(self.region.body)
        columns = [*self.parents, self.place]
        texts, number = self.grid.combinations(self.region.body, columns)
        paths = [tuple(text for text in row if text) or (NAMELESS,) for row in texts]
        return [paths[i] for i in number.tolist()]

    @cached_property
    def place_texts(self) -> list[str]:
        """Return what stands for the place of each row."""
        texts = {path: PART_OF.join(path) for path in dict.fromkeys(self.place_paths)}
        return [texts[path] for path in self.place_paths]

    def header(self, at: int) -> str:
        """Return the words of a column as they are named in keys and flags."""
        return column_names(self.headers)[at]
