"""Is a downloaded file what it should be? Asked before it gets its name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from recon_cli.errors import SourceError
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
