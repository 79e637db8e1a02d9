"""Published tables: each cell is a predicate over the features and, rarely, a tally."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from recon_cli.errors import SchemaError


class Cell(NamedTuple):
    """One published cell.

    Attributes:
        number: Position in the published table, from 1.
        masks: For every feature of the release, in order, the values that count.
        tally: Index of the multi-select feature whose picked options are counted instead of
            people (``races tallied``: a two-race person counts twice), or None.
    """

    number: int
    masks: tuple[int, ...]
    tally: int | None = None


@dataclass(frozen=True)
class Table:
    """One published table.

    Attributes:
        name: Short name (``P12A``).
        code: Cell-code pattern; its run of ``#`` is the zero-padded cell number (``P012A###``).
        levels: Geographic levels that it is published for.
        cells: In published order.
        title: What people call it; may be empty.
    """

    name: str
    code: str
    levels: tuple[str, ...]
    cells: tuple[Cell, ...]
    title: str = ""

    @property
    def called(self) -> str:
        """Its title, and beside it the short name."""
        return f"{self.title} ({self.name})" if self.title else self.name

    def __post_init__(self) -> None:
        if len(re.findall("#+", self.code)) != 1:
            raise SchemaError(
                f"table {self.name!r}: code {self.code!r} needs exactly one run of '#' "
                "for the cell number"
            )
        if [cell.number for cell in self.cells] != list(range(1, len(self.cells) + 1)):
            raise SchemaError(f"table {self.name!r}: cells are not numbered 1, 2, 3, …")
        if not self.cells:
            raise SchemaError(f"table {self.name!r} has no cells")
        if not self.levels:
            raise SchemaError(f"table {self.name!r} is published for no level")

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """The published code of every cell, in order."""
        before, run, after = re.split("(#+)", self.code)
        return tuple(f"{before}{cell.number:0{len(run)}}{after}" for cell in self.cells)
