"""What work says of itself, and who may listen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

NO_STATUSES: Mapping[str, int] = MappingProxyType({})


class OnProgress(Protocol):
    """Hears of progress: what was finished since the last call."""

    def __call__(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """Count ``units`` geounits with ``people``, and how many of them came out how.

        Negative counts take back what was counted for work that died with its worker.
        """


def ignore_progress(units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
    """Ignore progress."""


class ProgressSoFar:
    """Tells what is new of numbers that are given as they are so far; they may fall again."""

    def __init__(self, on_progress: OnProgress) -> None:
        """Nothing is told yet."""
        self._on_progress = on_progress
        self._told: tuple[int, int, Counter[str]] = (0, 0, Counter())

    def tell(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """Units that are done, their people, and how many of what is counted came out how."""
        before, now = self._told, Counter(statuses)
        news = Counter(now)
        news.subtract(before[2])
        changes = {name: number for name, number in news.items() if number}
        if units != before[0] or people != before[1] or changes:
            self._on_progress(units - before[0], people - before[1], changes)
        self._told = units, people, now

    def add(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """What was done since the last call, as `OnProgress` has it."""
        now = Counter(self._told[2])
        now.update(statuses)
        self.tell(self._told[0] + units, self._told[1] + people, now)


@dataclass(frozen=True)
class Task:
    """What a bar is about.

    Attributes:
        stage: Name of the stage.
        unit: What the finest geounits are called (``block``).
        units: How many there are to do; None if nobody knows.
        people: Likewise.
        record: What one of these is called, as in the schema.
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
        stage: Name of the stage.
        name: What messages call the partition (``county 01073``).
        seconds: Wall time.
        peak_mb: Peak memory of the process that did it.
    """

    stage: str
    name: str
    seconds: float
    peak_mb: float


class Bar(Protocol):
    """Progress of one task."""

    def advance(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """Count what was done since the last call; see `OnProgress`."""


class Reporter(Protocol):
    """Where a stage reports to."""

    @contextmanager
    def bar(self, task: Task) -> Iterator[Bar]:
        """Show progress of ``task`` until the block ends."""

    def finished(self, part: FinishedPartition) -> None:
        """Hear that a partition is finished."""

    def note(self, text: str) -> None:
        """Report something that the user should know."""

    def detail(self, text: str) -> None:
        """Report a detail, shown with ``-v``."""


class SilentReporter:
    """Says nothing: for libraries, tests and ``-q``."""

    @contextmanager
    def bar(self, task: Task) -> Iterator[Bar]:  # noqa: ARG002
        """A bar that nobody sees."""
        yield _NoBar()

    def finished(self, part: FinishedPartition) -> None:
        """Drop it."""

    def note(self, text: str) -> None:
        """Drop it."""

    def detail(self, text: str) -> None:
        """Drop it."""


class _NoBar:
    def advance(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        pass
