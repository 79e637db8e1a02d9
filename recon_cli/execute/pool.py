"""The parent's side of a pool of worker processes.

The pool is our own because `concurrent.futures` cannot tell which shard killed a worker, and
holds on to running tasks when the user presses Ctrl-C. A worker that dies closes its pipe, so
the parent knows at once which shard it held. polars is not fork-safe: workers are spawned.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, NoReturn

from recon_cli.errors import WorkerError
from recon_cli.execute.shards import Job, ShardFunction
from recon_cli.execute.worker import Done, RemoteTraceback, Ticked, work

#: One thread a worker: the pool is the parallelism, and results must not depend on threads.
_THREAD_LIMITS = (
    "POLARS_MAX_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_STOP_SECONDS = 5.0


class Pool:
    """Spawned workers, one pipe each."""

    def __init__(
        self, function: ShardFunction[Any, Any, Any], shared: object, count: int, job: Job
    ) -> None:
        self._function = function
        self._shared = shared
        self._count = count
        self._job = job
        self._waiting = list(reversed(job.order))
        self._processes: dict[Connection, SpawnProcess] = {}
        self._held: dict[Connection, int] = {}

    def run(self) -> None:
        """Work until every shard is done.

        Raises:
            Exception: What a shard raised.
            WorkerError: A worker died.
        """
        try:
            with _single_threaded_children():
                for _ in range(self._count):
                    self._start()
            while self._held:
                for ready in wait(list(self._held)):
                    if isinstance(ready, Connection):
                        self._receive(ready)
        finally:
            self._stop()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, self._function, self._shared))
        process.start()
        theirs.close()  # or the pipe would stay open when the worker dies
        self._processes[ours] = process
        self._give(ours)

    def _give(self, pipe: Connection) -> None:
        if self._waiting:
            self._held[pipe] = self._waiting.pop()
        try:
            index = self._held.get(pipe)
            pipe.send(None if index is None else (self._job.shards[index].payload,))
        except OSError:
            if pipe in self._held:
                self._mourn(pipe)

    def _receive(self, pipe: Connection) -> None:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            self._mourn(pipe)
        if isinstance(message, Ticked):
            self._job.on_tick(message.units, message.people, message.statuses)
        elif isinstance(message, Done):
            self._job.finish(self._held.pop(pipe), message.value, message.usage)
            self._give(pipe)
        else:
            raise message.error from RemoteTraceback(message.trace)

    def _mourn(self, pipe: Connection) -> NoReturn:
        process = self._processes[pipe]
        process.join(_STOP_SECONDS)
        name = self._job.shards[self._held[pipe]].name
        raise WorkerError(
            f"a worker process died ({_cause(process.exitcode)}) while it worked on {name}; "
            "what was finished is kept, and the same command goes on from there "
            "(if memory ran out, fewer --workers need less)"
        )

    def _stop(self) -> None:
        busy = set(self._held)
        for pipe, process in self._processes.items():
            if pipe in busy:
                process.terminate()
        for pipe, process in self._processes.items():
            process.join(_STOP_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()
            pipe.close()


def _cause(exitcode: int | None) -> str:
    if exitcode is None:
        return "no exit code"
    if exitcode < 0:
        try:
            return f"signal {-exitcode}, {signal.Signals(-exitcode).name}"
        except ValueError:
            return f"signal {-exitcode}"
    return f"exit code {exitcode}"


@contextmanager
def _single_threaded_children() -> Iterator[None]:
    """Children started inside get one thread and never hear Ctrl-C: the parent stops them."""
    before: Mapping[str, str | None] = {name: os.environ.get(name) for name in _THREAD_LIMITS}
    os.environ.update(
        dict.fromkeys(_THREAD_LIMITS, "1")
    )  # before a child starts: libraries read it when imported
    blockable = hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if blockable else set()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if blockable:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
