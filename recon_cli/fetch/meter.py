"""How much of a file has arrived: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from recon_cli.progress import ConsoleReporter, Reporter

if TYPE_CHECKING:
    from rich.console import Console

#: Seconds between plain lines.
_EVERY: Final = 5.0


class Arrived(Protocol):
    """Hears of bytes: how many have arrived since the last call."""

    def __call__(self, count: int, /) -> None:
        """Count them."""


@contextmanager
def meter(reporter: Reporter, name: str, size: int | None, done: int = 0) -> Iterator[Arrived]:
    """Show how much of a file has arrived.

    Args:
        reporter: Where.
        name: What the file is called.
        size: In bytes, if known.
        done: Bytes that were there before.
    """
    if isinstance(reporter, ConsoleReporter) and reporter.console.is_terminal:
        with live(reporter.console, name, size, done) as arrived:
            yield arrived
    else:
        yield Lines(reporter.note, name, size, done)


@dataclass
class Lines:
    """Says a line every few seconds, and none about a file that is there sooner.

    Attributes:
        say: Where the lines go.
        name: Of the file.
        size: In bytes, if known.
        done: Bytes so far.
    """

    say: Callable[[str], None]
    name: str
    size: int | None
    done: int
    _fresh: int = 0
    _started: float = field(default_factory=time.monotonic)
    _said: float = field(default_factory=time.monotonic)

    def __call__(self, count: int, /) -> None:
        """Count bytes."""
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
    """A bar as wide as the terminal; the rate is left out where it would not fit."""
    from rich import progress as bars  # noqa: PLC0415 - a library user pays for it only here
    from rich.table import Column  # noqa: PLC0415

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
