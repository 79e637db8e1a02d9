"""Progress for programs: one JSON object per line, with the fields that `recon run --help` lists.

Progress is written once a second and at the end of a task. An unknown total or time is null.
Seconds are wall time, people and units are counts, memory is in MB.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TextIO

from recon_cli.progress.protocol import Bar, FinishedPartition, Task
from recon_cli.progress.tally import Snapshot, Tally, call_periodically
from recon_cli.resources import Memory

#: Seconds between two lines of progress.
_EVERY = 1.0

Fact = str | int | float | Sequence[str] | Mapping[str, int] | None


class JsonLinesReporter:
    """Reports as JSON lines.

    Args:
        stream: Output stream.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def emit(self, event: str, **facts: Fact) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        text = json.dumps({"event": event, "time": now, **facts}, ensure_ascii=False)
        with self._lock:
            self._stream.write(f"{text}\n")
            self._stream.flush()

    @contextmanager
    def bar(self, task: Task) -> Iterator[Bar]:
        """Write a line of progress every second, and one at the end."""
        tally, memory = Tally(task), Memory()

        def tell() -> None:
            self.emit("progress", **_progress(tally.snapshot(), memory.mb()))

        with call_periodically(_EVERY, tell):
            yield tally
        tell()

    def finished(self, part: FinishedPartition) -> None:
        self.emit(
            "partition_done",
            stage=part.stage,
            partition=part.name,
            seconds=round(part.seconds, 3),
            peak_mb=part.peak_mb,
        )

    def note(self, text: str) -> None:
        self.emit("note", text=text)

    def detail(self, text: str) -> None:
        """Ignore the text, whose facts are in other events."""


def _progress(now: Snapshot, memory_mb: float | None) -> dict[str, Fact]:
    return {
        "stage": now.task.stage,
        "units": now.units,
        "units_total": now.task.units,
        "people": now.people,
        "people_total": now.task.people,
        "statuses": now.statuses,
        "seconds": round(now.seconds, 3),
        "people_per_second": round(now.rate, 1),
        "seconds_left": None if now.left is None else round(now.left, 1),
        "memory_mb": None if memory_mb is None else round(memory_mb, 1),
    }
