"""Is a downloaded file what it should be? Asked before it gets its name, and the next time.

SHA-256 sums are kept in the format that ``sha256sum -c`` reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from recon_cli.errors import FetchError, SourceError
from recon_cli.fetch.catalogue import CatalogueFile
from recon_cli.fetch.meter import meter
from recon_cli.progress import Reporter
from recon_cli.schema import Release
from recon_cli.sources.legacy.archive import (
    Archive,
    Inventory,
    ZipArchive,
    open_archive,
    open_stream,
    take_inventory,
)
from recon_cli.sources.legacy.layout import legacy_layout
from recon_cli.store.files import write_bytes

_ZIP_START: Final = b"PK\x03\x04"
_CHUNK: Final = 1 << 20


def accept(path: Path, part: CatalogueFile, release: Release, reporter: Reporter) -> None:
    """Check that a file is a whole zip with the members that `recon ingest` will read.

    Every byte of those members is decompressed, so that their checksums are compared too.

    Raises:
        SourceError: It is not; says what it is instead.
    """
    with path.open("rb") as file:
        start = file.read(200)
    if not start.startswith(_ZIP_START):
        raise SourceError(f"{path}: expected a zip file, found {_described(start)}")
    with open_archive(path) as archive:
        inventory = take_inventory(archive, path, legacy_layout(release))
        member = inventory.geography.rsplit("/", 1)[-1]
        if not member.lower().startswith(part.key):
            raise SourceError(f"{path}: expected the files of {part.name}, found {member}")
        _read_through(archive, inventory, reporter, path.name)


def _read_through(archive: Archive, inventory: Inventory, reporter: Reporter, name: str) -> None:
    members = (inventory.geography, *inventory.segments.values())
    size = None
    if isinstance(archive, ZipArchive):
        size = sum(archive.file.getinfo(member).file_size for member in members)
    with meter(reporter, f"checking {name}", size) as read:
        for member in members:
            with open_stream(archive, member) as stream:
                while data := stream.read(_CHUNK):
                    read(len(data))


def _described(start: bytes) -> str:
    if not start:
        return "an empty file"
    if start.lstrip().startswith(b"<"):
        line = " ".join(start.decode("utf-8", errors="replace").split())
        return f"a web page ({line[:60]}…)"
    return f"other bytes ({start[:8]!r}…)"


FILE: Final = "sha256sums.txt"

#: A digest, a blank, a blank or ``*``, a file name.
_LINE: Final = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")


@dataclass(frozen=True)
class Checksums:
    """The recorded checksums of a folder.

    Attributes:
        path: The file.
        lines: Its lines; those that we do not write ourselves stay as they are.
    """

    path: Path
    lines: tuple[str, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Checksums:
        """What is recorded in ``folder``; nothing if there is no such file.

        Raises:
            FetchError: The file cannot be read, or a line is no checksum.
        """
        path = folder / FILE
        try:
            lines = tuple(path.read_text(encoding="utf-8").splitlines())
        except FileNotFoundError:
            return cls(path)
        except (OSError, UnicodeDecodeError) as error:
            raise FetchError(f"{path}: cannot be read: {error}") from error
        for number, line in enumerate(lines, start=1):
            if line and not line.startswith("#") and not _LINE.fullmatch(line):
                raise FetchError(
                    f"{path}:{number}: expected 64 hexadecimal digits, two blanks and a file "
                    f"name, found {line[:80]!r}; correct or remove the line"
                )
        return cls(path, lines)

    def of(self, name: str) -> str | None:
        """The recorded SHA-256 of a file, None if there is none."""
        return next(
            (m[1].lower() for m in map(_LINE.fullmatch, self.lines) if m and m[2] == name), None
        )

    def record(self, name: str, digest: str) -> None:
        """Write the file with the checksum of ``name`` in it.

        Raises:
            StageError: It cannot be written.
        """
        others = [
            line for line in self.lines if not ((m := _LINE.fullmatch(line)) and m[2] == name)
        ]
        text = "\n".join([*others, f"{digest}  {name}"])
        write_bytes(self.path, f"{text}\n".encode())
