"""A sheet as an office lays it out → a row a place and a column a cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from recon_cli.sources.formats.layout.codes import place_codes
from recon_cli.sources.formats.layout.columns import Columns
from recon_cli.sources.formats.layout.nesting import nest
from recon_cli.sources.formats.layout.rows import place_rows
from recon_cli.sources.formats.layout.words import PART_OF, WHOLE, Path, without_parts
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import Sheet
from recon_cli.sources.tabular.sheet import HEAD_ROWS, ROW


@dataclass(frozen=True)
class Layout:
    """A sheet whose places have been told.

    Attributes:
        sheet: The rows with counts, under their own numbers.
        headers: The words of each column's header, outermost first.
        place: The column that has, for each row, what stands for its place.
        counts: The columns of counts.
        levels: What the places are called, the largest first; as many as could be told.
        names: Of places with codes: what stands for the place → its name.
        notes: What was passed over.
        questions: What could not be told, and how it was taken.
    """

    sheet: Sheet
    headers: tuple[Path, ...]
    place: int
    counts: tuple[int, ...]
    levels: tuple[str, ...]
    names: Mapping[str, str]
    notes: tuple[str, ...]
    questions: tuple[str, ...]


def lay_out(sheet: Sheet, mapping: FileMapping) -> Layout:
    """Tell header, columns and places of a sheet.

    Every row of counts gets the path of its place, the largest first. Whatever could be two things
    is a question, and what contradicts itself is refused.

    Raises:
        SourceError: They cannot be told, or a row is none of place, heading, total and note.
    """
    columns = Columns.of(sheet, mapping)
    nested = nest(columns, place_rows(columns))
    titles = [PART_OF.join(map(without_parts, row.path)) or WHOLE for row in nested.rows]
    codes = place_codes(columns, nested.rows)
    places = [codes.get(row.path, WHOLE) for row in nested.rows] if codes else titles
    names = {
        code: title for code, title in zip(places, titles, strict=True) if codes and code != title
    }
    texts = {
        str(at): [row.cells[at].strip() or None for row in nested.rows] for at in range(sheet.width)
    }
    frame = pl.DataFrame(
        {ROW: [row.number for row in nested.rows], **texts, str(columns.place): places},
        schema={ROW: pl.UInt32} | dict.fromkeys(texts, pl.String),
    )
    head = tuple(tuple(cell or "" for cell in row[1:]) for row in frame.head(HEAD_ROWS).rows())
    return Layout(
        Sheet(sheet.label, head, sheet.width, lambda: iter([frame])),
        columns.headers,
        columns.place,
        columns.counts,
        columns.nouns,
        names,
        nested.notes,
        nested.questions,
    )
