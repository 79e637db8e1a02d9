"""The page that shows each sheet as it was read, and the sheets that a mapping reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Final

import numpy as np

from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.capabilities.init.proposal.crossed import ValueSum, value_sums
from recon_cli.capabilities.init.proposal.lattice import Lattice
from recon_cli.capabilities.init.proposal.proposal import Proposal
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.capabilities.init.proposal.relations import Relations
from recon_cli.capabilities.init.sheet_view import sheet_view
from recon_cli.coverage import LeftOut
from recon_cli.page.html import render_page
from recon_cli.plurals import counted
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.formats.sheet import choices_of, sheet_as_said
from recon_cli.sources.read.reading import Reading
from recon_cli.sources.read.table_reading import TableReading
from recon_cli.sources.tables import documents_with_counts
from recon_cli.sources.tabular import documents_of_sheets
from recon_cli.spreadsheet import column_letters

#: Most cells of a sheet that are shown; the rest of a longer sheet is read alike.
_MOST_CELLS: Final = 60_000


def reading_page(
    readings: Iterable[tuple[str, Proposal]],
    title: str,
    questions: Sequence[OpenQuestion] = (),
    unread: Sequence[LeftOut] = (),
) -> str:
    """Render sheets as they were read, each cell by its role.

    Args:
        readings: The sheets, with their names.
        title: The name of the files.
        questions: Questions besides those of each sheet.
        unread: Sheets with numbers that are not read at all.
    """
    sheets = [sheet_view(reading, name) for name, reading in readings]
    of_sheets = [each for sheet in sheets for each in sheet.questions]
    others = [each for each in questions if each not in of_sheets]
    used, unused = sum(each.used for each in sheets), sum(each.unused for each in sheets)
    unused += sum(each.cells for each in unread)
    asked = sum(len(each.questions) for each in sheets) + len(others)
    summary = f"**{counted(used, 'cell')}** {'is' if used == 1 else 'are'} read as counts"
    summary += f", **{counted(unused, 'number')}** {'is' if unused == 1 else 'are'} not used."
    summary += f" **{counted(asked, 'question')}** asked." if asked else ""
    return render_page(
        "reading.html.j2",
        __package__,
        sheets=sheets,
        title=title,
        questions=others,
        unread=unread,
        summary=summary,
        column_letters=column_letters,
        counted=counted,
    )


def replayed_sheets(
    paths: Sequence[Path | str], mapping: FileMapping
) -> Iterator[tuple[str, Proposal]]:
    """Yield each sheet that a mapping reads, with its name.

    Args:
        paths: Files of no known format.
        mapping: How the files are read.
    """
    for path in map(Path, paths):
        for each in documents_with_counts(path)[0]:
            for document in documents_of_sheets(each, mapping.sheet):
                name = document.sheet or document.name
                said = choices_of(mapping.of_file(document.name).of_file(name))
                reading = Reading.of(sheet_as_said(document, said), said, _MOST_CELLS)
                tables = tuple(map(_with_relations, reading.tables))
                yield name, Proposal(reading.grid, tables, reading.ambiguous)


def _with_relations(table: TableReading) -> ProposedTable:
    """Return a table that a mapping reads, with the relations among its counts."""
    read = {each.name: getattr(table, each.name) for each in fields(table)}
    numeric = [*table.counts, *table.statistics]
    inner = replace(table.region, numeric=np.array(sorted(numeric), dtype=np.intp))
    keys = table.names.keys
    relations, values = Relations((), {}, {}, 1, frozenset()), list[ValueSum]()
    if table.counts and table.names.is_long:
        for count in table.counts:
            values += value_sums(table.grid, inner, keys, count, table.withheld)
    elif table.counts:
        key = keys[-1] if keys else None
        relations = Relations.of(table.grid, inner, table.withheld, key=key)
    lattice = Lattice((), ())
    return ProposedTable(**read, relations=relations, lattice=lattice, values=tuple(values))
