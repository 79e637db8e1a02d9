"""A sheet as an office lays it out → a row a place and a column a cell."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.sources.formats.layout.columns import Columns
from recon_cli.sources.formats.layout.nesting import nest
from recon_cli.sources.formats.layout.rows import PlaceRow, place_rows
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


def place_codes(columns: Columns, rows: Sequence[PlaceRow]) -> dict[Path, str]:
    """Path of a place → its code, beginning with that of its parent; empty without codes.

    Raises:
        SourceError: Some places have none, or have lost a zero.
    """
    own = columns.codes[-1]
    if own is None:
        return {}
    written: dict[Path, str] = {}
    for row in rows:
        for depth, at in enumerate(columns.codes[:-1], start=1):
            if at is not None and (code := row.cells[at].strip()):
                written.setdefault(row.path[:depth], code)
        if code := row.cells[own].strip():
            written[row.path] = code
    found: dict[Path, str] = {}
    for path in sorted({*written, *(row.path for row in rows)}, key=len):
        if path not in written:
            if path:
                number = next(row.number for row in rows if row.path == path)
                raise SourceError(
                    f"{columns.sheet.where(number, own, columns.title(own))}: {path[-1]!r} has no "
                    "code and other places have one; write it, or empty the column"
                )
            continue
        around = (path[:depth] for depth in range(len(path) - 1, -1, -1))
        outer = next((found[each] for each in around if each in found), "")
        code = written[path]
        found[path] = code if code.startswith(outer) else outer + code
    _refuse_lost_zeros(columns, sorted(found.values(), key=len), own)
    return found


def _refuse_lost_zeros(columns: Columns, codes: Sequence[str], at: int) -> None:
    if not all(code.isdigit() for code in codes):
        return
    for short, long in itertools.pairwise(sorted({len(code) for code in codes})):
        outer = {code[:short] for code in codes if len(code) > short}
        lost = [code for code in codes if len(code) == short and code not in outer]
        if long == short + 1 and lost:
            raise SourceError(
                f"{columns.sheet.label}: column {columns.title(at)!r}: codes of {short} and {long} "
                f"digits, {lost[0]} among them: was a leading zero lost? write codes as text"
            )
