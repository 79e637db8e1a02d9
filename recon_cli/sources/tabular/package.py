"""The parts of a workbook, a zip of XML: checked before its reader allocates the cells.

That reader allocates up to the last cell, takes the text before a comment, or a number before a
reference such as ``&#51;``, for the whole value, and the last of two cells for both. So every cell
must occur once, in order, with plain text in it.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import IO, Final
from xml.parsers import expat

from recon_cli.errors import SourceError
from recon_cli.sources.documents import DAMAGE, OPEN_DOCUMENT, check_members
from recon_cli.sources.tabular.sheet import MOST_COLUMNS
from recon_cli.spreadsheet import column_letters

#: Of a workbook, which is held in memory: cells up to the last row and column, bytes unpacked, and
#: characters where each cell repeats the text that it shares with others.
_MOST_CELLS: Final = 5_000_000
_MOST_UNPACKED: Final = 1 << 28
_MOST_CHARACTERS: Final = 1 << 28
#: Limits of a spreadsheet.
_MOST_ROWS: Final = 1 << 20
_MOST_INDENT: Final = 250
_LETTERS: Final = re.compile(r"[A-Za-z]{1,3}")
_NUMBER: Final = re.compile(r"[0-9]{1,10}")
#: Names of parts, in small letters: readers differ in whether they tell large ones apart.
_BOOK: Final = "xl/workbook.xml"
#: How files of Excel before 2007 begin.
_COMPOUND: Final = b"\xd0\xcf\x11\xe0"
_BINARY_BOOK: Final = "xl/workbook.bin"
_RELATIONS: Final = "xl/_rels/workbook.xml.rels"
_STYLES: Final = "xl/styles.xml"
#: A value with a reference in it, after the prefix of its name; and attributes of its cell.
_REFERENCE: Final = re.compile(rb"<((?:[\w.-]+:)?)v(?:\s[^>]*)?>[^<]*&")
_IS_TEXT: Final = re.compile(rb"""\st\s*=\s*["']str["']""")
_NAMED: Final = re.compile(rb"""\sr\s*=\s*["']([A-Za-z0-9]{1,10})["']""")
#: Element → the one that it may stand in, and those in which none may stand.
_PARENTS: Final = {"row": "sheetData", "c": "row", "v": "c", "is": "c"}
_PLAIN: Final = frozenset({"v", "t"})
#: The outermost element of a sheet of cells, of one without, and of shared texts.
_SHEET: Final = "worksheet"
_OTHER_SHEETS: Final = frozenset({"chartsheet", "dialogsheet", "macrosheet"})
_TEXTS: Final = "sst"
_TRUE: Final = frozenset({"1", "true"})

#: Row and column of a cell, from 0 → its indent.
Indents = Mapping[tuple[int, int], int]
#: First row and column, last row and column of merged cells, from 0.
Spans = list[tuple[tuple[int, int], tuple[int, int]]]
#: Rows, and columns, from 0.
Hidden = tuple[frozenset[int], frozenset[int]]


@dataclass(frozen=True)
class Looks:
    """Formatting of a workbook's cells, by the names of its sheets.

    Attributes:
        hidden: Rows and columns, from 0, that a reader of the workbook does not see.
        spans: Merged cells, where the reader of values does not tell them.
    """

    indents: Mapping[str, Indents] = field(default_factory=dict)
    spans: Mapping[str, Spans] = field(default_factory=dict)
    hidden: Mapping[str, Hidden] = field(default_factory=dict)


def read_looks(data: bytes, label: str) -> Looks:
    """Check a workbook; return the indents and spans of its cells, and what is hidden.

    Files of Excel before 2007 are no packages, and binary ones have no XML: for these nothing is
    returned.

    Raises:
        SourceError: It is damaged, says a cell twice or in two ways, or is too large.
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
    except (*DAMAGE, expat.ExpatError, _Refused) as error:
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
        if sum(info.file_size for info in infos) > _MOST_UNPACKED:
            raise _too_large(label)

    def looks(self) -> Looks:
        roots = {name: self._root(name) for name in self._parts}
        texts = _Texts()
        for name in [name for name, root in roots.items() if root == _TEXTS]:
            self._parse(name, texts)
        styles = _Styles()
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
                    self._parse(name, _Part())  # says what is wrong with its XML
                raise _Refused(f"the part of sheet {sheet!r} is missing, or no sheet")
            read = _Cells(texts.lengths, styles.indents)
            try:
                self._parse(name, read)
            except _Refused as refused:
                raise SourceError(
                    f"{self._label}, sheet {sheet}, cell {read.place}: {refused}; open it in a "
                    "spreadsheet program, look at the cell and save it again"
                ) from refused
            _refuse_references(
                self._archive.read(self._parts[name]), f"{self._label}, sheet {sheet}"
            )
            cells += read.extent
            characters += read.characters
            if cells > _MOST_CELLS or characters > _MOST_CHARACTERS:
                raise _too_large(self._label)
            indents[sheet] = read.indents
            hidden[sheet] = read.unseen
        return Looks(indents, hidden=hidden)

    def _sheets(self) -> dict[str, str]:
        """Map sheet names to their parts, each used once."""
        relations, book = _Named("Relationship"), _Named("sheet")
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
        root = _Root()
        with suppress(_Refused, expat.ExpatError):
            self._parse(name, root)
        return root.name

    def _parse(self, name: str, part: _Part) -> None:
        if name not in self._parts:
            raise ValueError(f"the part {name} is missing")
        with self._archive.open(self._parts[name]) as file:
            part.read(file)


def _too_large(label: str) -> SourceError:
    return SourceError(
        f"{label}: larger than {_MOST_CELLS:,} cells, {_MOST_UNPACKED:,} bytes unpacked "
        f"or {_MOST_CHARACTERS:,} characters; save the sheet with the counts as CSV"
    )


def _open_spans(archive: zipfile.ZipFile, label: str) -> dict[str, Spans]:
    """Read the merged cells of the sheets of an OpenDocument workbook.

    Raises:
        SourceError: It has too many cells; a few bytes can repeat a cell a million times.
    """
    check_members(label, archive.infolist())
    if archive.getinfo(OPEN_DOCUMENT).file_size > _MOST_UNPACKED:
        raise _too_large(label)
    found = _OpenCells(label)
    with archive.open(OPEN_DOCUMENT) as file:
        found.read(file)
    return found.spans


class _Refused(Exception):  # noqa: N818 - it also ends the reading of a part that is in order
    """Raised to stop reading a part, with the reason."""


class _Part:
    """A reader of a part's XML; each subclass reads other elements."""

    reads_text = False

    def __init__(self) -> None:
        self.path = [""]

    def read(self, file: IO[bytes]) -> None:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._open
        parser.EndElementHandler = self._close
        if self.reads_text:
            parser.CharacterDataHandler = self.text
        parser.CommentHandler = lambda _: self.hidden("a comment")
        parser.ProcessingInstructionHandler = lambda *_: self.hidden("an instruction")
        parser.StartCdataSectionHandler = lambda: self.hidden("a CDATA section")
        parser.StartDoctypeDeclHandler = _refuse_document_type
        parser.ParseFile(file)

    def _open(self, name: str, attributes: dict[str, str]) -> None:
        if ":" in name:
            name = name.rpartition(":")[2]
        if self.path[-1] in _PLAIN:
            self.hidden(f"<{name}>")
        self.start(name, attributes)
        self.path.append(name)

    def _close(self, _: str) -> None:
        self.end(self.path.pop())

    def start(self, name: str, attributes: dict[str, str], /) -> None: ...

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...

    def hidden(self, what: str) -> None:
        """Refuse content that readers of a value skip or stop at."""
        if self.path[-1] in _PLAIN:
            raise _Refused(f"{what} within a text or a number, which readers end there")


def _refuse_document_type(*_: object) -> None:  # its entities could make a small file fill memory
    raise _Refused("a document type, which no workbook has")


def _refuse_references(data: bytes, where: str) -> None:
    """Refuse a sheet with a number that contains a reference to a character, or an entity.

    Raises:
        SourceError: It has one.
    """
    for found in _REFERENCE.finditer(data):
        start = data.rfind(b"<" + found[1] + b"c ", 0, found.start())
        opening = data[start : data.find(b">", start)] if start >= 0 else b""
        if not _IS_TEXT.search(opening):
            named = _NAMED.search(opening)
            cell = "" if named is None else f", cell {named[1].decode()}"
            raise SourceError(
                f"{where}{cell}: a reference within a number, which readers end there; open it in "
                "a spreadsheet program, look at the cell and save it again"
            )


class _Root(_Part):
    name: str | None = None

    def start(self, name: str, _: dict[str, str], /) -> None:
        self.name = name
        raise _Refused


class _Named(_Part):
    """The attributes of all elements of one name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.found: list[dict[str, str]] = []

    def start(self, name: str, attributes: dict[str, str], /) -> None:
        if name == self._name:
            self.found.append({key.rpartition(":")[2]: text for key, text in attributes.items()})


class _Styles(_Part):
    """Indents by number of the style."""

    def __init__(self) -> None:
        super().__init__()
        self._number = -1
        self.indents: dict[str, int] = {}

    def start(self, name: str, attributes: dict[str, str], /) -> None:
        if self.path[-1] == "cellXfs":
            self._number += 1
        elif name == "alignment" and self.path[-2:] == ["cellXfs", "xf"]:
            indent = attributes.get("indent", "0")
            if not _NUMBER.fullmatch(indent) or int(indent) > _MOST_INDENT:
                raise ValueError(f"an indent is {indent[:20]}, not a number up to {_MOST_INDENT}")
            if int(indent):
                self.indents[str(self._number)] = int(indent)


class _Texts(_Part):
    """The lengths of the shared texts."""

    reads_text = True

    def __init__(self) -> None:
        super().__init__()
        self.lengths: list[int] = []

    def start(self, name: str, _: dict[str, str], /) -> None:
        if name == "si":
            self.lengths.append(0)

    def text(self, text: str) -> None:
        if self.path[-1] == "t" and self.lengths:
            self.lengths[-1] += len(text)


class _Cells(_Part):
    """The cells of a sheet: their extent, shared texts and indents."""

    def __init__(self, lengths: list[int], styles: Mapping[str, int]) -> None:
        super().__init__()
        self._lengths = lengths
        self.reads_text = bool(lengths)
        self._styles = styles
        self._row = self._column = self._columns = self._rows = 0
        self._has_data = False
        self._shared: str | None = None
        self._has_value = False
        self.characters = 0
        self.indents: dict[tuple[int, int], int] = {}
        self._hidden_rows: set[int] = set()
        self._hidden_columns: list[range] = []

    @property
    def unseen(self) -> Hidden:
        """Return the rows and the columns with cells that are hidden."""
        columns = {i for run in self._hidden_columns for i in run if i < self._columns}
        return frozenset(self._hidden_rows), frozenset(columns)

    @property
    def extent(self) -> int:
        """Return the number of cells up to the last row and column."""
        return self._rows * self._columns

    def start(self, name: str, attributes: dict[str, str], /) -> None:
        parent = self.path[-1]
        if _PARENTS.get(name, parent) != parent:
            raise _Refused(f"<{name}> within <{parent}>")
        if name == "c":
            self._cell(attributes)
        elif name == "row":
            self._next_row(attributes.get("r"))
        elif name in ("v", "is"):
            if self._has_value:
                raise _Refused("has two values")
            self._has_value = True
        elif name == "sheetData":
            if self._has_data:
                raise _Refused("the sheet goes on in a second part, which readers leave out")
            self._has_data = True
        if name in ("row", "col") and attributes.get("hidden") in _TRUE:
            self._hide(name, attributes)

    def _hide(self, name: str, attributes: Mapping[str, str]) -> None:
        """Note a row, or columns, that a reader of the workbook does not see."""
        if name == "row":
            self._hidden_rows.add(self._row - 1)
            return
        first, last = (attributes.get(end, "") for end in ("min", "max"))
        if _NUMBER.fullmatch(first) and _NUMBER.fullmatch(last):
            self._hidden_columns.append(range(int(first) - 1, min(int(last), MOST_COLUMNS)))

    def end(self, name: str) -> None:
        if name == "c" and self._shared is not None:
            self.characters += self._length(self._shared.strip())
            self._shared = None

    def text(self, text: str) -> None:
        if self._shared is not None and self.path[-1] == "v":
            self._shared += text

    def _next_row(self, number: str | None) -> None:
        row = self._row + 1
        if number is not None:
            row = int(number) if _NUMBER.fullmatch(number) else 0
        if not self._row < row <= _MOST_ROWS:
            raise _Refused(f"row {(number or str(row))[:20]} after row {self._row}")
        self._row, self._column = row, 0

    def _cell(self, attributes: dict[str, str]) -> None:
        column = self._column + 1
        if (reference := attributes.get("r")) is not None:
            column = self._column_of(reference)
        if column > MOST_COLUMNS:
            raise _Refused(f"row {self._row} has more than {MOST_COLUMNS:,} columns")
        self._column = column
        self._columns = max(self._columns, column)
        self._rows = self._row
        self._has_value = False
        self._shared = "" if attributes.get("t") == "s" else None
        indent = self._styles.get(attributes.get("s", "0"))
        if indent is not None:
            self.indents[self._row - 1, column - 1] = indent

    def _column_of(self, reference: str) -> int:
        letters = reference.removesuffix(str(self._row))
        column = _number_of(letters) if letters != reference else 0
        if not column:
            raise _Refused(f"{reference[:20]!r} is no cell of row {self._row}")
        if column <= self._column:
            raise _Refused(f"{reference} comes after it: twice, or out of order")
        return column

    def _length(self, number: str) -> int:
        if not number:
            return 0
        if not _NUMBER.fullmatch(number) or int(number) >= len(self._lengths):
            raise _Refused(f"has text number {number[:20]}, which is missing")
        return self._lengths[int(number)]

    @property
    def place(self) -> str:
        """Name the present cell as spreadsheets do."""
        return f"{column_letters(self._column)}{self._row}"


class _OpenCells(_Part):
    """The cells of all sheets of an OpenDocument workbook: their extent and spans."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self._label = label
        self._sheet = ""
        self._row = self._column = self._width = self._height = self._repeat = 0
        self._filled = False
        self.spans: dict[str, Spans] = {}

    def start(self, name: str, attributes: dict[str, str], /) -> None:
        own = {key.rpartition(":")[2]: text for key, text in attributes.items()}
        if name == "table":
            self._sheet = own.get("name", "")
            self.spans[self._sheet] = []
            self._row = self._width = self._height = 0
        elif name == "table-row":
            self._repeat = _times(own.get("number-rows-repeated"))
            self._column, self._filled = 0, False
        elif name in ("table-cell", "covered-table-cell"):
            self._cell(own)

    def _cell(self, own: Mapping[str, str]) -> None:
        wide = _times(own.get("number-columns-repeated"))
        across, down = (_times(own.get(f"number-{each}-spanned")) for each in ("columns", "rows"))
        if "value-type" in own:
            self._filled = True
            self._width = max(self._width, self._column + wide)
        if across * down > 1:
            first = self._row, self._column
            self.spans[self._sheet].append((first, (first[0] + down - 1, first[1] + across - 1)))
        self._column += wide

    def end(self, name: str) -> None:
        if name != "table-row":
            return
        self._row += self._repeat
        if self._filled:
            self._height = self._row
        if self._height * self._width > _MOST_CELLS:
            raise _too_large(self._label)


def _times(text: str | None) -> int:
    return int(text) if text and _NUMBER.fullmatch(text) else 1


@lru_cache(maxsize=MOST_COLUMNS)
def _number_of(letters: str) -> int:
    """Return a column's number, from 1; 0 if it is none.

    >>> _number_of("A"), _number_of("AA"), _number_of("A1")
    (1, 27, 0)
    """
    if not _LETTERS.fullmatch(letters):
        return 0
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
