"""Refusals of rows of a sheet, each with its place and a remedy."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.schema import Release
from recon_cli.sources.cells import CellIndex
from recon_cli.sources.formats.count_sheet import CountSheet, cell_text
from recon_cli.sources.formats.header import is_number
from recon_cli.sources.tabular.sheet import ROW
from recon_cli.sources.tabular.text import DELIMITERS
from recon_cli.sources.tidy_file import ALL_PLACES, MAX_COUNT

#: Texts in the place column of a row of totals.
ALL_PLACES_SPELLED: Final = tuple(
    spelled for word in ALL_PLACES for spelled in (word, word.title(), word.upper())
)
#: Groups of three digits; the pattern's first group is their separator.
THOUSANDS: Final = re.compile(r"\d{1,3}([.,' \u00a0\u202f])\d{3}(\1\d{3})*")
DECIMAL: Final = re.compile(r"\d+[.,]\d+%?")
#: Most cells that a note below the counts fills.
_MOST_OF_A_NOTE: Final = 2


def refuse_long_notes(roles: CountSheet, rows: pl.DataFrame) -> None:
    """Refuse a row without place and counts, unless it fills a cell or two, as notes do."""
    cells = (cell_text(at).is_not_null() for at in range(roles.sheet.width))
    filled = rows.select(ROW, filled=pl.sum_horizontal(cells)).filter(
        pl.col("filled") > _MOST_OF_A_NOTE
    )
    if filled.height:
        row, cells_filled = filled.row(0)
        raise SourceError(
            f"{roles.sheet.where(row)}: {cells_filled} cells are filled, and there is "
            "neither a place nor a count in it; mend the row, or take it away"
        )


def refuse_quoted_rows(roles: CountSheet, unpublished: Sequence[str], rows: pl.DataFrame) -> None:
    """Refuse a row whose cells all stand in its first one: quotes were lost or added."""
    width = len(roles.headers)
    counts = [each.at for each in roles.counts]
    for row, text in rows.select(ROW, cell_text(0)).drop_nulls().iter_rows():
        for mark in DELIMITERS:
            cells = text.split(mark)
            said = [cells[at] for at in counts if len(cells) == width]
            said = [cell for cell in said if cell not in unpublished]
            if said and all(map(is_number, said)):
                raise SourceError(
                    f"{roles.sheet.where(row, 0)}: all {width} cells of the row stand in "
                    "this one, as if in quotes; take these away"
                )


def refuse_nameless_columns(roles: CountSheet, rows: pl.DataFrame) -> None:
    """Refuse a column without a header that is not empty: the headers have slipped."""
    for at, header in enumerate(roles.headers):
        if header or not rows[str(at)].null_count() < rows.height:
            continue
        filled = rows.select(ROW, text=cell_text(at)).drop_nulls()
        if filled.height:
            raise SourceError(
                f"{roles.sheet.where(int(filled[ROW][0]), at)}: {filled['text'][0]!r} in "
                "a column without a header: has a header been lost?"
            )


def refuse_place(roles: CountSheet, release: Release, row: Mapping[str, object]) -> None:
    """Refuse a row whose place is no geoid, with the likely reason."""
    geoid = row["geoid"]
    headers = [roles.headers[at] for at in roles.place]
    levels = release.geography.levels
    valid = ", ".join(f"{level.name} {level.digits}" for level in levels)
    hint = ""
    text = str(geoid or "")
    if re.fullmatch(r"\d{4}-\d\d-\d\d.*|\d{1,2}[-/.]\w{3}|\d{1,2}/\d{1,2}/\d{2,4}", text):
        hint = "; a spreadsheet has made it a date"
    elif re.fullmatch(r"\d[.,]\d+[eE]\+\d+", text):
        hint = "; a spreadsheet has shortened it"
    elif len(text) + 1 in [level.digits for level in levels] and text.isdigit():
        hint = "; was a leading zero lost?"
    elif not text.isalnum() or text in ALL_PLACES_SPELLED:
        hint = "; to leave such rows out, choose others: mapping.where or mapping.levels"
    else:
        hint = f", found {len(text)}; to leave such rows out: mapping.levels"
    raise SourceError(
        f"{roles.sheet.where(int(str(row[ROW])), roles.place[0], headers[0])}: "
        f"{geoid!r} is no geoid (characters: {valid}){hint}"
    )


def no_number(roles: CountSheet, at: int, row: Mapping[str, object]) -> str:
    """Return the refusal of a text in place of a count, with what to say if it is right."""
    text = str(row["text"] or "")
    header = roles.headers[at]
    where = roles.sheet.where(int(str(row[ROW])), at, header)
    if match := THOUSANDS.fullmatch(text):
        plain = text.replace(match[1], "")
        hint = f"if it is {plain}, say mapping.thousands: {match[1]!r}"
        if text.endswith(".000"):
            hint += f"; if it is {text.removesuffix('.000')}, write it so"
    elif DECIMAL.fullmatch(text):
        hint = f"if the column has no counts, leave it out: mapping.columns: {{{header!r}: null}}"
    else:
        hint = f"if it stands for a count that is not published: mapping.unpublished: [{text!r}]"
    return (
        f"{where}: geoid {row['geoid']}: expected a whole number from 0 to {MAX_COUNT}, "
        f"found {repr(text) if text else 'nothing'}; {hint}"
    )


def refuse_levels(
    roles: CountSheet,
    release: Release,
    index: CellIndex,
    rows: pl.DataFrame,
    columns: list[tuple[int, tuple[int, ...]]],
) -> None:
    """Refuse counts of a level at which the release does not publish their table."""
    by_digits = release.geography.by_digits
    found = rows.select(pl.col("geoid").str.len_bytes().unique()).to_series().sort()
    for digits, (at, ordinals) in itertools.product(found, columns):
        level = by_digits[digits].name
        for table in sorted({index.tables[index.table_of[each]] for each in ordinals}):
            levels = release.table_by_name[table].levels
            if level in levels:
                continue
            of_level = rows.filter(pl.col("geoid").str.len_bytes() == digits)
            where = roles.sheet.where(int(of_level[ROW][0]), at, roles.headers[at])
            raise SourceError(
                f"{where}: geoid {of_level['geoid'][0]}: table {table} of release "
                f"{release.name!r} is not published for a {level} (levels: "
                f"{', '.join(levels)}); to leave such rows out: mapping.levels: "
                f"[{', '.join(levels)}]"
            )
