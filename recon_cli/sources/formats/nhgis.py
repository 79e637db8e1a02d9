"""IPUMS NHGIS: codes of its own, which only the codebook beside the file explains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet
from recon_cli.sources.formats.form import Format
from recon_cli.sources.formats.geoids import from_gisjoin
from recon_cli.sources.formats.header import required_row
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import first_line, read_sheet

_PLACE: Final = "GISJOIN"
_TABLE: Final = re.compile(r"Source code: +(\S+)\s+NHGIS code: +([A-Z0-9]{3,4})\b")
_CELL: Final = re.compile(r"^ +([A-Z0-9]{3,4}\d{3}): +(.*)$", re.MULTILINE)
_CONTEXT: Final = re.compile(r"^ +([A-Z][A-Z0-9_]*): +(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Codebook:
    """What a codebook says.

    Attributes:
        tables: NHGIS code → published name of the table.
        labels: Column → what it counts.
        context: Columns that are no counts.
    """

    tables: dict[str, str]
    labels: dict[str, str]
    context: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> Codebook:
        """Read the text of a codebook."""
        tables = {code: name for name, code in _TABLE.findall(text)}
        labels = {code: label.strip() for code, label in _CELL.findall(text) if code[:-3] in tables}
        context = {name for name, _ in _CONTEXT.findall(text) if name not in labels}
        return cls(tables, labels, frozenset(context))


def recognises(document: Document) -> bool:
    """A first row with ``GISJOIN``."""
    return _PLACE in first_line(document)


def read(document: Document, beside: Sequence[Document], mapping: FileMapping) -> CountSheet:  # noqa: ARG001
    """Columns by the codebook.

    Raises:
        SourceError: There is no codebook, or no ``GISJOIN``.
    """
    sheet = read_sheet(document)
    at = required_row(sheet, _PLACE)
    stem = document.name.rpartition(".")[0]
    book = next((each for each in beside if each.name == f"{stem}_codebook.txt"), None)
    if book is None:
        raise SourceError(
            f"{sheet.label}: expected its codebook {stem}_codebook.txt in the same folder or zip; "
            "only it says which tables the columns are of"
        )
    codebook = Codebook.parse(book.read().decode("latin-1"))
    headers = sheet.head[at]
    place = headers.index(_PLACE)
    below = sheet.head[at + 1] if at + 1 < len(sheet.head) else ()
    labelled = bool(below) and " " in below[place]
    counts = tuple(
        CountColumn(i, header, None, codebook.tables[header[:-3]], int(header[-3:]))
        for i, header in enumerate(headers)
        if header[:-3] in codebook.tables and header[-3:].isdigit()
    )
    return CountSheet(
        sheet,
        at + 1 + labelled,
        headers,
        (place,),
        from_gisjoin(place),
        counts,
        labels=codebook.labels,
    )


FORMAT: Final = Format("nhgis", "IPUMS NHGIS", recognises, read)
