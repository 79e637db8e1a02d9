"""The parent's side of a pool of worker processes.

`concurrent.futures` cannot tell which item killed a worker, gives up the whole pool then, and
keeps running tasks when the user presses Ctrl-C. Here a worker that dies closes its pipe, so the
parent knows at once which item it held, and starts another worker in its place. Workers are
spawned, because polars is not fork-safe.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from recon_cli.execute.children import block_interrupts, single_threaded
from recon_cli.execute.work_items import WorkFunction
from recon_cli.execute.work_queue import WorkQueue
from recon_cli.execute.worker import ProgressMessage, work

_STOP_SECONDS = 5.0


class Pool:
    """Spawned workers, each with a pipe."""

    def __init__(self, function: WorkFunction[Any, Any, Any], count: int, job: WorkQueue) -> None:
        self._function = function
        self._count = count
        self._queue = job
        self._shared = b""
        self._processes: dict[Connection, SpawnProcess] = {}
        self._held: dict[Connection, int] = {}

    def run(self, prepare: Callable[[], object]) -> None:
        """Work until every item is done; prepare the shared argument while the workers start.

        Raises:
            Exception: What an item raised.
        """
        try:
            started = [self._start() for _ in range(self._count)]
            self._shared = pickle.dumps(prepare())
            for pipe in started:
                self._send_shared(pipe)
            while self._held:
                for ready in wait(list(self._held)):
                    if isinstance(ready, Connection):
                        self._receive(ready)
        finally:
            self._stop()

    def _start(self) -> Connection:
        """Start another process, which imports what it needs at once."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        # Nothing big may be an argument: to a child that dies early, `start` would wait for ever.
        process = context.Process(target=work, args=(theirs,))
        with single_threaded(), block_interrupts():
            process.start()
            self._processes[ours] = process
        theirs.close()  # or the pipe would stay open when the worker dies
        with suppress(OSError):  # if it is dead, that shows when it is given an item
            ours.send(self._function)
        return ours

    def _send_shared(self, pipe: Connection) -> None:
        """Send the shared argument and the first item."""
        with suppress(OSError):  # it may have died already
            pipe.send_bytes(self._shared)
        self._hand_out(pipe)

    def _hand_out(self, pipe: Connection) -> None:
        index = self._queue.take()
        if index is not None:
            self._held[pipe] = index
        try:
            pipe.send(None if index is None else (self._queue.items[index].payload,))
        except OSError:
            if index is not None:
                self._handle_worker_death(pipe)

    def _receive(self, pipe: Connection) -> None:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            self._handle_worker_death(pipe)
            return
        if isinstance(message, ProgressMessage):
            self._queue.tick(self._held[pipe], message)
        else:
            self._queue.record_answer(self._held[pipe], message)
            del self._held[pipe]
            self._hand_out(pipe)

    def _handle_worker_death(self, pipe: Connection) -> None:
        """Return the item of a dead worker to the queue, and start another worker."""
        process = self._processes.pop(pipe)
        index = self._held.pop(pipe)
        process.join(_STOP_SECONDS)
        cause = _cause(process.exitcode)
        _end(process, pipe)
        self._queue.handle_worker_death(index, cause)
        self._send_shared(self._start())

    def _stop(self) -> None:
        # Those without an item end by themselves, but take a fifth of a second to tidy up.
        for process in self._processes.values():
            process.terminate()
        for pipe, process in self._processes.items():
            process.join(_STOP_SECONDS)
            _end(process, pipe)


def _end(process: SpawnProcess, pipe: Connection) -> None:
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
