"""Any table with a row a place and a column a cell: an office's spreadsheet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from recon_cli.sources.documents import Document
from recon_cli.sources.formats.codes import table_of
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet, Format
from recon_cli.sources.formats.header import header_rows, joined_headers
from recon_cli.sources.formats.layout import lay_out
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.formats.place import GEOIDS, from_geo_id, guessed_place, is_code_header
from recon_cli.sources.tabular import Sheet, read_sheet

_LABEL: Final = re.compile(r"!!|;|:")


def _recognises(_document: Document) -> bool:
    """Whatever no other format is."""
    return True


def _read(document: Document, _beside: Sequence[Document], mapping: FileMapping) -> CountSheet:
    """Columns by code, by label, or by ``mapping.columns``.

    Where the places have geoids a column of words is passed over, unless its header is a code. A
    sheet of names is laid out as a whole.
    """
    sheet = read_sheet(document)
    flat = None if document.is_workbook or mapping.parent else _flat(sheet, mapping)
    return _laid_out(sheet, mapping) if flat is None else flat


def _flat(sheet: Sheet, mapping: FileMapping) -> CountSheet | None:
    """Text with a column of geoids, which may have any number of rows."""
    rows = header_rows(sheet, mapping.header)
    words = joined_headers(sheet, rows)
    headers = tuple(": ".join(each) for each in words)
    place = headers.index(mapping.place) if mapping.place in headers else guessed_place(headers)
    if place is None:
        return None
    body = sheet.head[rows[-1] + 1 :]
    if headers[place].casefold() not in GEOIDS or not any(row[place].isalnum() for row in body):
        return None
    counts = [
        i
        for i, header in enumerate(headers)
        if i != place
        and (
            header in mapping.columns
            or table_of(words[i][-1] if words[i] else "") is not None
            or not (is_code_header(header) or _is_words([row[i] for row in body]))
        )
    ]
    return CountSheet(
        sheet, rows[-1] + 1, headers, (place,), from_geo_id(place), _columns(words, counts)
    )


def _laid_out(sheet: Sheet, mapping: FileMapping) -> CountSheet:
    """A sheet of names, whose rows say in many ways what is part of what."""
    found = lay_out(sheet, mapping)
    return CountSheet(
        found.sheet,
        0,
        tuple(": ".join(each) for each in found.headers),
        (found.place,),
        from_geo_id(found.place),
        _columns(found.headers, found.counts),
        levels=found.levels,
        names=found.names,
        notes=found.notes,
        questions=found.questions,
    )


def _columns(words: Sequence[Sequence[str]], counts: Sequence[int]) -> tuple[CountColumn, ...]:
    return tuple(
        CountColumn(
            i,
            ": ".join(words[i]),
            words[i][-1] if words[i] else None,
            *_table_of(words[i]),
            label_parts(": ".join(words[i])),
        )
        for i in counts
    )


def _table_of(words: Sequence[str]) -> tuple[str | None, int | None]:
    """Table and number that the last words of a header are a code of."""
    return table_of(words[-1] if words else "") or (None, None)


def label_parts(label: str) -> tuple[str, ...]:
    """The words of a label, outermost first.

    >>> label_parts(" !!Total:!!Male:!!Under 5 years"), label_parts("Males: 65 and over")
    (('Total', 'Male', 'Under 5 years'), ('Males', '65 and over'))
    """
    return tuple(part.strip() for part in _LABEL.split(label) if part.strip())


def _is_words(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return not filled or not any(cell[0].isdigit() for cell in filled)


WIDE: Final = Format("wide", "a row a place, a column a cell", _recognises, _read)
