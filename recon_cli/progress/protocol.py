"""Protocols of progress: its senders and receivers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

NO_STATUSES: Mapping[str, int] = MappingProxyType({})


class OnProgress(Protocol):
    """A callback for progress since the last call."""

    def __call__(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """Add ``units`` geounits with ``people``, and the number of units by outcome.

        Negative counts take back the progress of work that died with its worker.
        """


def ignore_progress(units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
    """Ignore progress."""


class ProgressSoFar:
    """Turns cumulative numbers, which may fall, into differences for `OnProgress`."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress = on_progress
        self._told: tuple[int, int, Counter[str]] = (0, 0, Counter())

    def tell(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """Report the cumulative number of finished units, their people, and outcomes."""
        before, now = self._told, Counter(statuses)
        news = Counter(now)
        news.subtract(before[2])
        changes = {name: number for name, number in news.items() if number}
        if units != before[0] or people != before[1] or changes:
            self._on_progress(units - before[0], people - before[1], changes)
        self._told = units, people, now

    def add(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """Report progress since the last call, like `OnProgress`."""
        now = Counter(self._told[2])
        now.update(statuses)
        self.tell(self._told[0] + units, self._told[1] + people, now)


@dataclass(frozen=True)
class Task:
    """The task of a progress bar.

    Attributes:
        unit: Name of the finest geounits (``block``).
        units: Number of units to do; None if unknown.
        people: Number of people in them; None if unknown.
        record: Name of one record, as in the schema.
    """

    stage: str
    unit: str
    units: int | None = None
    people: int | None = None
    record: str = "person"


@dataclass(frozen=True)
class FinishedPartition:
    """A finished partition.

    Attributes:
        name: Name in messages (``county 01073``).
        seconds: Wall time.
        peak_mb: Peak memory of the process that did it.
    """

    stage: str
    name: str
    seconds: float
    peak_mb: float


class Bar(Protocol):
    """A progress bar of one task."""

    def advance(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """Add progress since the last call; see `OnProgress`."""


class Reporter(Protocol):
    """The receiver of a stage's progress and messages."""

    @contextmanager
    def bar(self, task: Task) -> Iterator[Bar]:
        """Show progress of ``task`` until the block ends."""

    def finished(self, part: FinishedPartition) -> None: ...

    def note(self, text: str) -> None:
        """Report something that the user should know."""

    def detail(self, text: str) -> None:
        """Report a detail, shown with ``-v``."""


class SilentReporter:
    """A reporter without output: for libraries, tests and ``-q``."""

    @contextmanager
    def bar(self, task: Task) -> Iterator[Bar]:  # noqa: ARG002
        yield _NoBar()

    def finished(self, part: FinishedPartition) -> None: ...

    def note(self, text: str) -> None: ...

    def detail(self, text: str) -> None: ...


class _NoBar:
    def advance(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        pass
