"""Progress on its way from a worker to the parent: added up, and sent now and then."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from recon_cli.progress import NO_STATUSES


@dataclass(frozen=True)
class ProgressMessage:
    """Progress of an attempt at an item; also differences of it, which may be negative."""

    units: int = 0
    people: int = 0
    statuses: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: ProgressMessage) -> ProgressMessage:
        statuses = Counter(self.statuses)
        statuses.update(other.statuses)
        return ProgressMessage(self.units + other.units, self.people + other.people, dict(statuses))

    def __sub__(self, other: ProgressMessage) -> ProgressMessage:
        statuses = Counter(self.statuses)
        statuses.subtract(other.statuses)
        return ProgressMessage(
            self.units - other.units,
            self.people - other.people,
            {status: count for status, count in statuses.items() if count},
        )

    def __bool__(self) -> bool:
        return bool(self.units or self.people or any(self.statuses.values()))


class ProgressSender:
    """A `Tick` that sends what it hears, but not more often than every so many seconds.

    Attributes:
        total: All that it has heard.
    """

    def __init__(self, send: Callable[[ProgressMessage], None], seconds: float) -> None:
        self.total = ProgressMessage()
        self._send = send
        self._seconds = seconds
        self._reported = ProgressMessage()
        self._sent = time.monotonic()

    def __call__(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """Count it."""
        self.total += ProgressMessage(units, people, statuses)
        if time.monotonic() - self._sent >= self._seconds:
            self._flush()

    def _flush(self) -> None:
        news = self.total - self._reported
        if news:
            self._send(news)
        self._reported = self.total
        self._sent = time.monotonic()
