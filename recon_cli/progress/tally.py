"""Progress so far, its rate, and the estimated time left."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from recon_cli.plurals import plural
from recon_cli.progress.protocol import NO_STATUSES, Task

#: Seconds that the rate is measured over, so that it follows the work.
_WINDOW = 30.0
#: Seconds between two samples of the rate.
_SAMPLE = 1.0
#: Statuses that are shown under other names here.
_WORDS = {"unique": "proven unique"}
#: Statuses of things that are counted but not decided yet.
_UNDECIDED = "undecided"
#: Statuses in the order in which they are shown; others follow.
_ORDER = ("unique", "proven", "likely", "solved", "bounded", "open")


@dataclass(frozen=True)
class Snapshot:
    """A task at one moment.

    Attributes:
        units: Finished geounits.
        statuses: Number of units by outcome, in the stage's terms.
        seconds: Since the task began.
        rate: People a second, lately.
        left: Seconds that the rest will take at that rate; None if nobody knows.
    """

    task: Task
    units: int
    people: int
    statuses: Mapping[str, int]
    seconds: float
    rate: float
    left: float | None

    @property
    def share(self) -> float | None:
        """Return the share that is done, 0 to 1, by people where there are any; None if unknown."""
        for done, total in ((self.people, self.task.people), (self.units, self.task.units)):
            if total:
                return min(done / total, 1.0)
        return None

    def facts(self) -> list[str]:
        """List counts, outcomes and rate, in a few words each; people only if counted."""
        unit, people = (
            plural(name).replace("_", " ") for name in (self.task.unit, self.task.record)
        )
        of = "" if self.task.units is None else f" of {self.task.units:,}"
        told, rate = [f"{self.people:,} {people}"], [f"{self.rate:,.0f} {people}/s"]
        if not self.people and self.statuses:
            told, rate = [], []
        return [f"{self.units:,}{of} {unit}", *told, *outcomes(self.statuses), *rate]


class Tally:
    """Accumulates progress; may be read from another thread.

    Negative counts take back the progress of a dead worker.
    """

    def __init__(self, task: Task, clock: Callable[[], float] = time.monotonic) -> None:
        self._task = task
        self._clock = clock
        self._started = clock()
        self._units = self._people = 0
        self._statuses: Counter[str] = Counter()
        #: Samples of time, people, units and decisions; rates look back to the first.
        self._samples = deque([(self._started, 0, 0, 0)])
        self._lock = threading.Lock()
        self._advanced = self._started

    def advance(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """Add progress since the last call."""
        with self._lock:
            self._units += units
            self._people += people
            self._statuses.update(statuses)
            if units or people or statuses.get(_UNDECIDED):
                self._advanced = self._clock()

    def snapshot(self) -> Snapshot:
        with self._lock:
            now = self._clock()
            people, units, decided = self._lately(now)
            return Snapshot(
                self._task,
                self._units,
                self._people,
                dict(self._statuses),
                now - self._started,
                people,
                self._still_likely(self._left(people, units, decided), now),
            )

    def _still_likely(self, left: float | None, now: float) -> float | None:
        """Drop an estimate if nothing was finished for longer than all the rest would take."""
        return None if left is not None and now - self._advanced > max(left, _SAMPLE) else left

    def _lately(self, now: float) -> tuple[float, float, float]:
        """Return people, units and decisions a second, over the window or since the start."""
        samples = self._samples
        decided = self._statuses.total() - self._statuses[_UNDECIDED]
        if now - samples[-1][0] >= _SAMPLE:
            samples.append((now, self._people, self._units, decided))
        while len(samples) > 1 and now - samples[0][0] > _WINDOW:
            samples.popleft()
        since, *before = samples[0]
        if self._units == before[1] and decided == before[2]:
            since, before = self._started, [0, 0, 0]
        span = max(now - since, 0.001)
        people, units, done = (
            max(value - was, 0) / span
            for value, was in zip((self._people, self._units, decided), before, strict=True)
        )
        return people, units, done

    def _left(self, people_rate: float, units_rate: float, decided_rate: float) -> float | None:
        """Estimate the time left by undecided items where known, else by people, else by units."""
        task, undecided = self._task, self._statuses[_UNDECIDED]
        if undecided and not self._people:
            return undecided / decided_rate if decided_rate > 0 else None
        if task.people and people_rate > 0:
            return max(task.people - self._people, 0) / people_rate
        if task.units and units_rate > 0:
            return max(task.units - self._units, 0) / units_rate
        return None


def outcomes(statuses: Mapping[str, int]) -> list[str]:
    """List the numbers of units by outcome, proven ones first.

    >>> outcomes({"solved": 12, "not_yet": 1, "unique": 61})
    ['61 proven unique', '12 solved', '1 not yet']
    """
    return [
        f"{statuses[name]:,} {_WORDS.get(name, name.replace('_', ' '))}"
        for name in sorted(statuses, key=_rank)
        if statuses[name]
    ]


def _rank(status: str) -> tuple[int, str]:
    return (_ORDER.index(status) if status in _ORDER else len(_ORDER), status)


def clock_time(seconds: float) -> str:
    """Format a duration as a clock does.

    >>> clock_time(42.4), clock_time(725), clock_time(3723)
    ('0:42', '12:05', '1:02:03')
    """
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    if hours:
        return f"{hours}:{minutes:02}:{whole % 60:02}"
    return f"{minutes}:{whole % 60:02}"


def flow(facts: list[str], width: int, separator: str = " · ") -> list[str]:
    """Join facts into as few lines as possible.

    >>> flow(["73 blocks", "2,015 people", "41 proven"], 26)
    ['73 blocks · 2,015 people', '41 proven']
    """
    lines: list[str] = []
    for fact in facts:
        if lines and len(lines[-1]) + len(separator) + len(fact) <= width:
            lines[-1] += separator + fact
        else:
            lines.append(fact)
    return lines


@contextmanager
def call_periodically(seconds: float, beat: Callable[[], None]) -> Iterator[None]:
    """Call ``beat`` at a fixed interval, from a thread of its own, until the block ends.

    Raises:
        OSError: ``beat`` could not write; it was not called again.
    """
    over = threading.Event()
    failures: list[OSError] = []

    def go() -> None:
        while not over.wait(seconds):
            try:
                beat()
            except OSError as error:
                failures.append(error)
                return

    thread = threading.Thread(target=go, daemon=True, name="recon-progress")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failures:
        raise failures[0]
