"""Time and memory of this process: cost of work, memory in use, and signs of a shortage."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from recon_cli.errors import MemoryShortage, ReconError, StageError

#: Bytes below its cap at which a process may have been refused more, whatever the error says.
_NEAR: Final = 64 << 20
#: Least cap, in bytes, under which polars and OpenBLAS, with two threads, can be loaded without
#: ending the process; measured. More threads need more.
_LEAST: Final = 1_000 << 20
#: Seconds for which a figure of memory is reused: each one reads a file per process.
_FRESH: Final = 1.0
#: New containers before garbage is collected. Python's own 700 take a tenth of a short run:
#: modules, schemas and plans from start-up stay, and every collection walks through them.
_NEW_CONTAINERS: Final = 100_000
#: Error numbers of the system for a full disk or device.
_DISK: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def collect_seldom() -> None:
    """Collect garbage less often in this process; for processes of our own.

    Python's two collections at exit are skipped too, since the system frees the memory anyway.
    """
    gc.set_threshold(_NEW_CONTAINERS)
    atexit.register(gc.freeze)


@dataclass(frozen=True)
class Usage:
    """The cost of a piece of work, as manifests record it."""

    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0


def peak_mb() -> float:
    """Return the peak resident memory of this process in MB; 0 where the system does not tell."""
    kilobytes = _kilobytes("VmHWM")  # getrusage would count what the process was before exec, too
    return round((_recorded_peak_mb() or 0.0) if kilobytes is None else kilobytes / 1024, 1)


class Memory:
    """Resident memory, queried at most once a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked: float | None = None
        self._mb: float | None = None

    def mb(self) -> float | None:
        """Return MB in use, with those of workers where known; None if unknown."""
        now = self._clock()
        if self._looked is None or now - self._looked >= _FRESH:
            self._looked = now
            self._mb = resident_mb()
        return self._mb


def resident_mb() -> float | None:
    """Return MB of this process and its descendants; its own peak where there is no ``/proc``."""
    if Path("/proc/self/statm").exists():
        return sum(_held(pid) for pid in _family(os.getpid()))
    return _recorded_peak_mb()


def _family(pid: int) -> list[int]:
    """List a process and its descendants, as far as the system lists children."""
    found = [pid]
    for parent in found:
        for thread in Path(f"/proc/{parent}/task").glob("*/children"):
            found += [int(child) for child in _text(thread).split()]
    return found


def _held(pid: int) -> float:
    fields = _text(Path(f"/proc/{pid}/statm")).split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 1024**2 if fields else 0.0


def _text(path: Path) -> str:
    """Read a file of ``/proc``; empty if its process has just ended."""
    try:
        return path.read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""


def _recorded_peak_mb() -> float | None:
    try:
        import resource  # Windows has none
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 if os.uname().sysname == "Linux" else 1024**2)


def _kilobytes(field: str) -> int | None:
    """Read a figure of ``/proc/self/status``; None if the system has none."""
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = (line.split()[1] for line in text.splitlines() if line.startswith(f"{field}:"))
    return next(map(int, found), None)


def require_room() -> None:
    """Raise an error if the process lacks the memory to load the libraries.

    Raises:
        MemoryShortage: The process's memory is capped too low.
    """
    cap = _cap()
    if cap is not None and cap < _LEAST:
        raise MemoryShortage(
            f"memory is capped at {cap >> 20:,} MB (ulimit -v), and libraries need "
            f"{_LEAST >> 20:,} MB to be loaded at all; allow more"
        )


def as_shortage(error: BaseException) -> ReconError | None:
    """Return the shortage of memory or disk behind an error, if that is its cause.

    Libraries raise all kinds of errors when there is no room for a thread, a module or a frame, and
    our own code may then blame a file that is correct. So near the memory limit of the process
    every error of a library is taken for a shortage; an error of our own alone never is.
    """
    if isinstance(error, MemoryShortage):
        return error
    chain = list(_chain(error))
    is_foreign = not all(isinstance(each, ReconError) for each in chain)
    if any(map(_is_shortage, chain)) or (is_foreign and _is_at_cap()):
        return MemoryShortage(
            "memory ran out; finished partitions are kept, the same command resumes; allow more, "
            "or take fewer --workers or a lower ingest.piece_people"
        )
    if isinstance(error, OSError) and error.errno in _DISK:
        what = error.filename or "the output, or a temporary file,"
        return StageError(f"{what} cannot be written: {error.strerror}")
    return None


def _is_shortage(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return isinstance(error, MemoryError | MemoryShortage)


def _chain(error: BaseException) -> Iterator[BaseException]:
    at: BaseException | None = error
    while at is not None:
        yield at
        at = at.__cause__ or at.__context__


def _cap() -> int | None:
    """Return the limit of the process's address space in bytes; None without a limit."""
    try:
        import resource  # Windows has none
    except ImportError:
        return None
    cap = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if cap == resource.RLIM_INFINITY else cap


def _is_at_cap() -> bool:
    """Report whether this process uses, or used, nearly all the address space that it may have."""
    cap, peak = _cap(), _kilobytes("VmPeak")
    return cap is not None and peak is not None and peak * 1024 > cap - _NEAR
