"""Rows of counts, with the place that columns, indents and headings say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.formats.layout.columns import Columns
from recon_cli.sources.formats.layout.words import (
    Path,
    Row,
    clean,
    is_all_places,
    is_count,
    is_total_of,
)

#: A note below the counts fills no more cells.
_MOST_OF_A_NOTE: Final = 2


@dataclass(frozen=True)
class PlaceRow:
    """A row of counts.

    Attributes:
        number: In the sheet, from 1.
        path: The place, and what it is part of, the largest first; empty for all together.
        is_total: Whether it names no place of its own below the last of its path.
    """

    number: int
    cells: Row
    path: Path
    is_total: bool = False


def place_rows(columns: Columns) -> tuple[PlaceRow, ...]:
    """The rows of counts, as far as they say themselves what they are of.

    Raises:
        SourceError: A row is neither counts of a place, nor heading, nor note.
    """
    own = columns.codes[-1]
    found = list(_rows(columns))
    often = Counter(row.path for row in found if not row.is_total)
    return tuple(
        replace(row, path=(*row.path[:-1], f"{row.path[-1]} ({row.cells[own].strip()})"))
        if own is not None and often[row.path] > 1 and row.cells[own].strip()
        else row
        for row in found
    )


def _rows(columns: Columns) -> Iterator[PlaceRow]:
    counted = [number for number, cells in columns.rows if _has_counts(columns, cells)]
    if not counted:
        raise SourceError(f"{columns.sheet.label}: expected rows with counts, found none")
    body = [(number, cells) for number, cells in columns.rows if number <= counted[-1]]
    is_indented = any(_indent(cells[columns.place]) for _, cells in body)
    above: list[str] = [""] * len(columns.parents)
    stack: list[tuple[int, str]] = []
    opened = 0
    for number, cells in columns.rows:
        name = clean(cells[columns.place])
        indent = _indent(cells[columns.place])
        if _has_counts(columns, cells):
            _refuse_words(columns, number, cells)
            _go_on(above, [clean(cells[at]) for at in columns.parents])
            if is_indented and not columns.parents:
                stack = [each for each in stack if each[0] < indent]
            outer = tuple(filter(None, above)) or tuple(word for _, word in stack)
            if is_indented and not columns.parents:
                stack.append((indent, name))
            yield _row(columns, number, cells, outer)
            is_total = is_all_places(name) or (outer and is_total_of(name, outer[-1]))
            if outer and not is_indented and is_total and number - 1 != opened:
                stack = []  # what follows the total of a heading is under none
        elif _repeats_header(columns, cells):
            continue
        elif name and number < counted[-1]:
            _refuse_heading(columns, number, name)
            stack = [*(each for each in stack if each[0] < indent), (indent, name)]
            opened = number
        else:
            _check_note(columns, number, cells)


def _go_on(above: list[str], words: Sequence[str]) -> None:
    """What a row is part of: an empty cell goes on with the one above it."""
    for level, word in enumerate(words):
        if word:
            above[level:] = [word, *[""] * (len(above) - level - 1)]


def _row(columns: Columns, number: int, cells: Row, outer: Path) -> PlaceRow:
    name = clean(cells[columns.place])
    if not name and not any(clean(cells[at]) for at in columns.parents):
        raise SourceError(
            f"{columns.sheet.where(number)}: has counts and no place; name the place, or say "
            "which column has it: mapping.place (`recon init --place HEADER`)"
        )
    return PlaceRow(number, cells, (*outer, name) if name else outer, is_total=not name)


def _has_counts(columns: Columns, cells: Row) -> bool:
    return any(cells[at].strip() for at in columns.counts)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip()) if text.strip() else 0


def _repeats_header(columns: Columns, cells: Row) -> bool:
    words = {clean(cell) for cell in cells} - {""}
    return len(words) > 1 and words <= {word for path in columns.headers for word in path}


def _refuse_words(columns: Columns, number: int, cells: Row) -> None:
    """A row of words is a second header, and there is a second table below it."""
    filled = [cells[at].strip() for at in columns.counts if cells[at].strip()]
    words = [cell for cell in filled if not is_count(cell)]
    if len(words) > len(filled) // 2 and len(words) > 1:
        raise SourceError(
            f"{columns.sheet.where(number)}: {words[0]!r} and {len(words) - 1} more words in "
            "columns of counts: if a second table begins here, give it a sheet of its own; if "
            f"they stand for counts, say mapping.unpublished: [{words[0]!r}]"
        )


def _refuse_heading(columns: Columns, number: int, name: str) -> None:
    if columns.parents:
        raise SourceError(
            f"{columns.sheet.where(number)}: {name!r} has no counts, and "
            f"{columns.title(columns.parents[0])!r} says what places are part of: is the row a "
            "heading? leave out one of the two"
        )


def _check_note(columns: Columns, number: int, cells: Row) -> None:
    words = {cell.strip() for cell in cells} - {""}
    if len(words) > _MOST_OF_A_NOTE:
        raise SourceError(
            f"{columns.sheet.where(number)}: {len(words)} cells are filled, and there is neither "
            "a place nor a count in it; mend the row, or take it away"
        )
