"""Which tables a stage uses: what was asked for, as far as it is published."""

from __future__ import annotations

from dataclasses import dataclass

from recon_cli.coverage import Coverage
from recon_cli.errors import ConfigError
from recon_cli.schema import Release, Table


@dataclass(frozen=True)
class Selection:
    """The tables to use.

    Attributes:
        tables: In published order.
        unpublished: Names of those that a selection by level would have had too.
    """

    tables: tuple[Table, ...]
    unpublished: tuple[str, ...]


def select(release: Release, choice: str | tuple[str, ...] | None, coverage: Coverage) -> Selection:
    """The chosen tables that at least one geounit has.

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
