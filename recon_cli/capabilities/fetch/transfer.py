"""A downloader for pooch that resumes downloads, and shows their progress.

Received bytes are kept in a part file, with a stamp beside it: the address, and the server's
identifier of this version of the file (its ETag or date). A later attempt asks for the rest *if the
version is unchanged*, so that two versions are never joined.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from recon_cli.errors import FetchError
from recon_cli.progress import ConsoleReporter, Reporter
from recon_cli.version import __version__

if TYPE_CHECKING:
    from requests import Response
    from rich.console import Console

#: Seconds before each new attempt; when they are used up, the download has failed.
WAITS: Final = (1.0, 2.0, 4.0, 8.0)
#: Seconds to wait for a connection, and for the next bytes.
TIMEOUTS: Final = (15.0, 60.0)
#: Bytes of progress after which attempts are counted anew.
_PROGRESS: Final = 1 << 20
#: Bytes of a piece; when the connection breaks, up to one piece is lost.
_CHUNK: Final = 1 << 13

#: Bytes of the largest file; an answer without an end would fill the disk.
MOST_BYTES: Final = 16 << 30
#: Status codes, below 500, of answers that may change on a later attempt.
_PASSING: Final = (408, 416, 425, 429)
_RANGE: Final = re.compile(r"bytes (\d+)-\d+/(\d+)")
#: Seconds between plain lines on progress.
_EVERY: Final = 5.0


class TransferError(Exception):
    """A failed attempt that may succeed when repeated."""


class Stamp(BaseModel):
    """The file and version of a part.

    Attributes:
        etag: The server's name of the version; empty if it has none, or a weak one.
        modified: The server's date of the version; empty if it has none.
        size: Bytes of the whole file, where the server says.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    url: str
    etag: str = ""
    modified: str = ""
    size: int | None = None

    @property
    def validator(self) -> str:
        """Return the validator to send to the server; empty if the part cannot be resumed."""
        return self.etag or self.modified


@dataclass
class ResumingDownloader:
    """Downloads into ``part``, and moves it to pooch's target when it is complete.

    Attributes:
        part: File for the bytes received; it stays when the download fails.
        waits: Seconds before each new attempt.
    """

    part: Path
    label: str
    reporter: Reporter
    waits: tuple[float, ...] = WAITS

    def __call__(self, url: str, output_file: str, pooch: object) -> None:  # noqa: ARG002
        """Download ``url`` to ``output_file``; called by pooch.

        Raises:
            FetchError: The server has no such file or refuses, or every attempt failed.
        """
        failures, farthest = 0, self._arrived()
        while True:
            try:
                self._attempt(url)
                break
            except TransferError as error:
                if self._arrived() >= farthest + _PROGRESS:
                    failures, farthest = 0, self._arrived()
                if failures == len(self.waits):
                    raise FetchError(self._given_up(error, url)) from error
                wait = self.waits[failures]
                failures += 1
                self.reporter.note(f"{self.label}: {error}; trying again in {wait:g} s")
                time.sleep(wait)
        self.part.replace(output_file)
        self._stamp_file.unlink(missing_ok=True)

    def _given_up(self, error: TransferError, url: str) -> str:
        if self._stamp(url) is None:
            return f"{self.label}: {error}"
        kept = f"{self._arrived() / 1e6:,.1f} MB are kept"
        return f"{self.label}: {error}; {kept}, the same command continues from there"

    def _attempt(self, url: str) -> None:
        import requests  # slow to import

        stamp = self._stamp(url)
        start = self._arrived() if stamp else 0
        headers = {"User-Agent": f"recon-cli/{__version__}", "Accept-Encoding": "identity"}
        if stamp:
            headers |= {"Range": f"bytes={start}-", "If-Range": stamp.validator}
        with (
            _passing_errors(self.label, url),
            requests.get(url, headers=headers, stream=True, timeout=TIMEOUTS) as response,
        ):
            self._refuse(response)
            size = self._begin(response, url, stamp, start)
            self._receive(response, size)

    def _refuse(self, response: Response) -> None:
        status, url = response.status_code, response.url
        said = f"{status} {response.reason or ''}".strip()
        if status == 416:
            self._discard()  # what we have is not a beginning of what the server has
        if status >= 500 or status in _PASSING:
            raise TransferError(f"{url} answered {said}")
        if status in (404, 410):
            raise FetchError(f"{self.label}: the server has no such file ({said}): {url}")
        if status not in (200, 206):
            raise FetchError(f"{self.label}: the server refused ({said}): {url}")
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            raise FetchError(f"{self.label}: the server sent the file as {encoding}: {url}")

    def _begin(self, response: Response, url: str, stamp: Stamp | None, start: int) -> int | None:
        """Prepare the part for the response; return the size of the whole file, if known.

        Raises:
            TransferError: The server sends a piece that does not fit what we have.
        """
        length = response.headers.get("Content-Length", "")
        offered = Stamp(
            url=url,
            etag=_strong(response.headers.get("ETag", "")),
            modified=response.headers.get("Last-Modified", ""),
            size=int(length) if length.isdigit() else None,
        )
        if response.status_code == 206:
            match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if stamp is None or not match or not _continues(stamp, offered, match, start):
                self._discard()
                raise TransferError(f"{response.url} sent a piece of another file")
            return int(match[2])
        if start:
            self.reporter.note(f"{self.label}: the server sends the file from its beginning")
        self._discard()
        self.part.touch()
        self._stamp_file.write_text(offered.model_dump_json(), encoding="utf-8")
        return offered.size

    def _receive(self, response: Response, size: int | None) -> None:
        with (
            meter(self.reporter, self.part.stem, size, self._arrived()) as arrived,
            self.part.open("ab") as file,
        ):
            if size is not None and size > MOST_BYTES:
                raise self._too_large()
            left = MOST_BYTES - self._arrived()
            for chunk in response.iter_content(_CHUNK):
                if (left := left - len(chunk)) < 0:
                    raise self._too_large()
                file.write(chunk)
                arrived(len(chunk))
            file.flush()
            os.fsync(file.fileno())
        if size is not None and self._arrived() != size:
            raise TransferError(f"{self._arrived():,} of {size:,} bytes arrived")

    def _too_large(self) -> FetchError:
        self._discard()
        return FetchError(f"{self.label}: larger than {MOST_BYTES:,} bytes, the limit of a file")

    @property
    def _stamp_file(self) -> Path:
        return self.part.with_name(f"{self.part.name}.json")

    def _stamp(self, url: str) -> Stamp | None:
        """Return the stamp of the part, if it can be resumed from ``url``."""
        if not self._arrived() or not self._stamp_file.is_file():
            return None
        try:
            stamp = Stamp.model_validate_json(self._stamp_file.read_bytes())
        except ValidationError:
            return None  # half a stamp: of what the part is half cannot be said
        return stamp if stamp.url == url and stamp.validator else None

    def _arrived(self) -> int:
        return self.part.stat().st_size if self.part.is_file() else 0

    def _discard(self) -> None:
        self._stamp_file.unlink(missing_ok=True)
        self.part.unlink(missing_ok=True)


def _strong(etag: str) -> str:
    """Return a strong ETag, which identifies equal bytes; empty for a weak one."""
    return "" if etag.startswith("W/") else etag


def _continues(stamp: Stamp, offered: Stamp, match: re.Match[str], start: int) -> bool:
    """Test whether a response continues the part; a server may ignore ``If-Range``."""
    return (
        int(match[1]) == start
        and stamp.size in (None, int(match[2]))
        and offered.etag in ("", stamp.etag)
        and (offered.etag != "" or offered.modified in ("", stamp.modified))
    )


@contextmanager
def _passing_errors(label: str, url: str) -> Iterator[None]:
    """Turn exceptions of requests into a failed attempt, or into a final failure."""
    from requests import exceptions as http
    from urllib3.exceptions import NameResolutionError

    try:
        yield
    except (
        http.InvalidURL,
        http.InvalidSchema,
        http.MissingSchema,
        http.TooManyRedirects,
    ) as error:
        raise FetchError(f"{label}: {error}") from error
    except http.SSLError as error:
        raise FetchError(f"{label}: no secure connection: {_said(error)}") from error
    except http.Timeout as error:
        raise TransferError("the server did not answer in time") from error
    except http.ConnectionError as error:
        if isinstance(_cause(error), NameResolutionError):
            raise FetchError(
                f"{label}: the server of {url} is not found; check that this machine is online"
            ) from error
        raise TransferError(f"no connection: {_said(error)}") from error
    except http.RequestException as error:
        raise TransferError(f"the connection broke off: {_said(error)}") from error


def _cause(error: BaseException) -> BaseException:
    """Return the innermost of the exceptions that requests and urllib3 have wrapped."""
    inner = getattr(error, "reason", None) or (error.args[0] if error.args else None)
    return _cause(inner) if isinstance(inner, BaseException) else error


def _said(error: BaseException) -> str:
    cause = _cause(error)
    return str(cause.args[0] if cause.args and isinstance(cause.args[0], str) else cause)


class Arrived(Protocol):
    """A callback for the number of bytes received since the last call."""

    def __call__(self, count: int, /) -> None: ...


@contextmanager
def meter(reporter: Reporter, name: str, size: int | None, done: int = 0) -> Iterator[Arrived]:
    """Show the progress of a file.

    Args:
        size: Size in bytes, if known.
        done: Bytes received earlier.
    """
    if isinstance(reporter, ConsoleReporter) and reporter.console.is_terminal:
        with live(reporter.console, name, size, done) as arrived:
            yield arrived
    else:
        yield Lines(reporter.note, name, size, done)


@dataclass
class Lines:
    """Prints a line every few seconds, and none for a file that arrives sooner.

    Attributes:
        size: Size in bytes, if known.
    """

    say: Callable[[str], None]
    name: str
    size: int | None
    done: int
    _fresh: int = 0
    _started: float = field(default_factory=time.monotonic)
    _said: float = field(default_factory=time.monotonic)

    def __call__(self, count: int, /) -> None:
        self.done += count
        self._fresh += count
        now = time.monotonic()
        if now - self._said >= _EVERY:
            self._said = now
            of = "" if self.size is None else f" of {self.size / 1e6:,.1f}"
            rate = self._fresh / (now - self._started)
            self.say(f"{self.name}: {self.done / 1e6:,.1f}{of} MB, {rate / 1e6:,.1f} MB/s")


@contextmanager
def live(console: Console, name: str, size: int | None, done: int) -> Iterator[Arrived]:
    """Show a bar as wide as the terminal, without the rate if it does not fit."""
    from rich import progress as bars  # a library user pays for it only here
    from rich.table import Column

    columns: list[bars.ProgressColumn | str] = [
        "{task.description}",
        bars.BarColumn(bar_width=None, table_column=Column(ratio=1)),
        bars.DownloadColumn(),
    ]
    if console.width >= 72:
        columns.append(bars.TransferSpeedColumn())
    columns.append(bars.TimeRemainingColumn(compact=True, elapsed_when_finished=True))
    with bars.Progress(*columns, console=console, expand=True, transient=True) as progress:
        task = progress.add_task(name, total=size, completed=done)
        yield lambda count: progress.advance(task, count)
