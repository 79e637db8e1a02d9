"""Where the time and the memory of one process go, in its own words."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

_SELF = Path("/proc/self")
_START_TICKS = 19  # field of /proc/self/stat, counted from behind the command's name


class Laps:
    """Wall and CPU seconds and peak memory of each part of a program.

    The first part, ``start``, is what went before: the interpreter's start and the imports.
    Beginning a part resets the process's high-water mark, so that each has a peak of its own;
    the process's is the highest of them.
    """

    def __init__(self) -> None:
        self._parts: dict[str, dict[str, float]] = {}
        self._at = self._spent = 0.0
        self._end("start", _age())

    def lap(self, name: str) -> None:
        """End the part ``name``, which began where the one before ended."""
        self._end(name, time.perf_counter() - self._at)

    def write(self, path: Path, **facts: object) -> None:
        """Write everything as JSON."""
        path.write_text(json.dumps({**facts, "parts": self._parts}, indent=1) + "\n")

    def _end(self, name: str, seconds: float) -> None:
        self._parts[name] = {
            "seconds": round(seconds, 4),
            "cpu_seconds": round(time.process_time() - self._spent, 4),
            "peak_mb": round(_memory("VmHWM"), 1),
            "left_mb": round(_memory("VmRSS"), 1),
        }
        (_SELF / "clear_refs").write_text("5")
        self._at, self._spent = time.perf_counter(), time.process_time()


def _age() -> float:
    """Seconds since this process began, to the hundredth."""
    fields = (_SELF / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
    began = int(fields[_START_TICKS]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began


def _memory(name: str) -> float:
    """A line of /proc/self/status, in MB."""
    for line in (_SELF / "status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise OSError(f"/proc/self/status has no {name}")
