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
    """The one place of a sheet, named after the sheet.

    Attributes:
        is_total: Whether the user says that the places of other sheets add up to it.
        is_apart: Whether the user says that they do not.
    """

    name: str
    is_total: bool = False
    is_apart: bool = False


@dataclass(frozen=True)
class Share:
    """A column of shares of one column of counts in another.

    Attributes:
        line: The column of shares.
        part: The column of the numerator.
        base: The column of the denominator.
        times: Factor of the share: 100 for a percentage, 1,000 for a rate per thousand.
    """

    line: int
    part: int
    base: int
    times: int = 100


@dataclass(frozen=True, kw_only=True)
class TableReading:
    """One table of a sheet.

    Attributes:
        grid: The cells, with labels repeated in each row to which they apply.
        headers: Column → its words, outermost first.
        names: The columns that name its rows.
        counts: Columns of counts.
        statistics: Columns of percentages, means and the like that are not used.
        left_out: Column → why it is not used.
        place: The column of places; None if its rows name none.
        withheld: (rows × columns of the grid) Numbers that a flag withdraws.
        rows: The words that name each row, outermost first.
        are_kinds: Whether its rows are kinds of what is counted, of one place.
        not_chosen: Column → the rows that are not read because of their text in it.
        shares: Columns that are shares of counts.
        printed: Columns of statistics that are used, as the user says.
        left_rows: Words and number of rows that are not used: percentages, or as the user says.
        row_reasons: Words of such a row → the user's reason not to use it.
        repeated: Row that repeats another row → that other row.
        codes: Negative numbers that stand for withheld counts.
        left_as: The name under which the user leaves it out; empty if it is read.
        number: Its number among the tables of counts of its sheet, from 1.
        sheet_place: The place of its sheet, if each sheet has one place.
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
        """Return the columns of places that enclose a place, the largest first."""
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
        """Return the words of the place of each row, after those of the places that enclose it."""
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
