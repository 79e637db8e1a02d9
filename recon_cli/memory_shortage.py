"""Tells whether an error means that memory ran out: a cap (``ulimit -v``), or none left."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from recon_cli.errors import MemoryShortage, ReconError

#: Bytes below its cap at which a process may have been refused more, whatever the error says.
_NEAR: Final = 64 << 20


def as_shortage(error: BaseException) -> MemoryShortage | None:
    """The shortage that an error stands for, if it does.

    Libraries raise whatever they like where there is no room for a thread, a module or a frame, and
    what we make of it may accuse a file that is right: so near to the cap of the process, every
    error of theirs is taken for a shortage. A refusal of our own alone never is.
    """
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


def _is_at_cap() -> bool:
    """Whether this process has, or had, nearly all the address space that it may have."""
    try:
        import resource  # noqa: PLC0415 - Windows has none

        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except (ImportError, OSError):
        return False
    cap = resource.getrlimit(resource.RLIMIT_AS)[0]
    peak = next((line for line in status.splitlines() if line.startswith("VmPeak:")), "VmPeak: 0")
    return cap != resource.RLIM_INFINITY and int(peak.split()[1]) * 1024 > cap - _NEAR
