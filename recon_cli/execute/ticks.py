"""Progress on its way from a worker to the parent: added up, and sent now and then."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from recon_cli.progress import NO_STATUSES


@dataclass(frozen=True)
class Ticked:
    """Progress of an attempt at a shard; also differences of it, which may be negative."""

    units: int = 0
    people: int = 0
    statuses: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Ticked) -> Ticked:
        statuses = Counter(self.statuses)
        statuses.update(other.statuses)
        return Ticked(self.units + other.units, self.people + other.people, dict(statuses))

    def __sub__(self, other: Ticked) -> Ticked:
        statuses = Counter(self.statuses)
        statuses.subtract(other.statuses)
        return Ticked(
            self.units - other.units,
            self.people - other.people,
            {status: count for status, count in statuses.items() if count},
        )

    def __bool__(self) -> bool:
        return bool(self.units or self.people or any(self.statuses.values()))


class Ticker:
    """A `Tick` that sends what it hears, but not more often than every so many seconds.

    Attributes:
        total: All that it has heard.
    """

    def __init__(self, send: Callable[[Ticked], None], seconds: float) -> None:
        self.total = Ticked()
        self._send = send
        self._seconds = seconds
        self._said = Ticked()
        self._sent = time.monotonic()

    def __call__(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """Count it."""
        self.total += Ticked(units, people, statuses)
        if time.monotonic() - self._sent >= self._seconds:
            self._flush()

    def _flush(self) -> None:
        news = self.total - self._said
        if news:
            self._send(news)
        self._said = self.total
        self._sent = time.monotonic()
