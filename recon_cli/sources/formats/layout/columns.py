"""The header of a sheet, and what its columns are: counts, places, their parents and codes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.formats.header import is_number
from recon_cli.sources.formats.layout.words import Path, Row, clean, is_count
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.formats.place import is_code_header, is_place_header, place_noun
from recon_cli.sources.tabular import Sheet
from recon_cli.statement.suppression import is_marker

#: More rows are no sheet that an office lays out.
_MOST_ROWS: Final = 200_000


@dataclass(frozen=True)
class Columns:
    """A sheet, and what its columns are.

    Attributes:
        rows: Number and cells of every row with text below the header; leading blanks are indents.
        headers: The words of each column's header, outermost first.
        parents: Columns that say what they are part of, the largest first.
        codes: The column with the codes of each of ``(*parents, place)``, where there is one.
    """

    sheet: Sheet
    rows: tuple[tuple[int, Row], ...]
    headers: tuple[Path, ...]
    counts: tuple[int, ...]
    place: int
    parents: tuple[int, ...]
    codes: tuple[int | None, ...]

    @classmethod
    def of(cls, sheet: Sheet, mapping: FileMapping) -> Columns:
        """Tell the columns of a sheet.

        Raises:
            SourceError: They cannot be told.
        """
        rows = _all_rows(sheet)
        header = _header_rows(sheet, rows, mapping.header)
        headers = _header_words(sheet, rows, header)
        body = [(number, cells) for number, cells in rows if number > header[-1]]
        body = _with_merged_words(sheet, body)
        if not body:
            raise SourceError(f"{sheet.label}: has a header and no rows below it")
        counts, words = _counts_and_words(sheet, headers, body, mapping)
        table = _Table(sheet, header[-1], headers, tuple(body))
        place, parents = _place_columns(table, words, mapping)
        codes = _code_columns((*parents, place), words, headers)
        counts = tuple(at for at in counts if at not in (place, *parents, *codes))
        if not counts:
            raise SourceError(f"{sheet.label}: expected columns of counts, found none")
        _refuse_merged_counts(sheet, counts, header[-1])
        return cls(sheet, tuple(body), headers, counts, place, parents, codes)

    @property
    def nouns(self) -> tuple[str, ...]:
        """What places are called, the largest first; empty where no header says it."""
        return tuple(place_noun(self.title(at)) for at in (*self.parents, self.place))

    def title(self, at: int) -> str:
        """The last word of a column's header."""
        return self.headers[at][-1] if self.headers[at] else ""


def _all_rows(sheet: Sheet) -> list[tuple[int, Row]]:
    rows: list[tuple[int, Row]] = []
    for batch in sheet.batches():
        if len(rows) + batch.height > _MOST_ROWS:
            raise SourceError(
                f"{sheet.label}: more than {_MOST_ROWS:,} rows of places with names; give them "
                "codes in a column 'geoid'"
            )
        rows += [(row[0], tuple(cell or "" for cell in row[1:])) for row in batch.rows()]
    return rows


def _with_merged_words(sheet: Sheet, body: Sequence[tuple[int, Row]]) -> list[tuple[int, Row]]:
    """Cells below the first of a range merged downwards have what it has."""
    if not sheet.merges:
        return list(body)
    cells = {number: list(row) for number, row in body}
    for top, left, bottom, _ in sheet.merges:
        first = cells.get(top + 1)
        if first is None or top == bottom:
            continue
        for number in range(top + 2, bottom + 2):
            if number in cells and not cells[number][left]:
                cells[number][left] = first[left]
    return [(number, tuple(row)) for number, row in cells.items()]


def _refuse_merged_counts(sheet: Sheet, counts: Sequence[int], header: int) -> None:
    for top, left, bottom, right in sheet.merges:
        if top < header:
            continue
        touched = [at for at in counts if left <= at <= right]
        if touched and (bottom > top or left in counts):
            raise SourceError(
                f"{sheet.where(top + 1, touched[0])}: merged cells among the counts: of which "
                "place or cell is the count? unmerge them"
            )


def _counts_and_words(
    sheet: Sheet,
    headers: Sequence[Path],
    body: Sequence[tuple[int, Row]],
    mapping: FileMapping,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Columns of counts, and columns of words or codes."""
    counts, words = [], []
    for at in range(sheet.width):
        filled = [row[at].strip() for _, row in body if row[at].strip()]
        header = ": ".join(headers[at])
        if not filled and header not in mapping.columns:
            continue
        numbers = sum(is_number(cell) for cell in filled)
        marks = sum(is_marker(cell) and not is_number(cell) for cell in filled)
        is_words = not numbers or 2 * (numbers + marks) < len(filled)
        is_code = bool(headers[at]) and is_code_header(headers[at][-1])
        zeros = sum(cell.isdigit() and len(cell) > 1 and cell[0] == "0" for cell in filled)
        if header in mapping.columns:
            counts.append(at)
        elif header == mapping.place or header in mapping.parent:
            words.append(at)
        elif is_words and marks == len(filled) and headers[at]:
            counts.append(at)
        elif is_words or is_code or zeros:
            words.append(at)
        else:
            counts.append(at)
    return tuple(counts), tuple(words)


@dataclass(frozen=True)
class _Table:
    """A sheet, the last row and the words of its header, and the rows below it."""

    sheet: Sheet
    header: int
    headers: tuple[Path, ...]
    body: tuple[tuple[int, Row], ...]

    def changes(self, at: int) -> int:
        """How often a column has another word than above: seldom in that of the parents."""
        words = [row[at].strip() for _, row in self.body if row[at].strip()]
        return sum(one != two for one, two in itertools.pairwise(words))

    def named(self, header: str, key: str) -> int:
        """The column with a header, or with its last word.

        Raises:
            SourceError: There is none, or there are several.
        """
        whole = [at for at, words in enumerate(self.headers) if ": ".join(words) == header]
        found = whole or [at for at, words in enumerate(self.headers) if words[-1:] == (header,)]
        if len(found) == 1:
            return found[0]
        shown = ", ".join(repr(": ".join(words)) for words in self.headers if words)
        many = f"{len(found)} columns" if found else "no column"
        raise SourceError(
            f"{self.sheet.where(self.header)}: {many} {header!r} ({key}); found {shown}"
        )


def _place_columns(
    table: _Table, words: Sequence[int], mapping: FileMapping
) -> tuple[int, tuple[int, ...]]:
    """The column of places, and those of what they are part of, the largest first."""
    headers = table.headers
    distinct = {at: len({row[at].strip() for _, row in table.body}) for at in range(len(headers))}
    parents = tuple(table.named(each, "mapping.parent") for each in mapping.parent)
    if mapping.place is not None:
        return table.named(mapping.place, "mapping.place"), parents
    last = {at: headers[at][-1] if headers[at] else "" for at in words}
    codes = [at for at in words if is_code_header(last[at])]
    texts = [at for at in words if at not in codes and at not in parents]
    likely = sorted((at for at in texts if is_place_header(last[at])), key=table.changes)
    if len(likely) > 1 and not parents:
        parents = tuple(likely[:-1])
    candidates = likely or (texts if len(texts) == 1 else [])
    if not candidates and texts and distinct[texts[0]] == len(table.body):
        candidates = texts[:1]
    if not candidates and codes and not texts:
        candidates = codes[-1:]
    if not candidates:
        shown = ", ".join(repr(": ".join(headers[at])) for at in texts or range(len(headers)))
        raise SourceError(
            f"{table.sheet.where(table.header)}: which of the columns {shown} has the places? say "
            "mapping.place (`recon init --place HEADER`), and what they are part of with "
            "mapping.parent (`recon init --parent HEADER`)"
        )
    return max(candidates, key=table.changes), parents


def _code_columns(
    chosen: Sequence[int], words: Sequence[int], headers: Sequence[Path]
) -> tuple[int | None, ...]:
    """For each column of places the one with its codes."""
    titles = {at: headers[at][-1] if headers[at] else "" for at in {*chosen, *words}}
    codes = [at for at in words if is_code_header(titles[at])]
    nouns = {at: place_noun(title) for at, title in titles.items()}
    found: list[int | None] = [
        next((code for code in codes if nouns[code] and nouns[code] == nouns[at]), None)
        for at in chosen
    ]
    left = [code for code in codes if code not in (*found, *chosen)]
    if found[-1] is None and len(left) == 1 and not any(found[:-1]):
        found[-1] = left[0]
    return tuple(found)


# --- the header ---------------------------------------------------------------------------------


def _header_rows(
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
    counted = [n for n in at if _counts_in(cells[n], numeric)]
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


def _counts_in(row: Row, numeric: Sequence[int]) -> bool:
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
    return filled[0] == 0 or not sheet.merges


def _first_filled(row: Row) -> int:
    return next((at for at, cell in enumerate(row) if cell.strip()), len(row))


def _header_words(
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
