"""Tables of known formats as sheets of a header and rows, of which a draft is made."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recon_cli.capabilities.init.lines import Part
from recon_cli.capabilities.init.proposal.proposal import propose
from recon_cli.capabilities.init.survey import counted_rows, texts_of
from recon_cli.capabilities.init.tables import TableFile
from recon_cli.sources.formats.count_sheet import CountSheet, cell_text
from recon_cli.sources.formats.normal_form import label_parts
from recon_cli.sources.read.choices import NO_CHOICES, Choices, column_names
from recon_cli.sources.read.grid import MOST_CELLS
from recon_cli.sources.tabular.sheet import Sheet, sheet_of_rows


def part_of(file: TableFile) -> Part:
    """Return the table of a file as its numbers propose to read it.

    For a known format it is certain which columns are places, dimensions and counts.
    """
    if file.table is not None:
        return Part(
            file.path,
            file.document,
            file.table,
            file.sheet.levels,
            {},
            is_sheet=True,
            number=file.number,
        )
    sheet, choices, called = plain_sheet(file.sheet, file.said)
    (table, *_) = propose(sheet, choices).tables
    published = file.sheet.counts[0].table or ""
    return Part(
        file.path,
        file.document,
        table,
        file.sheet.levels,
        called,
        is_sheet=False,
        published=published,
    )


def plain_sheet(
    roles: CountSheet, said: Choices = NO_CHOICES
) -> tuple[Sheet, Choices, dict[str, str]]:
    """Return a table of a known format as a sheet of a header and rows.

    Args:
        said: The user's totals and sums, and what excludes each other.

    Returns:
        The sheet; the roles of its columns; and for each header of a count its name in the format.
    """
    paths = [
        label_parts(roles.labels.get(each.header, "")) or each.parts or (each.header,)
        for each in roles.counts
    ]
    height = max(map(len, paths))
    dimensions = [each.name for each in roles.dimensions]
    rows = [
        ["place" if level == height - 1 else "", *_level(dimensions, level, height)]
        + [path[level] if level < len(path) else "" for path in paths]
        for level in range(height)
    ]
    for batch in counted_rows(roles):
        chosen = batch.select(
            pl.col("geoid").alias("place"),
            *(cell_text(each.words).alias(f"d{i}") for i, each in enumerate(roles.dimensions)),
            *(texts_of(roles, each.at).alias(f"c{i}") for i, each in enumerate(roles.counts)),
        )
        rows += [[cell or "" for cell in row] for row in chosen.drop_nulls("place").iter_rows()]
        if len(rows) * len(rows[0]) > MOST_CELLS:
            break
    sheet = sheet_of_rows(roles.sheet.label, rows)
    headers = column_names(dict(enumerate(paths)))
    called = {headers[at]: each.header for at, each in enumerate(roles.counts)}
    choices = Choices(
        header=tuple(range(1, height + 1)),
        place="place",
        dimension=tuple(dimensions),
        count=tuple(called),
        total=said.total,
        apart=said.apart,
        sums=said.sums,
        are_known=True,
    )
    return sheet, choices, called


def _level(names: Sequence[str], level: int, height: int) -> list[str]:
    return [name if level == height - 1 else "" for name in names]
