"""Delimited text as a sheet: encoding, delimiter, quotes, and lines of unequal length."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from functools import lru_cache
from typing import IO, Final

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.sources.documents import START, Document
from recon_cli.sources.tabular.sheet import HEAD_ROWS, MOST_COLUMNS, Sheet, with_row_numbers

_CHUNK: Final = 1 << 24
#: Message of Python's reader about a quote that is not closed, and ours.
_NO_END: Final = "unexpected end of data"
_OPEN_QUOTE: Final = "a quote is opened and not closed"
#: Bytes within which a quote must be closed; a longer text is a mistake.
_LONGEST: Final = 1 << 27
DELIMITERS: Final = ",\t;|"
#: Number of characters from which the delimiter of a whole text is guessed.
_SAMPLE: Final = 1 << 18
_MARK: Final = "\ufeff"
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Code points to which Windows assigns a character and Latin-1 none: dashes, quotes, the euro.
_WINDOWS: Final = {
    code: text for code in range(0x80, 0xA0) if (text := bytes([code]).decode("cp1252", "ignore"))
}


def text_sheet(document: Document, delimiter: str | None = None) -> Sheet:
    """Read delimited text.

    UTF-8 and UTF-16 are recognised by their bytes; anything else is Latin-1.

    Args:
        delimiter: Default the one of comma, tab, semicolon and bar that fits most lines.

    Raises:
        SourceError: The document is no such text, or a line has more fields than the sheet columns.
    """
    start = document.start()
    encoding = _encoding(start)
    sample = _decoded_start(start, encoding)
    if "\x00" in sample:
        raise SourceError(f"{document.label}: expected text or a workbook, found other bytes")
    mark = delimiter or _delimiter(sample)
    head = _head(document.label, sample, mark)
    if len(start) < START:
        _require_closed_quotes(document.label, sample, mark)
    width = max(map(len, head), default=0)

    def batches() -> Iterator[pl.DataFrame]:
        first = 1
        with document.open() as file:
            for chunk in _chunks(file, encoding, document.label):
                frame = _parse(chunk, mark, width, document.label, first)
                yield with_row_numbers(frame, first)
                first += frame.height

    full = tuple((*row, *[""] * (width - len(row))) for row in head)
    return Sheet(document.label, full, width, batches)


def whole_text(document: Document) -> tuple[str, str, str]:
    """Read all of a delimited text, with its encoding and its delimiter as in `text_sheet`."""
    data = document.read()
    encoding = _encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        try:
            encoding, text = "cp1252", data.decode("cp1252")
        except UnicodeDecodeError:
            encoding, text = "latin-1", data.decode("latin-1")
    return text, encoding, _delimiter(text[:_SAMPLE].removeprefix(_MARK))


def first_line(document: Document) -> str:
    """Return the first line of a text without quotes, to recognise formats."""
    start = document.start()
    text = _decoded_start(start, _encoding(start))
    return text.lstrip().partition("\n")[0].strip().replace('"', "")


def _encoding(start: bytes) -> str:
    """Guess the encoding; ``utf-8`` stands for all encodings that are read as bytes."""
    for mark, name in _MARKS:
        if start.startswith(mark):
            return name
    if len(start) > 3 and start[1::2].count(0) > len(start) // 4:
        return "utf-16-le"
    if len(start) > 3 and start[::2].count(0) > len(start) // 4:
        return "utf-16-be"
    return "utf-8"


@lru_cache(maxsize=4)  # each format looks at the first line of a file
def _decoded_start(start: bytes, encoding: str) -> str:
    decoder = codecs.getincrementaldecoder(encoding)
    try:
        text = decoder().decode(start)
    except UnicodeDecodeError:
        text = _western(start)
    return text.removeprefix("\ufeff")


def _delimiter(sample: str) -> str:
    """Guess the delimiter that gives many of the first lines the same, large number of fields.

    Lines without the delimiter are titles and notes.
    """

    def score(delimiter: str) -> tuple[int, int]:
        sizes = [len(row) for row in _records(sample, delimiter) if row]
        parted = {size for size in sizes if size > 1}
        return max(((sizes.count(size) * min(size, 50), size) for size in parted), default=(0, 0))

    return max(DELIMITERS, key=score)


def _records(sample: str, delimiter: str) -> list[list[str]]:
    """Parse the first records; drop the last one of a truncated sample."""
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    try:
        for row in reader:
            rows.append(row)
            if len(rows) > HEAD_ROWS:
                break
    except csv.Error:
        pass  # a field longer than any: what came before it will do
    cut = len(sample) >= 1 << 16 and len(rows) <= HEAD_ROWS and len(rows) > 1
    return rows[:-1] if cut else rows[:HEAD_ROWS]


def _head(label: str, sample: str, delimiter: str) -> list[list[str]]:
    head = [[cell.strip() for cell in row] for row in _records(sample, delimiter)]
    width = max(map(len, head), default=0)
    if width > MOST_COLUMNS or (not head and sample):
        raise SourceError(
            f"{label}: more than {MOST_COLUMNS:,} columns, or text of another kind; "
            "publish it with a row for each count (geoid, table, cell, count)"
        )
    return head


def _require_closed_quotes(label: str, text: str, delimiter: str) -> None:
    """Refuse a whole text whose last quote is not closed: later rows would be one field."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    row = 1
    try:
        for _ in reader:
            row += 1
    except csv.Error as error:
        if str(error) == _NO_END:
            raise SourceError(f"{label}: row {row}: {_OPEN_QUOTE}") from None


def _chunks(file: IO[bytes], encoding: str, label: str) -> Iterator[bytes]:
    """Yield UTF-8 in pieces of whole lines."""
    left = b""
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()
    first = True
    while data := file.read(_CHUNK):
        if decoder is not None:
            try:
                data = decoder.decode(data).encode()
            except UnicodeDecodeError as error:
                raise SourceError(f"{label}: expected {encoding} text: {error.reason}") from error
        if first:
            data = data.removeprefix(codecs.BOM_UTF8)
            first = False
        left += data
        cut = left.rfind(b"\n") + 1
        if cut and not left.count(b'"', 0, cut) % 2:
            yield _as_utf8(left[:cut])
            left = left[cut:]
        elif len(left) > _LONGEST:
            raise SourceError(f"{label}: a line or a quoted text has no end")
    if left.strip():
        yield _as_utf8(left)


def _western(data: bytes) -> str:
    r"""Decode bytes as Windows-1252; bytes without a character there as Latin-1.

    Example:
        >>> _western(b"0\x9617, Gr\xf6\xdfe")
        '0–17, Größe'
    """
    return data.decode("latin-1").translate(_WINDOWS)


def _as_utf8(data: bytes) -> bytes:
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return _western(data).encode()
    return data


def _parse(data: bytes, delimiter: str, width: int, label: str, first: int) -> pl.DataFrame:
    """Parse text to columns ``0``, ``1``, …; a short line has nulls at its end."""
    header = delimiter.join(map(str, range(width))).encode() + b"\n"
    try:
        return pl.read_csv(
            io.BytesIO(header + data),
            separator=delimiter,
            infer_schema=False,
        )
    except pl.exceptions.PolarsError as error:
        raise SourceError(f"{label}: {_first_broken(data, delimiter, width, first)}") from error


def _first_broken(data: bytes, delimiter: str, width: int, first: int) -> str:
    reader = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter, strict=True)
    row = first
    try:
        for row, fields in enumerate(reader, start=first):
            if len(fields) > width:
                return f"row {row}: expected {width} fields, found {len(fields)}"
    except csv.Error as error:
        if str(error) == _NO_END:
            return f"row {row + 1}: {_OPEN_QUOTE}"
        return f"row {row + 1}: expected fields between {delimiter!r}: {error}"
    return "expected a table of text: a quote stands within a field"
