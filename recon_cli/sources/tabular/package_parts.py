"""Parts of a packaged workbook, read as events of XML: root, names, styles, texts and cells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import IO, Final
from xml.parsers import expat

from recon_cli.errors import SourceError
from recon_cli.sources.tabular.sheet import MOST_COLUMNS
from recon_cli.spreadsheet import column_letters

#: Limits of a workbook, which is held in memory: cells up to the last row and column, unpacked
#: bytes, and characters if each cell repeats the text that it shares with others.
MOST_CELLS: Final = 5_000_000
MOST_UNPACKED: Final = 1 << 28
MOST_CHARACTERS: Final = 1 << 28
#: Limits of a spreadsheet.
_MOST_ROWS: Final = 1 << 20
_MOST_INDENT: Final = 250
_LETTERS: Final = re.compile(r"[A-Za-z]{1,3}")
_NUMBER: Final = re.compile(r"[0-9]{1,10}")
#: A value that contains a reference, with the prefix of its element's name; attributes of a cell.
_REFERENCE: Final = re.compile(rb"<((?:[\w.-]+:)?)v(?:\s[^>]*)?>[^<]*&")
_IS_TEXT: Final = re.compile(rb"""\st\s*=\s*["']str["']""")
_NAMED: Final = re.compile(rb"""\sr\s*=\s*["']([A-Za-z0-9]{1,10})["']""")
#: Element → the element that it may stand in; and elements that may not contain any.
_PARENTS: Final = {"row": "sheetData", "c": "row", "v": "c", "is": "c"}
_PLAIN: Final = frozenset({"v", "t"})
_TRUE: Final = frozenset({"1", "true"})

#: First row and column, last row and column of merged cells, from 0.
Spans = list[tuple[tuple[int, int], tuple[int, int]]]
#: Rows, and columns, from 0.
Hidden = tuple[frozenset[int], frozenset[int]]


class Refused(Exception):  # noqa: N818 - it also ends the reading of a part that is in order
    """Raised to stop reading a part, with the reason."""


class Part:
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
            raise Refused(f"{what} within a text or a number, which readers end there")


def _refuse_document_type(*_: object) -> None:  # its entities could make a small file fill memory
    raise Refused("a document type, which no workbook has")


def refuse_references(data: bytes, where: str) -> None:
    """Refuse a sheet with a number that contains a reference to a character, or an entity.

    Raises:
        SourceError: The sheet has such a number.
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


class Root(Part):
    """The root element of a part, and nothing else."""

    name: str | None = None

    def start(self, name: str, _: dict[str, str], /) -> None:
        self.name = name
        raise Refused


class Named(Part):
    """The attributes of all elements of one name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.found: list[dict[str, str]] = []

    def start(self, name: str, attributes: dict[str, str], /) -> None:
        if name == self._name:
            self.found.append({key.rpartition(":")[2]: text for key, text in attributes.items()})


class Styles(Part):
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


class Texts(Part):
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


class Cells(Part):
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
            raise Refused(f"<{name}> within <{parent}>")
        if name == "c":
            self._cell(attributes)
        elif name == "row":
            self._next_row(attributes.get("r"))
        elif name in ("v", "is"):
            if self._has_value:
                raise Refused("has two values")
            self._has_value = True
        elif name == "sheetData":
            if self._has_data:
                raise Refused("the sheet goes on in a second part, which readers leave out")
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
            raise Refused(f"row {(number or str(row))[:20]} after row {self._row}")
        self._row, self._column = row, 0

    def _cell(self, attributes: dict[str, str]) -> None:
        column = self._column + 1
        if (reference := attributes.get("r")) is not None:
            column = self._column_of(reference)
        if column > MOST_COLUMNS:
            raise Refused(f"row {self._row} has more than {MOST_COLUMNS:,} columns")
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
            raise Refused(f"{reference[:20]!r} is no cell of row {self._row}")
        if column <= self._column:
            raise Refused(f"{reference} comes after it: twice, or out of order")
        return column

    def _length(self, number: str) -> int:
        if not number:
            return 0
        if not _NUMBER.fullmatch(number) or int(number) >= len(self._lengths):
            raise Refused(f"has text number {number[:20]}, which is missing")
        return self._lengths[int(number)]

    @property
    def place(self) -> str:
        """Name the present cell as spreadsheets do."""
        return f"{column_letters(self._column)}{self._row}"


class OpenCells(Part):
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
        if self._height * self._width > MOST_CELLS:
            raise too_large(self._label)


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


def too_large(label: str) -> SourceError:
    """Return the refusal of a workbook that would not fit into memory."""
    return SourceError(
        f"{label}: larger than {MOST_CELLS:,} cells, {MOST_UNPACKED:,} bytes unpacked "
        f"or {MOST_CHARACTERS:,} characters; save the sheet with the counts as CSV"
    )
