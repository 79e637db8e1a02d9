"""Sheets as a mapping reads them, with the relations that their numbers show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.formats.sheet import choices_of
from recon_cli.sources.read.crossed import value_sums
from recon_cli.sources.read.reading import Reading
from recon_cli.sources.read.relations import Relations
from recon_cli.sources.read.table_reading import TableReading
from recon_cli.sources.tables import documents_with_counts
from recon_cli.sources.tabular import documents_of_sheets, read_sheet

#: Cells of a sheet that are looked at; what follows in a longer one is read alike.
_MOST_CELLS: Final = 60_000


def replayed_sheets(
    paths: Sequence[Path | str], mapping: FileMapping
) -> Iterator[tuple[str, Reading]]:
    """Yield each sheet that a mapping reads, with its name.

    Args:
        paths: Files of no known format.
        mapping: What is said of them.
    """
    for path in map(Path, paths):
        for each in documents_with_counts(path)[0]:
            for document in documents_of_sheets(each, mapping.sheet):
                name = document.sheet or document.name
                said = choices_of(mapping.of_file(document.name).of_file(name))
                reading = Reading.of(read_sheet(document), said, _MOST_CELLS)
                tables = tuple(map(_with_relations, reading.tables))
                yield name, replace(reading, tables=tables)


def _with_relations(table: TableReading) -> TableReading:
    """Return a table that was said to be so, with the relations among its counts."""
    numeric = [*table.counts, *table.statistics]
    inner = replace(table.region, numeric=np.array(sorted(numeric), dtype=np.intp))
    names = table.names
    if not table.counts:
        return table
    if names.is_long:
        values = (
            each
            for count in table.counts
            for each in value_sums(table.grid, inner, names.keys, count, table.withheld)
        )
        return replace(table, values=tuple(values))
    key = names.keys[-1] if names.keys else None
    return replace(table, relations=Relations.of(table.grid, inner, table.withheld, key=key))
