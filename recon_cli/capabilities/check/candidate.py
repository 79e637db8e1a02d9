"""A publication of a register that is a candidate: its tables, and the release without it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from recon_cli.schema import Cell, Release, Table
from recon_cli.schema.register import OF, digest_of, indistinct


def can_leave(release: Release, tables: Iterable[Table], cell: Cell) -> bool:
    """Test whether everybody in a cell could be somebody outside it, as far as some tables show.

    This holds if, for some feature, each value of the cell has a value outside it that no cell of
    ``tables`` and no structural zero distinguishes from it. Then those tables do not show that the
    cell counts anybody.
    """
    cells = [each for table in tables for each in table.cells]
    predicates = {each.masks for each in cells} | set(release.impossible)
    tallied = {each.tally for each in cells}
    return any(
        at not in tallied
        and all(
            group & ~cell.masks[at]
            for group in indistinct(feature, {masks[at] for masks in predicates})
            if group & cell.masks[at]
        )
        for at, feature in enumerate(release.features)
    )


def tables_of(release: Release, publication: str) -> tuple[str, ...]:
    """List the tables of one publication of a register."""
    return tuple(t.name for t in release.tables if t.name.partition(OF)[0] == publication)


def without_tables(release: Release, publication: str) -> Release:
    """Remove a publication from a composed release; features and places stay as they are."""
    left_out = tables_of(release, publication)
    return replace(
        release,
        tables=tuple(table for table in release.tables if table.name not in left_out),
        publications=tuple(name for name in release.publications if name != publication),
        digest=digest_of([release.digest, publication]),
    )
