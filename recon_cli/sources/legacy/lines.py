"""A state's files, in a zip or a folder, as blocks of whole lines, and their numbers.

Nothing is extracted: members are decompressed as they are read.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.errors import SourceError
from recon_cli.sources.documents import DAMAGE, Document, document_of

NEWLINE: Final = ord("\n")
RETURN: Final = ord("\r")
ZERO: Final = ord("0")

#: A count is stored as a 32-bit integer; ten digits are enough for one.
MAX_COUNT: Final = 2**31 - 1
_MAX_DIGITS: Final = 10
_LONGEST_LINE: Final = 1 << 20


@contextmanager
def open_members(path: Path) -> Iterator[tuple[Document, ...]]:
    """Open the members of a zip, or the files of a folder.

    Raises:
        SourceError: The path does not exist, or is no zip.
    """
    if path.is_dir():
        files = (entry for entry in sorted(path.iterdir()) if entry.is_file())
        yield tuple(document_of(file) for file in files)
        return
    if not path.exists():
        raise SourceError(f"{path}: no such file or folder; expected a state's zip or its members")
    try:
        archive = zipfile.ZipFile(path)
    except DAMAGE as error:
        raise SourceError(
            f"{path}: expected a zip file or a folder, but this is none or was cut off ({error})"
        ) from error
    with archive:
        yield tuple(
            Document(
                info.filename,
                f"{path}:{info.filename}",
                partial(archive.open, info),
                size=info.file_size,
            )
            for info in archive.infolist()
        )


class Stream:
    """One member, open for reading."""

    def __init__(self, file: IO[bytes], label: str) -> None:
        self.label = label
        self._file = file

    def read(self, size: int) -> bytes:
        """Read the next ``size`` bytes, fewer only at the end."""
        try:
            return self._file.read(size)
        except DAMAGE as error:
            raise _damaged(self.label, error) from error


@contextmanager
def open_stream(member: Document) -> Iterator[Stream]:
    """Open one member."""
    try:
        file = member.opener()
    except DAMAGE as error:
        raise _damaged(member.label, error) from error
    with file as opened:
        yield Stream(opened, member.label)


def _damaged(label: str, error: Exception) -> SourceError:
    return SourceError(f"{label}: damaged or truncated, cannot be decompressed or read: {error}")


@dataclass(frozen=True)
class LineBlock:
    """Whole lines.

    Attributes:
        data: Their bytes; the last one is a line feed.
        line: Line number of the first, from 1.
    """

    data: NDArray[np.uint8]
    line: int

    def text(self, start: int, stop: int) -> str:
        """Return the text between two byte positions, for messages."""
        return self.data[start:stop].tobytes().decode("latin-1")


class LineReader:
    """Reads a stream as blocks of whole lines.

    The last line may lack its line end: its columns show whether the record is complete.
    """

    def __init__(self, stream: Stream, read_size: int) -> None:
        self._stream = stream
        self._size = read_size
        self._rest = b""
        self._line = 1

    def next_block(self) -> LineBlock | None:
        """Return about ``read_size`` bytes of lines, None at the end.

        Raises:
            SourceError: The member is damaged, or is not made of lines.
        """
        while True:
            new = self._stream.read(self._size)
            text = self._rest + new
            if not new:
                text += b"\n" if text else b""
            cut = text.rfind(b"\n") + 1
            if not text:
                return None
            if cut:
                break
            self._rest = text
            if len(text) > _LONGEST_LINE:
                raise SourceError(
                    f"{self._stream.label}: line {self._line}: expected lines of text, "
                    f"found {_LONGEST_LINE} bytes without a line end"
                )
        self._rest = text[cut:]
        block = LineBlock(np.frombuffer(text, np.uint8, cut), self._line)
        self._line += int(np.count_nonzero(block.data == NEWLINE))
        return block


def separator_table(
    block: LineBlock, separator: str, columns: int, label: str
) -> NDArray[np.int64]:
    """Return positions of the separators and line ends, one row per line.

    Raises:
        SourceError: A line has more or fewer columns; the message names the line.
    """
    newline = block.data == NEWLINE
    stops = np.flatnonzero(newline | (block.data == ord(separator)))
    lines = int(np.count_nonzero(newline))
    if len(stops) == lines * columns:
        table = stops.reshape(lines, columns)
        if newline[table[:, -1]].all():
            return table
    ends = np.flatnonzero(newline[stops])
    widths = np.diff(ends, prepend=-1)
    at = int(np.flatnonzero(widths != columns)[0])
    raise SourceError(
        f"{label}: line {block.line + at}: expected {columns} columns, found {int(widths[at])}"
    )


def parse_numbers(
    data: NDArray[np.uint8], starts: NDArray[np.int64], widths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Parse plain decimal numbers at byte positions; -1 for anything else.

    Args:
        widths: Number of characters of each; other than 1 to 10 is no number.
    """
    values = np.zeros(len(starts), np.int64)
    good = (widths >= 1) & (widths <= _MAX_DIGITS)
    live = np.flatnonzero(good)
    for place in range(_MAX_DIGITS):
        live = live[widths[live] > place]
        if not len(live):
            break
        digit = data[starts[live] + place].astype(np.int64) - ZERO
        values[live] = values[live] * 10 + digit
        good[live] &= (digit >= 0) & (digit <= 9)
    return np.where(good, values, -1)


def record_numbers(
    block: LineBlock,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    previous: int,
    label: str,
) -> NDArray[np.int64]:
    """Return the LOGRECNO of every line of a block; refuse a decrease.

    Args:
        previous: The LOGRECNO of the line before, -1 at the start of the member.

    Raises:
        SourceError: A LOGRECNO is no number, repeats or falls; the message names the line.
    """
    logrecno = parse_numbers(block.data, starts, stops - starts)
    before = np.concatenate([[previous], logrecno[:-1]])
    bad = np.flatnonzero((logrecno < 0) | (logrecno <= before))
    if not len(bad):
        return logrecno
    at = int(bad[0])
    where = f"{label}: line {block.line + at}"
    if logrecno[at] < 0:
        text = block.text(starts[at], stops[at])
        raise SourceError(f"{where}: expected a LOGRECNO of digits, found {text!r}")
    if logrecno[at] == before[at]:
        raise SourceError(f"{where}: LOGRECNO {logrecno[at]:07} occurs twice")
    raise SourceError(
        f"{where}: expected LOGRECNO to rise, found {logrecno[at]:07} after {before[at]:07}"
    )
