"""The parts of a workbook, a zip of XML: checked before its reader allocates the cells.

The reader of values allocates all cells up to the last one. It takes the text before a comment, or
a number before a reference such as ``&#51;``, for the whole value; of two cells with one name it
keeps the last. So every cell must occur once, in order, with plain text in it.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from recon_cli.errors import SourceError
from recon_cli.sources.documents import DAMAGE, OPEN_DOCUMENT, check_members
from recon_cli.sources.tabular.package_parts import (
    MOST_CELLS,
    MOST_CHARACTERS,
    MOST_UNPACKED,
    Cells,
    Hidden,
    Named,
    OpenCells,
    Part,
    Refused,
    Root,
    Spans,
    Styles,
    Texts,
    refuse_references,
    too_large,
)

#: Names of parts, in lower case, since not all readers distinguish upper case.
_BOOK: Final = "xl/workbook.xml"
#: How files of Excel before 2007 begin.
_COMPOUND: Final = b"\xd0\xcf\x11\xe0"
_BINARY_BOOK: Final = "xl/workbook.bin"
_RELATIONS: Final = "xl/_rels/workbook.xml.rels"
_STYLES: Final = "xl/styles.xml"
#: The outermost element of a sheet of cells, of one without, and of shared texts.
_SHEET: Final = "worksheet"
_OTHER_SHEETS: Final = frozenset({"chartsheet", "dialogsheet", "macrosheet"})
_TEXTS: Final = "sst"

#: Row and column of a cell, from 0 → its indent.
Indents = Mapping[tuple[int, int], int]


@dataclass(frozen=True)
class Looks:
    """Formatting of a workbook's cells, by the names of its sheets.

    Attributes:
        hidden: Rows and columns, from 0, that people who open the workbook do not see.
        spans: Merged cells, where the library that reads values does not return them.
    """

    indents: Mapping[str, Indents] = field(default_factory=dict)
    spans: Mapping[str, Spans] = field(default_factory=dict)
    hidden: Mapping[str, Hidden] = field(default_factory=dict)


def read_looks(data: bytes, label: str) -> Looks:
    """Check a workbook; return the indents and spans of its cells, and what is hidden.

    Files of Excel before 2007 are no packages, and binary ones have no XML: for these nothing is
    returned.

    Raises:
        SourceError: It is damaged or too large, or a cell occurs twice or is ambiguous.
    """
    # A file of Excel before 2007 may end in a package of its own, which has its colours.
    if data.startswith(_COMPOUND) or not zipfile.is_zipfile(io.BytesIO(data)):
        return Looks()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = {name.lower() for name in archive.namelist()}
            if OPEN_DOCUMENT in names:
                return Looks(spans=_open_spans(archive, label))
            if _BINARY_BOOK in names:
                check_members(label, archive.infolist())
                return Looks()
            return _Package(archive, label).looks()
    except (*DAMAGE, expat.ExpatError, Refused) as error:
        raise SourceError(f"{label}: damaged workbook: {error}") from error


class _Package:
    """The parts of one workbook."""

    def __init__(self, archive: zipfile.ZipFile, label: str) -> None:
        infos = archive.infolist()
        check_members(label, infos)
        self._archive = archive
        self._label = label
        self._parts = {info.filename.lower(): info for info in infos}
        if len(self._parts) < len(infos):
            raise ValueError("two of its parts have one name")
        # If a part is larger in truth, its checksum is wrong.
        if sum(info.file_size for info in infos) > MOST_UNPACKED:
            raise too_large(label)

    def looks(self) -> Looks:
        roots = {name: self._root(name) for name in self._parts}
        texts = Texts()
        for name in [name for name, root in roots.items() if root == _TEXTS]:
            self._parse(name, texts)
        styles = Styles()
        if _STYLES in self._parts:
            self._parse(_STYLES, styles)
        indents: dict[str, Indents] = {}
        hidden: dict[str, Hidden] = {}
        cells = characters = 0
        for sheet, name in self._sheets().items():
            if roots.get(name) in _OTHER_SHEETS:
                continue
            if roots.get(name) != _SHEET:
                if name in self._parts:
                    self._parse(name, Part())  # says what is wrong with its XML
                raise Refused(f"the part of sheet {sheet!r} is missing, or no sheet")
            read = Cells(texts.lengths, styles.indents)
            try:
                self._parse(name, read)
            except Refused as refused:
                raise SourceError(
                    f"{self._label}, sheet {sheet}, cell {read.place}: {refused}; open it in a "
                    "spreadsheet program, look at the cell and save it again"
                ) from refused
            refuse_references(
                self._archive.read(self._parts[name]), f"{self._label}, sheet {sheet}"
            )
            cells += read.extent
            characters += read.characters
            if cells > MOST_CELLS or characters > MOST_CHARACTERS:
                raise too_large(self._label)
            indents[sheet] = read.indents
            hidden[sheet] = read.unseen
        return Looks(indents, hidden=hidden)

    def _sheets(self) -> dict[str, str]:
        """Map sheet names to their parts, each used once."""
        relations, book = Named("Relationship"), Named("sheet")
        self._parse(_RELATIONS, relations)
        self._parse(_BOOK, book)
        targets = {
            # A target is below xl/, or begins with a slash and is below the archive.
            each.get("Id"): posixpath.normpath(posixpath.join("/xl", each.get("Target", "")))[1:]
            for each in relations.found
        }
        found: dict[str, str] = {}
        parts: set[str] = set()
        for each in book.found:
            name, part = each.get("name", ""), targets.get(each.get("id"), "").lower()
            if name in found or part in parts:
                raise ValueError(f"sheet {name!r} is there twice")
            found[name] = part
            parts.add(part)
        return found

    def _root(self, name: str) -> str | None:
        """Return the root element; None if it is no XML."""
        root = Root()
        with suppress(Refused, expat.ExpatError):
            self._parse(name, root)
        return root.name

    def _parse(self, name: str, part: Part) -> None:
        if name not in self._parts:
            raise ValueError(f"the part {name} is missing")
        with self._archive.open(self._parts[name]) as file:
            part.read(file)


def _open_spans(archive: zipfile.ZipFile, label: str) -> dict[str, Spans]:
    """Read the merged cells of the sheets of an OpenDocument workbook.

    Raises:
        SourceError: It has too many cells; a few bytes can repeat a cell a million times.
    """
    check_members(label, archive.infolist())
    if archive.getinfo(OPEN_DOCUMENT).file_size > MOST_UNPACKED:
        raise too_large(label)
    found = OpenCells(label)
    with archive.open(OPEN_DOCUMENT) as file:
        found.read(file)
    return found.spans
