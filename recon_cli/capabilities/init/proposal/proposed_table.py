"""One table of a sheet as its numbers propose to read it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial

from recon_cli.arrays import IntArray
from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.capabilities.init.proposal.crossed import ValueSum, numbers_by_line, numbers_of_rows
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.lattice import Lattice
from recon_cli.capabilities.init.proposal.relations import Relations
from recon_cli.sources.read.choices import NUMBERS, SaidSum
from recon_cli.sources.read.numbers import GERMAN
from recon_cli.sources.read.table_reading import TableReading


@dataclass(frozen=True, kw_only=True)
class ProposedTable(TableReading):
    """One table of a sheet, with the findings of its numbers and the statements of the user.

    Attributes:
        relations: Sums and shares among its columns, and among its rows.
        lattice: Features among the columns of counts.
        values: Sums among the values of the dimensions of a long table.
        questions: What the numbers leave open.
        said_counts: Columns that count some of the others' people, as the user says.
        taken_sums: Sums of columns that are taken for what they look like: total, then parts.
        said_apart: Columns that exclude each other, as the user says.
        said_sums: Sums that the user says, of this table or of several.
        counted_rows: Rows of a table of kinds, from 0, that count some of the others' people.
        counted_values: Names that the user says count some people; they may be values of any table.
        apart_values: Names that the user says exclude each other; they may be values of any table.
        rows_total: Rows that are the sums of those beside them, as the user says.
        rows_apart: Rows that exclude each other, as the user says.
    """

    relations: Relations
    lattice: Lattice
    values: tuple[ValueSum, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()
    said_counts: tuple[int, ...] = ()
    taken_sums: tuple[tuple[int, ...], ...] = ()
    said_apart: tuple[int, ...] = ()
    said_sums: tuple[SaidSum, ...] = ()
    counted_rows: tuple[int, ...] = ()
    counted_values: tuple[str, ...] = ()
    apart_values: tuple[str, ...] = ()
    rows_total: tuple[int, ...] = ()
    rows_apart: tuple[int, ...] = ()

    def numbers_of(self, lines: IntArray, own: Collection[int]) -> Intervals:
        """Return the counts of a long table: lines by combinations of the other keys.

        Args:
            lines: The line of each row, numbered from 0.
            own: The columns that name the lines.
        """
        beside = [at for at in self.names.keys if at not in own]
        position = self.grid.combinations(self.region.body, beside)[1]
        read = partial(numbers_of_rows, self.grid, self.region, withheld=self.withheld)
        return Intervals.beside(
            [numbers_by_line(read(count), lines, position) for count in self.counts]
        )


def said_texts(
    sheets: Iterable[ProposedTable], others: Iterable[ProposedTable] = ()
) -> dict[str, object]:
    """Return the keys of a mapping for the texts among counts, and for groups of digits.

    Args:
        sheets: Tables of no known format.
        others: Tables of known formats, of which only texts for zero are taken.
    """
    grids = [table.grid for table in sheets]
    mapping: dict[str, object] = {}
    if any(grid.convention == GERMAN for grid in grids):
        mapping["thousands"] = "."
    elif any(grid.alternatives for grid in grids):
        mapping["thousands"] = ","
    if any(grid.in_parentheses for grid in grids):
        mapping["parentheses"] = NUMBERS
    grids += [table.grid for table in others]
    if zeros := sorted(frozenset().union(*(grid.zeros for grid in grids))):
        mapping["zeros"] = zeros
    return mapping
