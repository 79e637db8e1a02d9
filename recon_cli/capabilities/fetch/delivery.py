"""Delivery of a catalogue's file to a folder: downloaded, checked, named, recorded.

Until it has passed every check a download stays in ``.fetch/`` of that folder, where an interrupted
one waits for the next attempt. A file gets its own name only when it is complete. SHA-256 sums are
kept in the format that ``sha256sum -c`` reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from filelock import FileLock, Timeout

from recon_cli.capabilities.fetch.catalogue import Catalogue, CatalogueFile
from recon_cli.capabilities.fetch.transfer import WAITS, ResumingDownloader, meter
from recon_cli.errors import FetchError, SourceError
from recon_cli.progress import Reporter, SilentReporter
from recon_cli.schema import Release
from recon_cli.sources.legacy.layout import legacy_layout, take_inventory
from recon_cli.sources.legacy.lines import open_members, open_stream
from recon_cli.store.files import file_digest, make_folder, write_bytes

STAGING: Final = ".fetch"
SUMS: Final = "sha256sums.txt"
#: A digest, a blank, a blank or ``*``, a file name.
_SUM: Final = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
_ZIP_START: Final = b"PK\x03\x04"
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class Order:
    """Options of a delivery.

    Attributes:
        release: The release whose layout describes the files.
        mirror: Address in place of the publisher's.
        force: Whether to download existing files again, and record their checksums anew.
        waits: Seconds before each new attempt.
    """

    release: Release
    catalogue: Catalogue
    folder: Path
    mirror: str | None = None
    force: bool = False
    reporter: Reporter = field(default_factory=SilentReporter)
    waits: tuple[float, ...] = WAITS


@dataclass(frozen=True)
class Delivery:
    """A delivered file.

    Attributes:
        digest: The recorded SHA-256 of the file.
        how: ``fetched`` now, ``unchanged`` since it was recorded, or ``found``: put there by
            hand, now checked and recorded.
    """

    part: CatalogueFile
    path: Path
    size: int
    digest: str
    how: Literal["fetched", "unchanged", "found"]


def deliver(order: Order, part: CatalogueFile) -> Delivery:
    """Make sure that ``part`` is in the order's folder.

    Raises:
        FetchError: The file could not be downloaded or written, or differs from the recorded one.
        SourceError: The existing file, or the one that the server sent, is not the expected file.
    """
    target = order.folder / part.file
    with _staging(order.folder) as staging:
        sums = Checksums.read(order.folder)
        known = sums.of(part.file)
        if target.exists() and not order.force:
            present = _present(order, part, sums, known)
            with _disk(staging):
                for left in staging.glob(f"{part.file}*"):
                    left.unlink()  # a download that is not needed any more
            return present
        staged = _download(order, part, staging, None if order.force else known)
        with _disk(target):
            digest = file_digest(staged)
            staged.replace(target)
        sums.record(part.file, digest)
        return Delivery(part, target, target.stat().st_size, digest, "fetched")


def _present(order: Order, part: CatalogueFile, sums: Checksums, known: str | None) -> Delivery:
    target = order.folder / part.file
    with _disk(target):
        digest, size = file_digest(target), target.stat().st_size
    if known is None:
        try:
            accept(target, part, order.release, order.reporter)
        except SourceError as error:
            raise SourceError(f"{error}\n  remove it, and the same command fetches it") from error
        sums.record(part.file, digest)
        return Delivery(part, target, size, digest, "found")
    if digest != known:
        raise FetchError(
            f"{target}: not the file that was recorded in {sums.path}\n"
            f"  recorded {known}\n  found    {digest}\n"
            "  --force fetches it again; to keep it as it is, remove its line from that file"
        )
    return Delivery(part, target, size, digest, "unchanged")


def _download(order: Order, part: CatalogueFile, staging: Path, known: str | None) -> Path:
    """Download and check a file in the staging folder."""
    import pooch  # type: ignore[import-untyped]  # slow to import

    url = order.catalogue.address(part, order.mirror)
    staged = staging / part.file
    label = f"{part.name} ({part.file})"
    downloader = ResumingDownloader(
        staging / f"{part.file}.part", label, order.reporter, order.waits
    )
    order.reporter.note(f"{label}: from {url}")
    pooch.get_logger().setLevel("ERROR")  # it would speak into our progress
    with _disk(order.folder):
        if order.force:
            staged.unlink(missing_ok=True)
        try:
            pooch.retrieve(url, known, fname=part.file, path=staging, downloader=downloader)
        except FetchError as error:
            raise FetchError(f"{error}\n{_advice(order, part)}") from error
        except ValueError as error:  # how pooch says that the checksum differs
            raise FetchError(
                f"{label}: what {url} serves is not the file that was recorded in "
                f"{order.folder / SUMS}\n  recorded {known}\n"
                "  --force takes the new one and records it; --mirror URL asks another server"
            ) from error
    try:
        accept(staged, part, order.release, order.reporter)
    except SourceError as error:
        staged.unlink()
        raise SourceError(f"{label}: from {url}\n  {error}\n{_advice(order, part)}") from error
    return staged


def _advice(order: Order, part: CatalogueFile) -> str:
    return (
        "  --mirror URL asks another server; or get the file by hand, put it at\n"
        f"  {order.folder / part.file} and run the same command: it checks and records it"
    )


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    """Hold the staging folder exclusively; remove it afterwards if it is empty."""
    staging = folder / STAGING
    with _disk(staging):
        make_folder(staging)
    lock = staging / "lock"
    with _lock(lock, folder):
        with _disk(staging):
            for left in staging.glob("tmp*"):
                left.unlink()  # pooch's own, of a process that was killed
        try:
            yield staging
        finally:
            with _disk(staging):
                if list(staging.iterdir()) == [lock]:
                    lock.unlink()  # while it is held; filelock looks whether it holds a file
                    staging.rmdir()


@contextmanager
def _lock(path: Path, folder: Path) -> Iterator[None]:
    """Hold a lock; the system releases it when the process ends, however it ends."""
    with ExitStack() as held:
        with _disk(path):
            try:
                held.enter_context(FileLock(path, timeout=0))
            except Timeout:
                raise FetchError(
                    f"another process is running `recon fetch` in {folder}; wait for it to end"
                ) from None
        yield


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise FetchError(
            f"{where}: {error.strerror or error}; choose another folder with --to"
        ) from error


def accept(path: Path, part: CatalogueFile, release: Release, reporter: Reporter) -> None:
    """Check that a file is a complete zip with the members that `recon ingest` will read.

    Every byte of those members is decompressed, so that their checksums are compared too.

    Raises:
        SourceError: The file is something else; the message says what.
    """
    with path.open("rb") as file:
        start = file.read(200)
    if not start.startswith(_ZIP_START):
        raise SourceError(f"{path}: expected a zip file, found {_described(start)}")
    with open_members(path) as members:
        inventory = take_inventory(members, path, legacy_layout(release))
        name = inventory.geography.name.rsplit("/", 1)[-1]
        if not name.lower().startswith(part.key):
            raise SourceError(f"{path}: expected the files of {part.name}, found {name}")
        needed = (inventory.geography, *inventory.segments.values())
        size = sum(member.size or 0 for member in needed)
        with meter(reporter, f"checking {path.name}", size) as read:
            for member in needed:
                with open_stream(member) as stream:
                    while data := stream.read(_CHUNK):
                        read(len(data))


def _described(start: bytes) -> str:
    if not start:
        return "an empty file"
    if start.lstrip().startswith(b"<"):
        line = " ".join(start.decode("utf-8", errors="replace").split())
        return f"a web page ({line[:60]}…)"
    return f"other bytes ({start[:8]!r}…)"


@dataclass(frozen=True)
class Checksums:
    """The recorded checksums of a folder.

    Attributes:
        lines: Lines of the file; foreign ones stay as they are.
    """

    path: Path
    lines: tuple[str, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Checksums:
        """Read the checksums of ``folder``; empty if it has none.

        Raises:
            FetchError: The file cannot be read, or a line is no checksum.
        """
        path = folder / SUMS
        try:
            lines = tuple(path.read_text(encoding="utf-8").splitlines())
        except FileNotFoundError:
            return cls(path)
        except (OSError, UnicodeDecodeError) as error:
            raise FetchError(f"{path}: cannot be read: {error}") from error
        for number, line in enumerate(lines, start=1):
            if line and not line.startswith("#") and not _SUM.fullmatch(line):
                raise FetchError(
                    f"{path}:{number}: expected 64 hexadecimal digits, two blanks and a file "
                    f"name, found {line[:80]!r}; correct or remove the line"
                )
        return cls(path, lines)

    def of(self, name: str) -> str | None:
        """Return the recorded SHA-256 of a file; None if there is none."""
        return next(
            (m[1].lower() for m in map(_SUM.fullmatch, self.lines) if m and m[2] == name), None
        )

    def record(self, name: str, digest: str) -> None:
        """Record the checksum of ``name``, and write the file."""
        others = [line for line in self.lines if not ((m := _SUM.fullmatch(line)) and m[2] == name)]
        text = "\n".join([*others, f"{digest}  {name}"])
        write_bytes(self.path, f"{text}\n".encode())
