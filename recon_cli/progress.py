"""What a stage says while it works: a bar on a terminal, a line now and then elsewhere.

All of it goes to stderr; results go to stdout.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

#: Seconds between plain lines.
_EVERY = 5.0
NO_STATUSES: Mapping[str, int] = MappingProxyType({})


class Tick(Protocol):
    """Hears of progress: what was finished since the last call."""

    def __call__(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """Count ``units`` geounits with ``people``, and how many of them came out how."""


def no_tick(units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Task:
    """What a bar is about.

    Attributes:
        stage: Name of the stage.
        unit: What the finest geounits are called (``block``).
        units: How many there are to do; None if nobody knows.
        people: Likewise.
    """

    stage: str
    unit: str
    units: int | None = None
    people: int | None = None


class Bar(Protocol):
    """Progress of one task."""

    def advance(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """Count what was done since the last call; see `Tick`."""


class Reporter(Protocol):
    """Where a stage reports to."""

    @contextmanager
    def bar(self, task: Task) -> Iterator[Bar]:
        """Show progress of ``task`` until the block ends."""

    def note(self, text: str) -> None:
        """Say something that the user should know."""

    def detail(self, text: str) -> None:
        """Say something that only the curious want to know."""


def plural(name: str) -> str:
    """The name of a level, for several of them.

    >>> plural("block"), plural("county"), plural("class")
    ('blocks', 'counties', 'classes')
    """
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith(("s", "x", "ch", "sh")) else f"{name}s"


class Silent:
    """Says nothing: for libraries, tests and ``-q``."""

    @contextmanager
    def bar(self, task: Task) -> Iterator[Bar]:  # noqa: ARG002
        """A bar that nobody sees."""
        yield _NoBar()

    def note(self, text: str) -> None:
        """Drop it."""

    def detail(self, text: str) -> None:
        """Drop it."""


class _NoBar:
    def advance(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        pass


@dataclass
class OnConsole:
    """Reports on a rich console.

    Attributes:
        console: On stderr.
        verbose: Whether details are said.
    """

    console: Console
    verbose: bool = False

    @contextmanager
    def bar(self, task: Task) -> Iterator[Bar]:
        """A live bar on a terminal; elsewhere a line every few seconds."""
        if not self.console.is_terminal:
            yield _Lines(self, task)
            return
        with _live(self.console) as progress:
            yield _LiveBar(progress, task)

    def note(self, text: str) -> None:
        """Print it."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def detail(self, text: str) -> None:
        """Print it if asked for."""
        if self.verbose:
            self.note(text)


@dataclass
class _Lines:
    reporter: OnConsole
    task: Task
    _units: int = 0
    _people: int = 0
    _started: float = field(default_factory=time.monotonic)
    _said: float = field(default_factory=time.monotonic)

    def advance(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        self._units += units
        self._people += people
        now = time.monotonic()
        if now - self._said >= _EVERY:
            self._said = now
            of = "" if self.task.units is None else f" of {self.task.units:,}"
            self.reporter.note(
                f"{self.task.stage}: {self._units:,}{of} {plural(self.task.unit)}, "
                f"{self._people:,} people, {now - self._started:.0f} s"
            )


class _LiveBar:
    def __init__(self, progress: Progress, task: Task) -> None:
        self._progress = progress
        self._people = 0
        self._started = time.monotonic()
        self._id = progress.add_task(
            task.stage, total=task.units, unit=plural(task.unit), people="0", rate=""
        )

    def advance(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        self._people += people
        rate = self._people / max(time.monotonic() - self._started, 0.001)
        self._progress.update(
            self._id, advance=units, people=f"{self._people:,}", rate=f"{rate:,.0f}/s"
        )


@contextmanager
def _live(console: Console) -> Iterator[Progress]:
    from rich import progress as bars  # noqa: PLC0415 - a library user pays for it only here
    from rich.table import Column  # noqa: PLC0415

    columns: list[bars.ProgressColumn | str] = [
        "{task.description}",
        bars.BarColumn(bar_width=None, table_column=Column(ratio=1)),
        bars.TextColumn("{task.completed:,} {task.fields[unit]}"),
    ]
    if console.width >= 72:
        columns.append(bars.TextColumn("{task.fields[people]} people"))
    if console.width >= 90:
        columns.append(bars.TextColumn("{task.fields[rate]}"))
    columns.append(bars.TimeRemainingColumn(compact=True, elapsed_when_finished=True))
    with bars.Progress(*columns, console=console, expand=True, transient=True) as progress:
        yield progress
