"""A sheet as it is read: its tables, and a role for every cell."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recon_cli.sources.read.choices import NO_CHOICES, NUMBERS, Choices
from recon_cli.sources.read.grid import MOST_CELLS, Grid
from recon_cli.sources.read.numbers import ENGLISH, GERMAN
from recon_cli.sources.read.regions import Region, Regions
from recon_cli.sources.read.roles import Role, fill_roles
from recon_cli.sources.read.row_labels import filled_down
from recon_cli.sources.read.table_reader import TableReader
from recon_cli.sources.read.table_reading import TableReading
from recon_cli.sources.tabular.sheet import Sheet


@dataclass(frozen=True)
class Reading:
    """A sheet as it is read.

    Attributes:
        ambiguous: A number that may be thousands or decimals, if nothing decides which.
    """

    grid: Grid
    tables: tuple[TableReading, ...]
    ambiguous: str = ""

    @classmethod
    def of(cls, sheet: Sheet, choices: Choices = NO_CHOICES, most: int = MOST_CELLS) -> Reading:
        """Read a sheet by the choices alone.

        If no columns of counts are chosen, all numbers are counts except those that name rows.

        Args:
            most: Most cells to read.
        """
        grid = grid_as_said(sheet, choices, most)
        reading = cls(grid, _tables(grid, choices))
        for other in grid.alternatives if not choices.thousands else ():
            rival = cls(grid.under(other), _tables(grid.under(other), choices))
            reading = replace(reading, ambiguous=ambiguous_number(reading, rival))
        return reading

    @cached_property
    def roles(self) -> NDArray[np.uint8]:
        """(rows × columns) The role of each cell; only empty cells are blank."""
        grid = self.grid
        roles = np.zeros(grid.shape, dtype=np.uint8)
        filled = grid.filled
        above = min((min((*t.region.header, *t.region.body)) for t in self.tables), default=0)
        rows = np.arange(grid.shape[0])
        roles[filled] = Role.NOTE
        first = int(np.argmax(filled.any(axis=1))) if filled.any() else 0
        if above > first:
            is_title = filled & ((rows >= first) & (rows < above))[:, None]
            roles[is_title] = Role.TITLE
        for table in self.tables:
            own = roles.copy()
            fill_roles(own, grid, table)
            within = slice(*(table.region.within or (0, grid.shape[1])))
            roles[:, within] = own[:, within]
        roles[~filled] = Role.BLANK
        return roles

    def cells(self) -> dict[Role, int]:
        """Count how many cells have each role."""
        found = np.bincount(self.roles.ravel(), minlength=len(Role))
        return {role: int(found[role]) for role in Role if found[role]}


def grid_as_said(sheet: Sheet, choices: Choices, most: int = MOST_CELLS) -> Grid:
    """Read the cells of a sheet, with numbers and zeros printed as chosen."""
    grid = Grid.of(sheet, most).with_zeros(choices.zeros)
    if choices.thousands:
        grid = grid.under(GERMAN if choices.thousands == "." else ENGLISH)
    return replace(grid, in_parentheses=choices.parentheses == NUMBERS)


def _tables(grid: Grid, choices: Choices) -> tuple[TableReading, ...]:
    regions = tables_of(grid, choices)
    return tuple(TableReader(*each, choices).table() for each in regions)


def tables_of(grid: Grid, choices: Choices) -> list[tuple[Grid, Region]]:
    """Return the tables of a sheet, with labels repeated in each row, and their regions."""
    # Blanks are nobody in a table, and no numbers around it.
    regions = Regions.of(grid.with_zeros(grid.zeros - {""}), choices.header)
    return [(filled_down(region.of(grid), region), region) for region in regions.tables]


def ambiguous_number(reading: Reading, rival: Reading, passed_over: Collection[int] = ()) -> str:
    """Return a used number that the rival's convention reads differently; empty if there is none.

    Args:
        passed_over: Columns in which the other convention would give fractions of people.
    """
    other = rival.grid.convention
    for table in reading.tables:
        grid, used = table.grid, [*table.counts, *table.printed]
        used += [each.line for each in table.shares]
        used = [at for at in used if at not in passed_over]
        texts, _ = grid.coded(np.ix_(table.region.body, np.array(used, dtype=np.intp)))
        for text in sorted(texts):
            one, two = grid.convention.number(text), other.number(text)
            if one is not None and two is not None and one.value != two.value:
                return text
    return ""
