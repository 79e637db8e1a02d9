"""Coverage: which cells are published for which geounits, and what lies beside them.

An absent count is zero where its cell was published and unknown where it was not: coverage
distinguishes the two. See *coverage pattern* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from recon_cli.errors import ConfigError, SourceError
from recon_cli.plurals import counted
from recon_cli.schema import Cell, Release, Table

#: The file beside published tables with the law of each count.
PROTECTION: Final = "protection.yaml"
#: The list of all units beside tables; not ``.csv``, or it would be taken for counts.
UNIT_LIST: Final = "geounits.txt"
#: Pads the geoid of a unit that stands for unlisted ones; no other geoid has it.
UNLISTED: Final = "_"
#: Most columns that are named; more are only counted.
_NAMED: Final = 5


@dataclass(frozen=True)
class CoveragePattern:
    """The cells that are published for a geounit.

    Attributes:
        level: The level of the geounits that share the pattern.
        cells: Table name → numbers of its published cells, sorted. A table that is not named is
            not published.
        is_listed: False for a unit that stands for all unlisted units of a coarse geounit whose
            units may be incomplete (see `recon_cli.sources.listing`).
    """

    level: str
    cells: Mapping[str, tuple[int, ...]]
    is_listed: bool = True

    @classmethod
    def complete(cls, release: Release, level: str) -> CoveragePattern:
        """Return a pattern with every cell that the schema publishes for ``level``."""
        return cls(
            level,
            {
                table.name: tuple(range(1, len(table.cells) + 1))
                for table in release.tables
                if level in table.levels
            },
        )

    def published_cells(self, tables: Iterable[Table]) -> Iterator[tuple[Table, Cell]]:
        for table in tables:
            for number in self.cells.get(table.name, ()):
                yield table, table.cells[number - 1]

    def total_cell(self, release: Release) -> tuple[str, int] | None:
        """Return table and number of the first published cell that counts everybody, if any."""
        for name, numbers in self.cells.items():
            for number in numbers:
                cell = release.table_by_name[name].cells[number - 1]
                if cell.tally is None and cell.masks == release.full:
                    return name, number
        return None

    def check(self, release: Release) -> None:
        """Refuse tables or cells that ``release`` does not publish for the level.

        Raises:
            SourceError: A table or cell is refused; the message names it.
        """
        for name, numbers in self.cells.items():
            table = release.table_by_name.get(name)
            if table is None or self.level not in table.levels:
                raise SourceError(f"no table {name!r} at level {self.level!r} in {release.name!r}")
            if not numbers or list(numbers) != sorted(set(numbers)):
                raise SourceError(f"table {name!r}: published cells must rise, found {numbers}")
            if numbers[0] < 1 or numbers[-1] > len(table.cells):
                raise SourceError(f"table {name!r} has cells 1 to {len(table.cells)}")


Coverage = tuple[CoveragePattern, ...]


@dataclass(frozen=True)
class LeftOut:
    """Numbers of a published file that are not used, so that no result covers them.

    Attributes:
        sheet: The file or sheet that they stand in.
        column: Header of their column, or of the column that excludes their rows; empty for a
            whole sheet.
        reason: The officer's reason why they give nothing away; empty without one.
    """

    sheet: str
    column: str
    cells: int
    reason: str = ""

    def __post_init__(self) -> None:
        if self.cells < 1:
            raise ValueError(f"{self.sheet}, {self.column!r}: no number is left out")

    @property
    def called(self) -> str:
        """Return its name in messages.

        >>> LeftOut("pct.csv", "Well %", 3).called
        "'Well %' of pct.csv"
        """
        return f"{self.column!r} of {self.sheet}" if self.column else self.sheet


def enumerate_left_out(left_out: Iterable[LeftOut]) -> str:
    """List columns in a line, the first few by name."""
    named = list(dict.fromkeys(each.called for each in left_out))
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return ", ".join(named[:_NAMED]) + more


def count_left_out(left_out: Sequence[LeftOut]) -> str:
    """Count numbers that are not used, and list their columns.

    >>> count_left_out([LeftOut("pct.csv", "Well %", 3)])
    "3 numbers: 'Well %' of pct.csv"
    """
    cells = sum(each.cells for each in left_out)
    return f"{counted(cells, 'number')}: {enumerate_left_out(left_out)}"


@dataclass(frozen=True)
class Selection:
    """The tables to use, with their cells.

    Attributes:
        unpublished: Names of tables that a selection by level includes, but are not published.
    """

    tables: tuple[Table, ...]
    unpublished: tuple[str, ...]


def select(release: Release, choice: str | tuple[str, ...] | None, coverage: Coverage) -> Selection:
    """Select the chosen tables that at least one geounit has.

    Args:
        choice: As for `Release.select_tables`.

    Raises:
        ConfigError: A name is unknown, a named table is not published, or nothing is left.
    """
    wanted = release.select_tables(choice)
    published = {name for pattern in coverage for name in pattern.cells}
    used = tuple(table for table in wanted if table.name in published)
    missing = tuple(table.name for table in wanted if table.name not in published)
    named = isinstance(choice, tuple) or choice in release.table_by_name
    if missing and named:
        have = ", ".join(table.name for table in release.tables if table.name in published)
        raise ConfigError(
            f"tables: {missing[0]!r} is not published in these files (published: {have})"
        )
    if not used:
        raise ConfigError(f"tables: none of {choice!r} is published in these files")
    return Selection(used, missing)
