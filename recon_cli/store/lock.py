"""Stage locks, which the system releases whenever and however a process ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from recon_cli.errors import StageError
from recon_cli.store import files


@contextmanager
def held_lock(path: Path, command: str, *, alone: bool = True) -> Iterator[None]:
    """Hold the lock of a stage.

    Args:
        path: ``.staging/STAGE.lock`` of the work folder.
        command: Runs the stage.
        alone: False shares it with others who hold it so.

    Raises:
        StageError: Another process holds it, or it cannot be opened: another user's, a read-only
            disk, something else in its place.
    """
    from filelock import ReadWriteLock, Timeout  # only who writes needs a lock

    with ExitStack() as held:
        with files.disk(path):
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise StageError(f"{path}: is no ordinary file; remove it, it is to be a lock")
            files.make_file(path)
            lock = ReadWriteLock(path, timeout=0, is_singleton=False)
            try:
                held.enter_context(lock.write_lock() if alone else lock.read_lock())
            except Timeout:
                raise StageError(
                    f"another process is running `{command}` in {path.parent.parent}; "
                    "wait for it to end"
                ) from None
        yield
