"""The folder of temporary counts while files are read, removed with its source.

A killed process leaves its folder. Each process holds a lock on its folder, which the system
releases when the process ends: a folder of this user without a lock is abandoned.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":  # where nothing tells that a folder is nobody's
    import fcntl

_PREFIX = "recon-tables-"


class UnpackedFolder:
    """A new folder, locked until it is removed."""

    def __init__(self) -> None:
        remove_abandoned()
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            self._lock: int | None = None
            # Until it is locked, another process may take it for abandoned.
            if sys.platform != "win32":
                with suppress(FileNotFoundError):
                    self._lock = os.open(self.path, os.O_RDONLY)
                    fcntl.flock(self._lock, fcntl.LOCK_EX)
            if self.path.is_dir() and (self._lock is not None or sys.platform == "win32"):
                return
            self.remove()

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned() -> list[Path]:
    """Remove the folders that killed processes of this user left; return their paths."""
    removed = []
    for path in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")):
        handle = _lock(path)
        if handle is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(handle)
            removed.append(path)
    return removed


def _lock(path: Path) -> int | None:
    """Lock a folder of this user; return the handle, or None if another process holds it."""
    if sys.platform == "win32":
        return None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # gone, a link, or another user's
        return None
    with suppress(BlockingIOError):
        if os.fstat(handle).st_uid == os.getuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
    os.close(handle)
    return None
