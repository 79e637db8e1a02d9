"""A state's files, in a zip or in a folder, as named streams.

Nothing is extracted: members are decompressed as they are read.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Protocol

from recon_cli.errors import SourceError

if TYPE_CHECKING:
    from recon_cli.sources.legacy.layout import Layout

#: State, part, and suffix of a member's name; a prototype may have more after the year.
_MEMBER: Final = re.compile(r"([a-z]{2})(geo|\d{5})\d{4}(?:_\w+)?\.([a-z0-9]+)", re.IGNORECASE)

#: What zipfile and zlib raise on damaged bytes. Beside its own error zipfile lets through what
#: its parsing of the damaged bytes ran into; RuntimeError is an encrypted or unknown member.
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
)

#: Bytes of a header that tell its form: less than a record.
_SAMPLE: Final = 100


def states_of(path: Path) -> tuple[Path, ...]:
    """The zips of a folder that has no members itself; else the path."""
    names = [each.name for each in path.iterdir()] if path.is_dir() else []
    zips = sorted(path / name for name in names if name.lower().endswith(".zip"))
    is_of_zips = zips and not any(_MEMBER.fullmatch(name) for name in names)
    return tuple(zips) if is_of_zips else (path,)


class Stream:
    """One member, open for reading.

    Attributes:
        label: How messages name the member: ``al2010.sf1.zip:algeo2010.sf1``.
    """

    def __init__(self, file: IO[bytes], label: str) -> None:
        self.label = label
        self._file = file

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes, fewer only at the end.

        Raises:
            SourceError: The member is damaged.
        """
        try:
            return self._file.read(size)
        except _DAMAGE as error:
            raise _damaged(self.label, error) from error


class Archive(Protocol):
    """Where the members are."""

    def names(self) -> list[str]:
        """Members, as the archive spells them."""

    def label(self, name: str) -> str:
        """How messages name a member."""

    def open(self, name: str) -> IO[bytes]:
        """Open a member for reading."""


@dataclass(frozen=True)
class ZipArchive:
    """A zip file."""

    path: Path
    file: zipfile.ZipFile

    def names(self) -> list[str]:
        """Members, as the archive spells them."""
        return self.file.namelist()

    def label(self, name: str) -> str:
        """``zip:member``."""
        return f"{self.path}:{name}"

    def open(self, name: str) -> IO[bytes]:
        """Open a member for reading."""
        return self.file.open(name)


@dataclass(frozen=True)
class FolderArchive:
    """A folder with the unzipped members."""

    path: Path

    def names(self) -> list[str]:
        """Files in the folder."""
        return sorted(entry.name for entry in self.path.iterdir() if entry.is_file())

    def label(self, name: str) -> str:
        """The file's path."""
        return str(self.path / name)

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading."""
        return (self.path / name).open("rb")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a zip or a folder, by what ``path`` is.

    Raises:
        SourceError: There is nothing there, or it is no zip.
    """
    if path.is_dir():
        yield FolderArchive(path)
        return
    if not path.exists():
        raise SourceError(f"{path}: no such file or folder; expected a state's zip or its members")
    try:
        file = zipfile.ZipFile(path)
    except _DAMAGE as error:
        raise SourceError(
            f"{path}: expected a zip file or a folder, but this is none or was cut off ({error})"
        ) from error
    with file:
        yield ZipArchive(path, file)


@contextmanager
def open_stream(archive: Archive, name: str) -> Iterator[Stream]:
    """Open one member.

    Raises:
        SourceError: The member cannot be opened.
    """
    label = archive.label(name)
    try:
        file = archive.open(name)
    except _DAMAGE as error:
        raise _damaged(label, error) from error
    with file:
        yield Stream(file, label)


def header_suffixes(path: Path) -> set[str]:
    """How the names of a zip's or folder's geographic headers end; empty if it has none.

    Raises:
        SourceError: There is nothing there, or it is no zip.
    """
    with open_archive(path) as archive:
        matches = [_MEMBER.fullmatch(name.rsplit("/", 1)[-1]) for name in archive.names()]
    return {each[3].lower() for each in matches if each is not None and each[2].lower() == "geo"}


@dataclass(frozen=True)
class Inventory:
    """The members that a source reads.

    Attributes:
        geography: Name of the geographic header.
        segments: Segment number → member name.
    """

    geography: str
    segments: dict[int, str]


def take_inventory(archive: Archive, path: Path, layout: Layout) -> Inventory:
    """Find the geographic header and the needed segments of the same state.

    Raises:
        SourceError: A member is missing or there twice, or the header is of another form.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for name in archive.names():
        match = _MEMBER.fullmatch(name.rsplit("/", 1)[-1])
        if match and match[3].lower() == layout.suffix:
            found.setdefault((match[1].lower(), match[2].lower()), []).append(name)
    headers = [name for (_, part), names in found.items() if part == "geo" for name in names]
    if not headers:
        raise SourceError(
            f"{path}: no geography member; expected one such as algeo2010.{layout.suffix}"
        )
    if len(headers) > 1:
        raise SourceError(
            f"{path}: expected one geography member, found {len(headers)}: "
            f"{', '.join(sorted(headers))}"
        )
    state = next(state for state, part in found if part == "geo")
    _check_form(archive, headers[0], layout)
    members: dict[int, str] = {}
    for segment in layout.segments:
        names = found.get((state, f"{segment.number:05}"), [])
        if len(names) != 1:
            tables = ", ".join(placement.table.name for placement in segment.placements)
            raise SourceError(
                f"{path}: expected one member {state}{segment.number:05}….{layout.suffix} "
                f"(segment {segment.number}, tables {tables}), "
                f"found {', '.join(sorted(names)) or 'none'}"
            )
        members[segment.number] = names[0]
    return Inventory(headers[0], members)


def _check_form(archive: Archive, geography: str, layout: Layout) -> None:
    """Refuse a header that is written in another form, as of another census."""
    with open_stream(archive, geography) as stream:
        start = stream.read(_SAMPLE)
    is_delimited, expected = b"|" in start, layout.header.separator == "|"
    if start and is_delimited != expected:
        forms = ("fixed columns, as to 2010", "columns separated by |, as since 2020")
        raise SourceError(
            f"{stream.label}: expected a header of {forms[expected]}, found {forms[is_delimited]}"
        )


def _damaged(label: str, error: Exception) -> SourceError:
    return SourceError(f"{label}: damaged or truncated, cannot be decompressed or read: {error}")
