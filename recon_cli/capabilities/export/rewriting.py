"""Rewriting published files: some cells are marked or replaced, and the rest is unchanged.

In a workbook merged cells, formats, widths and comments stay. Formulas become the numbers that they
showed, because a formula could reveal a withheld count, or change its result.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree

from recon_cli.errors import ConfigError, SourceError
from recon_cli.sources.documents import DAMAGE, Document
from recon_cli.sources.formats.header import is_number
from recon_cli.sources.tabular import whole_text
from recon_cli.sources.tabular.package import read_looks

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook

_LINE_END: Final = re.compile(r"\r?\n")
_BYTE_ORDER: Final = "\ufeff"
#: Time of all files in a zip, so that equal workbooks are equal bytes.
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_CORE: Final = "docProps/core.xml"
#: Times when a workbook was created and modified, which openpyxl sets to the present.
_TIMES: Final = re.compile(rb"(<dcterms:(created|modified)[^>]*>)([^<]*)(</dcterms:)")
_NEVER: Final = b"1980-01-01T00:00:00Z"
_AUTHOR: Final = "recon"
#: Rows of a sheet.
MOST_ROWS: Final = 1_048_576
#: Width and height of a comment, in pixels.
_WIDTH, _HEIGHT = 320, 120


class DelimitedText:
    """A text with the position of each of its fields.

    Attributes:
        fields: Numbers of the row and of the field, from 1 → its start and end.
    """

    def __init__(self, document: Document) -> None:
        self.label = document.label
        text, self._encoding, self._delimiter = whole_text(document)
        self._text = text.removeprefix(_BYTE_ORDER)
        self._mark = text[: len(text) - len(self._text)]
        self.fields = dict(self._spans())

    def field(self, row: int, column: int) -> str:
        """Return the content of a field; empty if the row is shorter."""
        start, end = self.fields.get((row, column), (0, 0))
        raw = self._text[start:end]
        return raw[1:-1].replace('""', '"') if raw[:1] == '"' else raw

    def written(self, changed: Mapping[tuple[int, int], str], first_line: str = "") -> bytes:
        """Return the text with some fields replaced.

        Args:
            changed: Numbers of row and field → new content.
        """
        parts, at = [self._mark], 0
        if first_line:
            end = _LINE_END.search(self._text)
            parts += [self._quoted(first_line), end[0] if end else "\n"]
        for key in sorted(changed):
            start, stop = self.fields[key]
            parts += [self._text[at:start], self._quoted(changed[key])]
            at = stop
        return "".join((*parts, self._text[at:])).encode(self._encoding)

    def _quoted(self, text: str) -> str:
        needs = any(mark in text for mark in (self._delimiter, '"', "\n", "\r"))
        return '"' + text.replace('"', '""') + '"' if needs else text

    def _spans(self) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        mark = re.escape(self._delimiter)
        field = re.compile(rf'(?:"(?:[^"]|"")*"|[^{mark}\n"]*?)(?P<end>{mark}|\r?\n|\Z)')
        row = column = 1
        at, last = 0, self._delimiter
        while at < len(self._text) or last == self._delimiter:
            found = field.match(self._text, at)
            if found is None:
                raise SourceError(f"{self.label}: row {row}: a quote stands within a field")
            yield (row, column), (at, found.start("end"))
            at, last = found.end(), found["end"]
            row, column = (row, column + 1) if last == self._delimiter else (row + 1, 1)


@dataclass(frozen=True)
class CellMark:
    """The mark of a cell.

    Attributes:
        colour: Background colour, six hexadecimal digits.
        comment: Comment of the cell; none if empty.
    """

    colour: str
    comment: str = ""


def require_writable(document: Document) -> None:
    """Refuse a workbook that cannot be written again.

    Raises:
        ConfigError: This is no xlsx file, or the package that writes workbooks is not installed.
    """
    if not document.label.lower().endswith(".xlsx"):
        raise ConfigError(
            f"{document.label}: only .xlsx workbooks are written; save it as one, and write a "
            "config for that"
        )
    try:
        import openpyxl  # noqa: F401 - optional
    except ImportError as error:
        raise ConfigError(
            f"{document.label}: to write workbooks takes `pip install recon-cli[workbooks]`"
        ) from error


class WrittenWorkbook:
    """A workbook that is changed and written."""

    def __init__(self, document: Document) -> None:
        """Load the workbook.

        Raises:
            ConfigError: The workbook cannot be written.
            SourceError: The workbook cannot be read.
        """
        require_writable(document)
        import openpyxl  # optional

        self.label = document.label
        data = document.read()
        read_looks(data, self.label)  # refuses what would fill memory, or is read in two ways
        try:
            with warnings.catch_warnings():  # of what is not carried over; the docs say so
                warnings.simplefilter("ignore", UserWarning)
                self._book: Workbook = openpyxl.load_workbook(
                    io.BytesIO(data), data_only=True, rich_text=True
                )
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                self.parts = frozenset(archive.namelist())
                core = archive.read(_CORE) if _CORE in self.parts else b""
        except (*DAMAGE, KeyError, TypeError, ElementTree.ParseError) as error:
            raise SourceError(f"{self.label}: no xlsx workbook that can be written: {error}") from (
                error
            )
        self._times = {kind: time for _, kind, time, _ in _TIMES.findall(core)}

    @property
    def sheets(self) -> tuple[str, ...]:
        """Return the names of all sheets with cells."""
        return tuple(sheet.title for sheet in self._book.worksheets)

    def field(self, sheet: str, row: int, column: int) -> object:
        """Return the content of a cell."""
        return self._book[sheet].cell(row, column).value

    def numbers(self, sheet: str) -> Iterator[tuple[int, int]]:
        """Yield row and column of the cells that hold numbers."""
        for row in self._book[sheet].iter_rows():
            for cell in row:
                if cell.value is not None and is_number(str(cell.value)):
                    yield cell.row, cell.column

    def mark(self, sheet: str, row: int, column: int, mark: CellMark) -> None:
        """Colour a cell, or the one it is merged into, and append a comment."""
        from openpyxl.cell import MergedCell  # optional
        from openpyxl.comments import Comment
        from openpyxl.styles import PatternFill

        cells: Any = self._book[sheet]
        cell = cells.cell(row, column)
        if isinstance(cell, MergedCell):
            ranges = (each for each in cells.merged_cells.ranges if cell.coordinate in each)
            first = next(ranges)
            cell = cells.cell(first.min_row, first.min_col)
        cell.fill = PatternFill("solid", fgColor=mark.colour)
        if mark.comment:
            before = f"{cell.comment.text}\n\n" if cell.comment else ""
            cell.comment = Comment(before + mark.comment, _AUTHOR, height=_HEIGHT, width=_WIDTH)

    def replace(self, sheet: str, row: int, column: int, text: str) -> None:
        cell: Any = self._book[sheet].cell(row, column)
        cell.value, cell.data_type = text, "s"

    def append(self, sheet: str, text: str) -> None:
        """Write a text below all rows of a sheet."""
        cells: Any = self._book[sheet]
        cell = cells.cell(cells.max_row + 2, 1)
        cell.value, cell.data_type = text, "s"

    def remove_comments(self) -> None:
        """Remove all comments, which may reveal the content of a cell."""
        for sheet in self._book.worksheets:
            for row in sheet.iter_rows():
                for cell in row:
                    if cell.comment is not None:
                        cell.comment = None

    def remove(self, sheet: str) -> None:
        del self._book[sheet]

    def put_first(self, title: str, rows: Sequence[Sequence[object]]) -> str:
        """Insert a sheet before all others; its second row is a header that stays in view.

        Returns:
            Its title, another one where that is taken.
        """
        from openpyxl.styles import Alignment, Font  # optional

        sheet: Any = self._book.create_sheet(title, 0)
        for number, row in enumerate(rows[:MOST_ROWS], start=1):
            for at, value in enumerate(row, start=1):
                cell = sheet.cell(number, at, value)
                if isinstance(value, str):
                    cell.data_type = "s"  # never a formula
        for cell in (*sheet[1], *sheet[2]):
            cell.font = Font(bold=True)
        for letter, width in zip("ABCDEFGH", (18, 8, 30, 34, 12, 12, 60, 60), strict=True):
            sheet.column_dimensions[letter].width = width
        for row in sheet.iter_rows(min_row=3, min_col=7, max_col=8):
            for cell in row:
                cell.alignment = Alignment(wrap_text=True, vertical="top")
        sheet.freeze_panes = "A3"
        self._book.active = 0
        for each in self._book.worksheets:
            each.sheet_view.tabSelected = each is sheet
        return str(sheet.title)

    def written(self) -> bytes:
        """Return the workbook as bytes, the same for the same changes."""
        return written_again(self._book, self._times)


def written_again(book: Workbook, times: Mapping[bytes, bytes] = MappingProxyType({})) -> bytes:
    """Serialise a workbook, with the same bytes for the same cells.

    Args:
        times: When it was ``created`` and ``modified``, as its properties have it.
    """

    def as_it_was(time: re.Match[bytes]) -> bytes:
        return b"".join((time[1], times.get(time[2], _NEVER), time[4]))

    saved, made = io.BytesIO(), io.BytesIO()
    book.save(saved)
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name == _CORE:
                data = _TIMES.sub(as_it_was, data)
            new.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()
