"""Documents: the files at a path, or the members of folders, zips and gzips, as bytes.

JSON that Python's reader would accept or change silently is refused.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import IO, Final

from recon_cli.errors import SourceError

#: Exceptions of Python's readers for damaged bytes; RuntimeError is an encrypted zip member.
DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
    NotImplementedError,
)
_ZIP: Final = b"PK\x03\x04"
_GZIP: Final = b"\x1f\x8b"
#: The members that make a zip a workbook: of Excel, and of OpenDocument.
_WORKBOOK: Final = "[Content_Types].xml"
OPEN_DOCUMENT: Final = "content.xml"
#: First bytes of a workbook of Excel before 2007.
_OLD_WORKBOOK: Final = b"\xd0\xcf\x11\xe0"
#: Number of bytes from which a file's format is recognised.
START: Final = 1 << 18
#: Most members of a zip that is read without unpacking, since each is opened by itself.
_MOST_MEMBERS: Final = 1_000
#: Most bytes of a file that is read as a whole; and bytes of a large member of a zip, with the
#: compression that no table reaches.
_MOST_HELD: Final = 1 << 28
_LARGE: Final = 1 << 30
_MOST_PACKED: Final = 400
#: A number in JSON with more digits is no count, and slow to read.
_MOST_DIGITS: Final = 20


@dataclass(frozen=True)
class Document:
    """One file, one member of a zip, or one sheet of a workbook.

    Attributes:
        name: Its own name, without folders.
        label: Name in messages: ``p5.zip:P5-Data.csv``.
        sheet: Name of a sheet, whose bytes are those of the whole workbook.
        size: Number of unpacked bytes, where a zip states it.
    """

    name: str
    label: str
    opener: Callable[[], AbstractContextManager[IO[bytes]]]
    sheet: str | None = None
    size: int | None = None

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the decompressed bytes.

        Raises:
            SourceError: The document is damaged.
        """
        try:
            with self.opener() as file:
                yield file
        except DAMAGE as error:
            raise SourceError(f"{self.label}: damaged or truncated: {error}") from error

    def start(self) -> bytes:
        """Return the first bytes, enough to recognise the format."""
        with self.open() as file:
            return file.read(START)

    def read(self) -> bytes:
        """Return all bytes.

        Raises:
            SourceError: The document is damaged, or too large to be read as a whole.
        """
        with self.open() as file:
            found = file.read(_MOST_HELD + 1)
        if len(found) > _MOST_HELD:
            raise SourceError(
                f"{self.label}: larger than {_MOST_HELD:,} bytes, which is the most of a file that "
                "is read as a whole; save it as CSV"
            )
        return found

    @property
    def is_workbook(self) -> bool:
        """Report whether it is a workbook: xlsx, xlsm, xlsb, xls or ods."""
        start = self.start()
        if not start.startswith(_ZIP):
            return start.startswith(_OLD_WORKBOOK)
        with self.open() as file, zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            return _WORKBOOK in names or {"mimetype", OPEN_DOCUMENT} <= set(names)


def open_documents(path: Path) -> tuple[Document, ...]:
    """Open the documents at a path, sorted by name; a folder or a zip stands for its content.

    Raises:
        SourceError: There is no file, a file is damaged, or a zip holds another zip.
    """
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.is_file())
        return tuple(document for file in files for document in open_documents(file))
    if not path.is_file():
        raise SourceError(f"{path}: no such file or folder")
    document = document_of(path)
    start = document.start()
    if start.startswith(_GZIP):
        return (
            Document(
                path.name.removesuffix(".gz"),
                str(path),
                lambda: io.BufferedReader(gzip.GzipFile(path)),
            ),
        )
    if start.startswith(_ZIP) and not document.is_workbook:
        return tuple(_members(document))
    return (document,)


def document_of(path: Path) -> Document:
    """Open a file as it is, without unpacking."""
    return Document(path.name, str(path), lambda: path.open("rb"))


def _members(archive: Document) -> Iterator[Document]:
    with archive.open() as file, zipfile.ZipFile(file) as opened:
        if not all(info.filename for info in opened.infolist()):
            raise SourceError(f"{archive.label}: damaged or truncated: a member has no name")
        infos = [info for info in opened.infolist() if not info.is_dir()]
    if not infos:
        raise SourceError(f"{archive.label}: a zip without files")
    check_members(archive.label, infos)
    for info in sorted(infos, key=lambda info: info.filename):
        name = info.filename.rpartition("/")[2]
        member = Document(name, f"{archive.label}:{name}", partial(_member, archive, info.filename))
        if member.start().startswith(_ZIP) and not member.is_workbook:
            raise SourceError(
                f"{member.label}: a zip within a zip; unpack the outer one and name the inner ones"
            )
        yield member


def check_members(label: str, infos: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse a zip that would take hours to read, or that is ambiguous.

    Raises:
        SourceError: The zip has too many members, two members of one name, or a member that
            unpacks to too much.
    """
    if len(infos) > _MOST_MEMBERS:
        raise SourceError(
            f"{label}: a zip of {len(infos):,} files, more than {_MOST_MEMBERS:,}; unpack it and "
            "name the files with counts"
        )
    names = [info.filename for info in infos]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SourceError(f"{label}: has two files {twice!r}; which is meant? unpack the zip")
    for info in infos:
        if info.file_size > max(_LARGE, _MOST_PACKED * info.compress_size):
            raise SourceError(
                f"{label}:{info.filename}: {info.compress_size:,} bytes that unpack to "
                f"{info.file_size:,}: no table is packed so small"
            )


@contextmanager
def _member(archive: Document, name: str) -> Iterator[IO[bytes]]:
    with (
        archive.opener() as file,
        zipfile.ZipFile(file) as opened,
        opened.open(name) as member,
    ):
        yield member


def read_json(document: Document) -> object:
    """Parse JSON to mappings, lists, texts and integers.

    A number that is not an integer, or has too many digits, stays text, for the reader of counts to
    refuse.

    Raises:
        SourceError: The document is damaged or no JSON, or an object has a key twice.
    """
    try:
        return json.loads(
            document.read().decode("utf-8-sig"),
            parse_int=_whole,
            parse_float=_whole,
            parse_constant=str,
            object_pairs_hook=_unique,
        )
    except RecursionError as error:
        raise SourceError(f"{document.label}: expected JSON, found brackets too deep") from error
    except ValueError as error:
        raise SourceError(f"{document.label}: expected JSON, {error}") from error


def _whole(text: str) -> int | str:
    """Convert ``12``, ``12.0`` and ``1.2e1`` to 12; keep others as text."""
    number = Decimal(text)
    if abs(number.adjusted()) >= _MOST_DIGITS or len(number.as_tuple().digits) > _MOST_DIGITS:
        return text
    return int(number) if number == number.to_integral_value() else text


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"but the key {twice!r} is there twice")
    return found
