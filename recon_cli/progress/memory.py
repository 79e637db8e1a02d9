"""Memory of this process and of the workers that it started."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

#: Seconds that a figure stays good for: looking costs a file a process.
_FRESH = 1.0


class Memory:
    """Resident memory, looked up at most once a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked: float | None = None
        self._mb: float | None = None

    def mb(self) -> float | None:
        """MB, workers included where the system tells; None if it tells nothing."""
        now = self._clock()
        if self._looked is None or now - self._looked >= _FRESH:
            self._looked = now
            self._mb = resident_mb()
        return self._mb


def resident_mb() -> float | None:
    """MB that this process and its descendants hold; its own peak where there is no ``/proc``."""
    if Path("/proc/self/statm").exists():
        return sum(_held(pid) for pid in _family(os.getpid()))
    try:
        import resource  # noqa: PLC0415 - Windows has none
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 if os.uname().sysname == "Linux" else 1024**2)


def _family(pid: int) -> list[int]:
    """A process and its descendants, as far as the system lists children."""
    found = [pid]
    for parent in found:
        for thread in Path(f"/proc/{parent}/task").glob("*/children"):
            found += [int(child) for child in _text(thread).split()]
    return found


def _held(pid: int) -> float:
    fields = _text(Path(f"/proc/{pid}/statm")).split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 1024**2 if fields else 0.0


def _text(path: Path) -> str:
    """A file of ``/proc``; empty when its process has just ended."""
    try:
        return path.read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""
