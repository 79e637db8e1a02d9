"""The published tables of one geounit: what is above zero, what is zero, what is not published."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from recon_cli.coverage import CoveragePattern
from recon_cli.report.view import CellLine, TableView
from recon_cli.schema import Release, Table
from recon_cli.schema.description import describe_cell, describe_condition


@dataclass(frozen=True)
class GeounitTables:
    """The tables of one geounit.

    Attributes:
        shown: Those with a cell above zero.
        empty: Names of those that are all zero.
        absent: Names of those that the schema has for the level, not published here.
    """

    shown: tuple[TableView, ...]
    empty: tuple[str, ...]
    absent: tuple[str, ...]


def published_tables(
    release: Release,
    pattern: CoveragePattern,
    counts: Mapping[tuple[str, int], tuple[int, int | None]],
    used: Collection[str],
) -> GeounitTables:
    """The tables of one geounit.

    Args:
        pattern: Which cells are published for it.
        counts: Its counts above zero, by table and cell number, with None; of statements the
            least and the greatest true count.
        used: Names of the tables that records were made from.
    """
    shown: list[TableView] = []
    empty: list[str] = []
    absent: list[str] = []
    for table in release.tables:
        numbers = pattern.cells.get(table.name, ())
        if pattern.level not in table.levels:
            continue
        if not numbers:
            absent.append(table.name)
            continue
        common = _common(release, table)
        lines = tuple(
            CellLine(
                code=table.codes[number - 1],
                words=describe_cell(release, table.cells[number - 1], common),
                count=counts[table.name, number][0],
                high=counts[table.name, number][1],
            )
            for number in numbers
            if (table.name, number) in counts
        )
        if not lines and len(numbers) == len(table.cells):
            empty.append(table.name)
            continue
        shown.append(
            TableView(
                name=table.name,
                about=_about(release, table, common),
                lines=lines,
                zeros=len(numbers) - len(lines),
                withheld=len(table.cells) - len(numbers),
                is_used=table.name in used,
            )
        )
    return GeounitTables(tuple(shown), tuple(empty), tuple(absent))


def _common(release: Release, table: Table) -> tuple[int, ...]:
    """The features on which all cells of a table agree."""
    return tuple(
        f for f in range(len(release.features)) if len({cell.masks[f] for cell in table.cells}) == 1
    )


def _about(release: Release, table: Table, common: tuple[int, ...]) -> str:
    masks = table.cells[0].masks
    words = [describe_condition(release.features[f], masks[f]) for f in common]
    return ", ".join(word for word in words if word)
