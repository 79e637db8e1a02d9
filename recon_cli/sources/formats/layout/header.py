"""The header of a sheet that an office lays out: which rows, and what they say of each column."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from recon_cli.errors import SourceError
from recon_cli.sources.formats.header import is_number
from recon_cli.sources.formats.layout.words import Path, Row, clean, is_count
from recon_cli.sources.formats.place import is_place_header
from recon_cli.sources.tabular import Sheet


def header_rows(
    sheet: Sheet, rows: Sequence[tuple[int, Row]], chosen: Sequence[int]
) -> tuple[int, ...]:
    """Numbers of the header rows: those chosen, or those above the first row of counts."""
    if chosen:
        known = [number for number, _ in rows]
        if not set(chosen) <= set(known):
            raise SourceError(
                f"{sheet.label}: mapping.header: row {next(n for n in chosen if n not in known)} "
                "is empty"
            )
        return tuple(sorted(chosen))
    at = [number for number, _ in rows]
    cells = dict(rows)
    numeric = _numeric_columns(sheet, [row for _, row in rows])
    counted = [n for n in at if _has_counts(cells[n], numeric)]
    first = next((n for n in counted if not _is_header(sheet, cells[n], numeric)), None)
    first = counted[0] if first is None and counted else first
    if first is None or first == at[0]:
        raise SourceError(
            f"{sheet.label}: cannot tell header and counts apart; give the numbers of the header "
            "rows: mapping.header (`recon init --header 1`)"
        )
    above = at[: at.index(first)]
    # A heading above the first places is no header: it fills one cell, that of the place.
    while len(above) > 1 and _is_alone(sheet, above[-1], cells[above[-1]]):
        above.pop()
    found = [above[-1]]
    for number in reversed(above[:-1]):
        if number != found[0] - 1 or _is_alone(sheet, number, cells[number]):
            break
        if _first_filled(cells[number]) == _first_filled(cells[found[0]]) == 0 and not any(
            top <= number - 1 and found[0] - 1 <= bottom and left == 0
            for top, left, bottom, _ in sheet.merges
        ):
            break
        found.insert(0, number)
    return tuple(found)


def _numeric_columns(sheet: Sheet, rows: Sequence[Row]) -> list[int]:
    """Columns most of whose cells are numbers or stand for them."""
    found = []
    for at in range(sheet.width):
        filled = [row[at].strip() for row in rows if row[at].strip()]
        numbers = sum(is_number(cell) for cell in filled)
        if numbers and sum(map(is_count, filled)) * 2 >= len(filled):
            found.append(at)
    return found


def _has_counts(row: Row, numeric: Sequence[int]) -> bool:
    filled = [row[at].strip() for at in numeric if row[at].strip()]
    counts = [cell for cell in filled if is_count(cell)]
    return 2 * len(counts) >= len(numeric) and any(map(is_number, counts))


def _is_header(sheet: Sheet, row: Row, numeric: Sequence[int]) -> bool:
    """Whether the numbers of a row are those of a header: years of age, of school."""
    words = [row[at].strip() for at in range(sheet.width) if at not in numeric and row[at].strip()]
    return all(map(is_place_header, words)) and _count_up([row[at].strip() for at in numeric])


def _count_up(cells: Sequence[str]) -> bool:
    """Whether cells are numbers that follow each other, once or again and again."""
    numbers = list(dict.fromkeys(cell for cell in cells if cell.isdigit()))
    return len(numbers) > 1 and all(
        int(two) == int(one) + 1 for one, two in itertools.pairwise(numbers)
    )


def _is_alone(sheet: Sheet, number: int, row: Row) -> bool:
    """A title or a heading: one cell, the first of the row, or one over all columns."""
    filled = [at for at, cell in enumerate(row) if cell.strip()]
    if len(filled) != 1:
        return False
    if any(
        top <= number - 1 <= bottom and left == filled[0] and right - left >= 1 and left > 0
        for top, left, bottom, right in sheet.merges
    ):
        return False
    return filled[0] == 0 or not sheet.merges or filled[0] == 0


def _first_filled(row: Row) -> int:
    return next((at for at, cell in enumerate(row) if cell.strip()), len(row))


def header_words(
    sheet: Sheet, rows: Sequence[tuple[int, Row]], header: Sequence[int]
) -> tuple[Path, ...]:
    """The words of each column's header: a merged cell is of all its columns.

    Without merged cells a word of an upper row goes on to the right as far as there is something
    below it and no other word.
    """
    cells = dict(rows)
    grid = {
        number: [clean(cell) for cell in cells.get(number, ("",) * sheet.width)]
        for number in header
    }
    covered: set[tuple[int, int]] = set()
    for top, left, bottom, right in sheet.merges:
        inside = [n for n in header if top <= n - 1 <= bottom]
        if not inside:
            continue
        word = grid[inside[0]][left] if top == inside[0] - 1 else ""
        for number in inside:
            for at in range(left, min(right, sheet.width - 1) + 1):
                grid[number][at] = word if number == inside[0] else ""
                covered.add((number, at))
    merged_rows = {n for n, _ in covered}
    found: list[list[str]] = [[] for _ in range(sheet.width)]
    for i, number in enumerate(header):
        word, start = "", -1
        for at in range(sheet.width):
            own = grid[number][at]
            if own:
                word, start = own, at
            elif number in merged_rows or i == len(header) - 1:
                word = ""
            below = any(grid[n][at] for n in header[i + 1 :])
            if own or (word and below and at > start):
                found[at].append(own or word)
    return tuple(tuple(path) for path in found)
