"""Files on disk: deterministic Parquet, digests, and atomic writes.

All files and folders of the program are made here, accessible to their owner alone whatever the
umask; `recon_cli.cli` does the same for those that libraries make.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import ENOTDIR
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recon_cli.errors import StageError

if TYPE_CHECKING:
    import polars as pl
from contextlib import ExitStack

#: Fixed, so that equal frames make equal bytes whatever the defaults of the day are.
_ROW_GROUP = 131_072
_ZSTD_LEVEL = 3

#: Permissions of group and others for folders and files that we make.
FOLDER_MODE, FILE_MODE = 0o700, 0o600
#: Beginning of the names of files that are not whole yet.
UNFINISHED = ".tmp."


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal.

    >>> digest(b"")[:12]
    'e3b0c44298fc'
    """
    return hashlib.sha256(data).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, read in chunks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def json_bytes(value: Any) -> bytes:
    """Serialise a value as readable JSON with sorted keys; equal values give equal bytes.

    >>> json_bytes({"b": 1, "a": [2]}) == json_bytes({"a": [2], "b": 1})
    True
    """
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def key_of(value: Any) -> str:
    """Return the digest of a value that JSON can express.

    >>> key_of({"seed": 1}) == key_of({"seed": 1}), key_of({"seed": 1}) == key_of({"seed": 2})
    (True, False)
    """
    return digest(json_bytes(value))


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Serialise a frame as Parquet; equal frames give equal bytes."""
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(
        buffer,
        compression="zstd",
        compression_level=_ZSTD_LEVEL,
        row_group_size=_ROW_GROUP,
        statistics=True,
    )
    return buffer.getvalue()


def make_folder(path: Path) -> None:
    """Make a folder, and missing parents, for their owner alone.

    An existing folder is left as it is.
    """
    if path.is_dir():
        return
    if path.parent != path:
        make_folder(path.parent)
    try:
        path.mkdir(FOLDER_MODE)
        path.chmod(FOLDER_MODE)  # the umask may have taken bits of the owner's own
    except FileExistsError:
        if not path.is_dir():  # else another process was quicker
            raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), str(path)) from None


def make_file(path: Path) -> None:
    """Make an empty file for its owner alone, or restrict an existing one to its owner."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, FILE_MODE))
    path.chmod(FILE_MODE)


@contextmanager
def disk(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` into a message about ``path``.

    Raises:
        StageError: The disk is full, the folder is read-only, …
    """
    try:
        yield
    except OSError as error:
        raise StageError(f"{error.filename or path}: {error.strerror or error}") from error


def require_writable(path: Path) -> None:
    """Refuse a path that cannot be replaced by a file.

    Raises:
        StageError: ``path`` is a folder, a device or a pipe.
    """
    if path.is_dir():
        raise StageError(f"{path}: is a folder; name a file to write, there or elsewhere")
    if path.exists() and not path.is_file():
        raise StageError(f"{path}: is no ordinary file; name another to write")


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside ``path`` that replaces it when the block ends.

    ``path`` always has its old or its new content, even after a power cut; a failure leaves no
    temporary file behind.

    Raises:
        StageError: The file cannot be written.
    """
    require_writable(path)
    aside = path.with_name(f"{UNFINISHED}{os.getpid()}.{path.name}")  # its suffix says its format
    try:
        make_folder(path.parent)
        make_file(aside)
        yield aside
        aside.chmod(FILE_MODE)  # where it was written anew
        with aside.open("rb+") as stream:
            os.fsync(stream.fileno())
        aside.replace(path)
        sync_folder(path.parent)
    except (FileExistsError, NotADirectoryError) as error:
        raise StageError(f"{path}: {path.parent} is no folder; choose another place") from error
    except OSError as error:  # of the file beside it, which nobody has named
        why = error.strerror or error
        raise StageError(f"{path}: cannot be written ({why}); choose another place") from error
    finally:
        with suppress(OSError):  # an error before this one is reported
            aside.unlink(missing_ok=True)


def remove_unfinished(path: Path) -> None:
    """Remove temporary files that killed processes left beside a file that no process writes."""
    with disk(path):
        for aside in path.parent.glob(f"{UNFINISHED}*.{escape(path.name)}"):
            aside.unlink(missing_ok=True)


def write_bytes(path: Path, *data: bytes) -> None:
    """Write a file of some parts atomically and durably.

    Raises:
        StageError: It cannot be written.
    """
    with written_whole(path) as aside, aside.open("wb") as file:
        file.writelines(data)


def write_named(path: Path, data: bytes) -> None:
    """Write a file that a user named, and remove temporary files that killed processes left.

    Raises:
        StageError: It cannot be written.
    """
    remove_unfinished(path)
    write_bytes(path, data)


def move(source: Path, target: Path) -> None:
    """Rename ``source`` to ``target`` and flush both parent folders."""
    with disk(target):
        make_folder(target.parent)
        source.rename(target)
        sync_folder(target.parent)
        if source.parent != target.parent:
            sync_folder(source.parent)


def link(source: Path, target: Path) -> None:
    """Make ``target`` a hard link to a finished file, or a copy where links are unsupported."""
    with disk(target):
        make_folder(target.parent)
        target.unlink(missing_ok=True)
        try:
            target.hardlink_to(source)
        except OSError:  # a file system without links
            make_file(target)
            shutil.copyfile(source, target)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk; a no-op where folders cannot be opened."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(root: Path) -> None:
    """Flush the entries of ``root`` and of every folder in it."""
    with disk(root):
        for folder, _, _ in os.walk(root):
            sync_folder(Path(folder))


def remove(path: Path) -> None:
    """Remove a file or a folder tree, if it exists."""
    with disk(path):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


@contextmanager
def held_lock(path: Path, command: str, *, alone: bool = True) -> Iterator[None]:
    """Hold the lock of a stage.

    Args:
        path: ``.staging/STAGE.lock`` of the work folder.
        alone: False shares the lock with other processes that share it.

    Raises:
        StageError: Another process holds the lock, or it cannot be opened: another user's, a
            read-only disk, something else in its place.
    """
    from filelock import ReadWriteLock, Timeout  # only who writes needs a lock

    with ExitStack() as held:
        with disk(path):
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise StageError(f"{path}: is no ordinary file; remove it, it is to be a lock")
            make_file(path)
            lock = ReadWriteLock(path, timeout=0, is_singleton=False)
            try:
                held.enter_context(lock.write_lock() if alone else lock.read_lock())
            except Timeout:
                raise StageError(
                    f"another process is running `{command}` in {path.parent.parent}; "
                    "wait for it to end"
                ) from None
        yield
