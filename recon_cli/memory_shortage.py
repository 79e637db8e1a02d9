"""Tells whether an error means that memory ran out: a cap (``ulimit -v``), or none left."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from recon_cli.errors import MemoryShortage, ReconError

#: Bytes below its cap at which a process may have been refused more, whatever the error says.
_NEAR: Final = 64 << 20


#: Below such a cap polars and OpenBLAS, with two threads, end the process while they are loaded, in
#: words of their own; measured, and more threads need more.
_LEAST: Final = 1_000 << 20


def require_room() -> None:
    """Pass silently if the process may have the memory that libraries need to be loaded.

    Raises:
        MemoryShortage: It is capped below.
    """
    cap = _cap()
    if cap is not None and cap < _LEAST:
        raise MemoryShortage(
            f"memory is capped at {cap >> 20:,} MB (ulimit -v), and libraries need "
            f"{_LEAST >> 20:,} MB to be loaded at all; allow more"
        )


def as_shortage(error: BaseException) -> MemoryShortage | None:
    """The shortage that an error stands for, if it does.

    Libraries raise whatever they like where there is no room for a thread, a module or a frame, and
    what we make of it may accuse a file that is right: so near to the cap of the process, every
    error of theirs is taken for a shortage. A refusal of our own alone never is.
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
    """Bytes of address space that this process may have; None without a limit."""
    try:
        import resource  # noqa: PLC0415 - Windows has none
    except ImportError:
        return None
    cap = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if cap == resource.RLIM_INFINITY else cap


def _is_at_cap() -> bool:
    """Whether this process has, or had, nearly all the address space that it may have."""
    cap = _cap()
    if cap is None:
        return False
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    peak = next((line for line in status.splitlines() if line.startswith("VmPeak:")), "VmPeak: 0")
    return int(peak.split()[1]) * 1024 > cap - _NEAR
