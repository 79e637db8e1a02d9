"""The parent's side of Dask workers, its own or those of a running scheduler.

The parent hands out one shard a worker at a time and pins it to that worker. Dask alone would
send a task whose worker died to the next worker, and a shard that kills workers would cost
several; here the parent hears of the first death and decides. Workers read and write their data
themselves; what comes back is progress and one small answer a shard.
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

from recon_cli.errors import ConfigError, WorkerError
from recon_cli.execute import remote
from recon_cli.execute.connection import (
    LOST,
    Client,
    Future,
    own_workers,
    quiet,
    running_scheduler,
)
from recon_cli.execute.job import Job
from recon_cli.execute.progress_messages import ProgressMessage
from recon_cli.execute.shards import DaskWorkers, WorkFunction

_POLL_SECONDS = 0.02
#: How often to ask who has come and who is gone.
_LOOK_SECONDS = 0.5
#: For an answer that is there, to arrive.
_FETCH_SECONDS = 30.0


@dataclass
class _Worker:
    """One worker as the parent knows it.

    Attributes:
        address: Dask's name of it.
        future: Of what it was last asked.
        key: Name of the attempt that it holds; empty while it is briefed.
        index: The shard that it holds.
        ready: What it answered when it was briefed.
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
    job: Job,
    cluster: DaskWorkers,
    workers: int | None,
) -> int:
    """Finish the job on a cluster; how many workers it had at most.

    Args:
        function: As for `run_shards`.
        shared: Likewise.
        job: Its shards.
        cluster: Where.
        workers: How many to use at a time; None for all.

    Raises:
        Exception: What a shard raised.
        ConfigError: The scheduler cannot be reached, or a worker cannot do the work.
        WorkerError: A shard is given up, or there are no workers.
    """
    most = len(job.shards) if workers is None else min(workers, len(job.shards))
    with ExitStack() as stack:
        stack.enter_context(quiet())
        briefing = stack.enter_context(_briefing(function, shared, cluster.folder))
        if cluster.scheduler is None:
            client = stack.enter_context(own_workers(min(cluster.processes, most)))
        else:
            client = stack.enter_context(running_scheduler(cluster.scheduler))
        crew = _Crew(client, job, briefing, cluster, most)
        try:
            return crew.run()
        finally:
            crew.dismiss()


class _Crew:
    """The workers that are known, and what each is doing."""

    def __init__(
        self,
        client: Client,
        job: Job,
        briefing: remote.Briefing,
        cluster: DaskWorkers,
        most: int,
    ) -> None:
        self._client = client
        self._job = job
        self._briefing = briefing
        self._cluster = cluster
        self._room = most
        self._workers: dict[str, _Worker] = {}
        self._attempts: dict[str, int] = {}
        self._asked = 0
        self._most = 0
        self._looked = self._manned = time.monotonic()
        self._news: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        client.subscribe_topic(remote.TOPIC, lambda event: self._news.put(event[1]))

    def run(self) -> int:
        """Work until every shard is done; the most workers that were ready at a time."""
        self._look()
        while not self._job.finished:
            if time.monotonic() - self._looked >= _LOOK_SECONDS:
                self._look()
            self._give()
            self._hear()
        return self._most

    def dismiss(self) -> None:
        """Leave the workers as they were, whatever state they are in."""
        if self._cluster.scheduler is None or self._client.status != "running":
            return
        with suppress(OSError):
            held = [worker.future for worker in self._workers.values() if worker.future]
            self._client.cancel(held)
            if known := sorted(set(self._workers) & set(self._client.nthreads())):
                self._client.run(
                    remote.dismiss, self._briefing.job, workers=known, on_error="ignore"
                )

    def _look(self) -> None:
        """Who has come, and who is gone."""
        self._looked = time.monotonic()
        threads = self._threads()
        for address in set(self._workers) - set(threads):
            self._lose(self._workers[address])
        for address in sorted(set(threads) - set(self._workers)):
            if len(self._workers) < self._room:
                self._meet(address, threads[address])
        ready = sum(worker.ready is not None for worker in self._workers.values())
        self._most = max(self._most, ready)
        if ready:
            self._manned = self._looked
        elif self._looked - self._manned > self._cluster.patience:
            raise WorkerError(self._unmanned(len(threads)))

    def _threads(self) -> dict[str, int]:
        """Threads of each worker that the scheduler knows now."""
        try:
            if self._client.status == "running":
                return dict(self._client.nthreads())
        except OSError as error:
            raise self._no_scheduler() from error
        raise self._no_scheduler()

    def _meet(self, address: str, threads: int) -> None:
        worker = _Worker(address, None)
        if threads != 1:
            raise ConfigError(
                f"cluster: {worker} has {threads} threads; start workers with one (--nthreads 1): "
                "a shard is worked on by one thread"
            )
        self._workers[address] = worker
        self._ask(worker, remote.brief, self._briefing)

    def _ask(self, worker: _Worker, what: Callable[..., object], *arguments: object) -> None:
        self._asked += 1
        worker.future = self._client.submit(
            what,
            *arguments,
            key=f"recon-{self._briefing.job}-{self._asked}",
            workers=[worker.address],
            allow_other_workers=False,
            pure=False,
        )

    def _give(self) -> None:
        for worker in self._workers.values():
            if worker.ready is None or worker.future is not None:
                continue
            index = self._job.take()
            if index is None:
                return
            worker.index, worker.key = index, uuid.uuid4().hex
            self._attempts[worker.key] = index
            payload = pickle.dumps(self._job.shards[index].payload)
            self._ask(worker, remote.perform, self._briefing.job, worker.key, payload)

    def _hear(self) -> None:
        time.sleep(_POLL_SECONDS)
        while not self._news.empty():
            news = self._news.get()
            index = self._attempts.get(news["key"])
            if index is not None:  # else of another call, or of an attempt that is over
                ticked = ProgressMessage(news["units"], news["people"], news["statuses"])
                self._job.tick(index, ticked)
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
                f"recon-cli {self._briefing.version} installed"
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
            self._job.settle(index, pickle.loads(answer))  # noqa: S301 - our own worker's bytes

    def _lose(self, worker: _Worker) -> None:
        """A worker is gone, or another process has taken its address."""
        if self._client.status != "running":
            raise self._no_scheduler()
        del self._workers[worker.address]
        if worker.future is not None:
            with suppress(OSError):
                self._client.cancel([worker.future])
        if worker.index is not None:
            del self._attempts[worker.key]
            self._job.lose(worker.index, f"{worker}")

    def _no_scheduler(self) -> WorkerError:
        return WorkerError(
            f"cluster: the scheduler {self._place} is gone; what was finished is kept, and the "
            "same command goes on from there"
        )

    def _unmanned(self, known: int) -> str:
        which = f"none of its {known} workers was free" if known else "it had no workers"
        return (
            f"cluster: scheduler {self._place}: {which} for {self._cluster.patience:g} seconds; "
            "what was finished is kept, and the same command continues from there"
        )

    @property
    def _place(self) -> str:
        return self._cluster.scheduler or "of this run"


@contextmanager
def _briefing(
    function: WorkFunction[Any, Any, Any], shared: object, folder: Path
) -> Iterator[remote.Briefing]:
    """What workers read before they get work, in a file that is removed in the end.

    Raises:
        ConfigError: The folder cannot be written to.
    """
    job = uuid.uuid4().hex[:12]
    file = folder.absolute() / f".cluster-{job}.pickle"
    data = pickle.dumps((function, shared))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except OSError as error:
        raise ConfigError(f"cluster: {file} cannot be written: {error.strerror}") from error
    try:
        yield remote.Briefing(job, file, hashlib.sha256(data).hexdigest(), Path.cwd())
    finally:
        file.unlink(missing_ok=True)
