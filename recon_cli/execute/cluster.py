"""The parent's side of Dask workers, which the parent starts or finds at a running scheduler.

The parent hands out one item at a time to each worker and pins it there. Dask alone would send a
task whose worker died to the next worker, so that one bad item could kill several; here the parent
is notified of the first death and decides. Workers read and write their data themselves; only
progress and one small answer for each item come back.
"""

from __future__ import annotations

import hashlib
import pickle
import queue
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recon_cli.errors import ConfigError, StageError, WorkerError
from recon_cli.execute import remote
from recon_cli.execute.connection import LOST, Client, Future, own_workers, quiet, running_scheduler
from recon_cli.execute.work_items import DaskWorkers, WorkFunction
from recon_cli.execute.work_queue import WorkQueue
from recon_cli.execute.worker import ProgressMessage
from recon_cli.store.files import write_bytes

_POLL_SECONDS = 0.02
#: Seconds between checks for workers that joined or left.
_LOOK_SECONDS = 0.5
#: Seconds for a finished answer to arrive.
_FETCH_SECONDS = 30.0


@dataclass
class _Worker:
    """The parent's record of one worker.

    Attributes:
        address: Dask's name of the worker.
        key: Name of the attempt that the worker holds; empty while it is set up.
    """

    address: str
    future: Future | None
    key: str = ""
    index: int | None = None
    ready: remote.Ready | None = None

    def __str__(self) -> str:
        if self.ready is None:
            return f"worker {self.address}"
        return f"worker {self.address}, process {self.ready.pid} on {self.ready.host}"


def run_on_cluster(
    function: WorkFunction[Any, Any, Any],
    shared: object,
    job: WorkQueue,
    cluster: DaskWorkers,
    workers: int | None,
) -> int:
    """Finish the job on a cluster; return the largest number of workers that it had.

    Args:
        function: As for `run_items`.
        shared: The argument that all items share.
        workers: Largest number of workers to use; None for all.

    Raises:
        Exception: What an item raised.
        ConfigError: The scheduler cannot be reached, or a worker cannot do the work.
        WorkerError: An item is given up, or there are no workers.
    """
    most = len(job.items) if workers is None else min(workers, len(job.items))
    with ExitStack() as stack:
        stack.enter_context(quiet())
        setup = stack.enter_context(_worker_setup(function, shared, cluster.folder))
        if cluster.scheduler is None:
            client = stack.enter_context(own_workers(min(cluster.processes, most)))
        else:
            client = stack.enter_context(running_scheduler(cluster.scheduler))
        workers_of_call = _ClusterWorkers(client, job, setup, cluster, most)
        try:
            return workers_of_call.run()
        finally:
            workers_of_call.release()


class _ClusterWorkers:
    """The known workers and their current tasks."""

    def __init__(
        self,
        client: Client,
        job: WorkQueue,
        setup: remote.WorkerSetup,
        cluster: DaskWorkers,
        most: int,
    ) -> None:
        self._client = client
        self._queue = job
        self._worker_setup = setup
        self._cluster = cluster
        self._room = most
        self._workers: dict[str, _Worker] = {}
        self._attempts: dict[str, int] = {}
        self._asked = 0
        self._most = 0
        self._looked = self._last_ready = time.monotonic()
        self._messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        client.subscribe_topic(remote.TOPIC, lambda event: self._messages.put(event[1]))

    def run(self) -> int:
        """Work until every item is done; return the largest number of workers ready at a time."""
        self._refresh()
        while not self._queue.finished:
            if time.monotonic() - self._looked >= _LOOK_SECONDS:
                self._refresh()
            self._hand_out()
            self._collect()
        return self._most

    def release(self) -> None:
        """Forget the job on all workers, whatever state they are in."""
        if self._cluster.scheduler is None or self._client.status != "running":
            return
        with suppress(OSError):
            held = [worker.future for worker in self._workers.values() if worker.future]
            self._client.cancel(held)
            if known := sorted(set(self._workers) & set(self._client.nthreads())):
                self._client.run(
                    remote.forget, self._worker_setup.job, workers=known, on_error="ignore"
                )

    def _refresh(self) -> None:
        """Register workers that have joined, and drop those that have left."""
        self._looked = time.monotonic()
        threads = self._threads()
        for address in set(self._workers) - set(threads):
            self._lose(self._workers[address])
        for address in sorted(set(threads) - set(self._workers)):
            if len(self._workers) < self._room:
                self._add(address, threads[address])
        ready = sum(worker.ready is not None for worker in self._workers.values())
        self._most = max(self._most, ready)
        if ready:
            self._last_ready = self._looked
        elif self._looked - self._last_ready > self._cluster.wait_seconds:
            raise WorkerError(self._no_workers(len(threads)))

    def _threads(self) -> dict[str, int]:
        """Return the thread count of each worker that the scheduler knows."""
        try:
            if self._client.status == "running":
                return dict(self._client.nthreads())
        except OSError as error:
            raise self._no_scheduler() from error
        raise self._no_scheduler()

    def _add(self, address: str, threads: int) -> None:
        worker = _Worker(address, None)
        if threads != 1:
            raise ConfigError(
                f"cluster: {worker} has {threads} threads; start workers with one (--nthreads 1): "
                "an item is worked on by one thread"
            )
        self._workers[address] = worker
        self._ask(worker, remote.set_up, self._worker_setup)

    def _ask(self, worker: _Worker, what: Callable[..., object], *arguments: object) -> None:
        self._asked += 1
        worker.future = self._client.submit(
            what,
            *arguments,
            key=f"recon-{self._worker_setup.job}-{self._asked}",
            workers=[worker.address],
            allow_other_workers=False,
            pure=False,
        )

    def _hand_out(self) -> None:
        for worker in self._workers.values():
            if worker.ready is None or worker.future is not None:
                continue
            index = self._queue.take()
            if index is None:
                return
            worker.index, worker.key = index, uuid.uuid4().hex
            self._attempts[worker.key] = index
            payload = pickle.dumps(self._queue.items[index].payload)
            self._ask(worker, remote.run_item, self._worker_setup.job, worker.key, payload)

    def _collect(self) -> None:
        time.sleep(_POLL_SECONDS)
        while not self._messages.empty():
            news = self._messages.get()
            index = self._attempts.get(news["key"])
            if index is not None:  # else of another call, or of an attempt that is over
                ticked = ProgressMessage(news["units"], news["people"], news["statuses"])
                self._queue.tick(index, ticked)
        for worker in list(self._workers.values()):
            if worker.future is not None and worker.future.done():
                self._receive(worker, worker.future)

    def _receive(self, worker: _Worker, future: Future) -> None:
        worker.future = None
        try:
            answer = future.result(timeout=_FETCH_SECONDS)
        except LOST:
            self._lose(worker)
            return
        except (ImportError, AttributeError) as error:
            raise ConfigError(
                f"cluster: {worker} cannot run recon-cli ({error}); its workers need "
                f"recon-cli {self._worker_setup.version} installed"
            ) from error
        if isinstance(answer, remote.Refused):
            raise ConfigError(f"cluster: {worker} cannot be used: {answer.reason}")
        if isinstance(answer, remote.Ready):
            worker.ready = answer
        elif answer is None:
            self._lose(worker)
        elif isinstance(answer, bytes) and worker.index is not None:
            index, worker.index = worker.index, None
            del self._attempts[worker.key]
            self._queue.record_answer(index, pickle.loads(answer))  # noqa: S301 - our own worker's bytes

    def _lose(self, worker: _Worker) -> None:
        """Handle the loss of a worker, or of its address to another process."""
        if self._client.status != "running":
            raise self._no_scheduler()
        del self._workers[worker.address]
        if worker.future is not None:
            with suppress(OSError):
                self._client.cancel([worker.future])
        if worker.index is not None:
            del self._attempts[worker.key]
            self._queue.handle_worker_death(worker.index, f"{worker}")

    def _no_scheduler(self) -> WorkerError:
        return WorkerError(
            f"cluster: the scheduler {self._place} is gone; what was finished is kept, and the "
            "same command continues from there"
        )

    def _no_workers(self, known: int) -> str:
        which = f"none of its {known} workers was free" if known else "it had no workers"
        return (
            f"cluster: scheduler {self._place}: {which} for "
            f"{self._cluster.wait_seconds:g} seconds; "
            "what was finished is kept, and the same command continues from there"
        )

    @property
    def _place(self) -> str:
        return self._cluster.scheduler or "of this run"


@contextmanager
def _worker_setup(
    function: WorkFunction[Any, Any, Any], shared: object, folder: Path
) -> Iterator[remote.WorkerSetup]:
    """Write what workers read before they get work to a file that is removed at the end.

    Raises:
        ConfigError: The folder cannot be written to.
    """
    job = uuid.uuid4().hex[:12]
    file = folder.absolute() / f".cluster-{job}.pickle"
    data = pickle.dumps((function, shared))
    try:
        write_bytes(file, data)
    except StageError as error:
        raise ConfigError(f"cluster: {error}") from error
    try:
        yield remote.WorkerSetup(job, file, hashlib.sha256(data).hexdigest(), Path.cwd())
    finally:
        file.unlink(missing_ok=True)
