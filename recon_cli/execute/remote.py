"""The worker's side of a Dask cluster: the functions that its workers call.

A worker is set up before it gets work: it reads the function and the shared argument from a file
in the work folder, which proves that it sees that folder. A worker that was not set up does
nothing: if Dask restarts a task by itself, in place of a process that died, the task returns
undone and the parent decides about the item.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import socket
import sys
import time
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recon_cli.execute.children import THREAD_LIMITS
from recon_cli.execute.work_items import WorkFunction
from recon_cli.execute.worker import ProgressMessage, ProgressSender, attempt
from recon_cli.version import __version__

#: Topic under which ticks are published.
TOPIC = "recon-cli"
#: Seconds between two messages of a worker; the scheduler receives those of all workers.
_TICK_SECONDS = 0.5
#: Network file systems may take a moment to show a new file.
_FILE_SECONDS = 10.0


@dataclass(frozen=True)
class WorkerSetup:
    """The data that a worker needs before it gets work.

    Attributes:
        job: Name of the call.
        file: Pickle of the function and what all items share.
        digest: SHA-256 of the file.
        folder: The parent's current folder: relative paths start from there.
        python: Major and minor version.
    """

    job: str
    file: Path
    digest: str
    folder: Path
    version: str = __version__
    python: tuple[int, int] = sys.version_info[:2]


@dataclass(frozen=True)
class Ready:
    """The answer of a worker that is ready: its process and host."""

    pid: int
    host: str


@dataclass(frozen=True)
class Refused:
    """The answer of a worker that must not get work, with the reason."""

    reason: str


class Stopped(BaseException):
    """Raised inside an item when the parent no longer wants its result."""


@dataclass(frozen=True)
class _Known:
    function: WorkFunction[Any, Any, Any]
    shared: object
    folder: Path


#: Setups of this process, by job, that were not released yet.
_known: dict[str, _Known] = {}


def set_up(setup: WorkerSetup) -> Ready | Refused:
    """Check that this process can do the work, and keep the setup."""
    reason = _mismatch(setup)
    if reason:
        return Refused(reason)
    data = _read(setup.file)
    if data is None:
        return Refused(
            f"it does not see {setup.file.parent}; the work folder must be on a file system "
            "that all machines share, under the same path"
        )
    if hashlib.sha256(data).hexdigest() != setup.digest:
        return Refused(f"{setup.file.parent} is not the same folder there as here")
    if not setup.folder.is_dir():
        return Refused(
            f"it has no folder {setup.folder}, the current one; start from a folder that all "
            "machines share"
        )
    os.environ.update(THREAD_LIMITS)  # heard by libraries that are not imported yet
    function, shared = pickle.loads(data)  # noqa: S301 - our own bytes, by their digest
    threads = _polars_threads()
    if threads > 1:
        return Refused(
            f"its polars has {threads} threads; start workers with POLARS_MAX_THREADS=1 in their "
            "environment"
        )
    _known[setup.job] = _Known(function, shared, setup.folder)
    return Ready(os.getpid(), socket.gethostname())


def run_item(job: str, key: str, payload: bytes) -> bytes | None:
    """Do one item; return None if this process was not set up or the job was forgotten.

    Args:
        job: Name of the call.
        key: Name of this attempt; its ticks carry it.
        payload: Pickle of the item's payload.
    """
    known = _known.get(job)
    if known is None:
        return None
    publish = _publisher()

    def send(news: ProgressMessage) -> None:
        if job not in _known:
            raise Stopped
        publish(
            {
                "key": key,
                "units": int(news.units),
                "people": int(news.people),
                "statuses": {name: int(count) for name, count in news.statuses.items()},
            }
        )

    try:
        with chdir(known.folder):  # one thread a worker: nobody else is moved
            return attempt(
                known.function,
                known.shared,
                pickle.loads(payload),  # noqa: S301 - our own bytes
                ProgressSender(send, _TICK_SECONDS),
            )
    except Stopped:
        return None


def forget(job: str) -> None:
    """Forget a job; an item in progress ends at its next tick."""
    _known.pop(job, None)


def _publisher() -> Callable[[dict[str, Any]], None]:
    from distributed import get_worker  # only where there is a worker

    worker = get_worker()
    return lambda message: worker.log_event(TOPIC, message)


def _mismatch(setup: WorkerSetup) -> str:
    if setup.version != __version__:
        return f"it has recon-cli {__version__}, this is {setup.version}"
    here = sys.version_info[:2]
    if setup.python != here:
        return "it has Python {}.{}, this is {}.{}".format(*here, *setup.python)
    return ""


def _read(path: Path) -> bytes | None:
    until = time.monotonic() + _FILE_SECONDS
    while True:
        try:
            return path.read_bytes()
        except OSError:
            if time.monotonic() > until:
                return None
            time.sleep(0.2)


def _polars_threads() -> int:
    polars = sys.modules.get("polars")
    return 1 if polars is None else int(polars.thread_pool_size())
