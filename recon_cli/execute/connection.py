"""Connections to Dask: own workers, or a running scheduler."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal, Protocol

from recon_cli.errors import ConfigError, WorkerError
from recon_cli.execute.children import block_interrupts, single_threaded

try:
    import dask
    import distributed
except ImportError as error:
    raise ConfigError(
        f"cluster: the package distributed cannot be imported ({error}): "
        "pip install 'recon-cli[cluster]'"
    ) from error

_CONNECT_SECONDS = 10.0
#: Options of workers of our own: wait for them on a busy machine, serve no pages.
_PRIVATE = {
    "distributed.deploy.lost-worker-timeout": "1 hour",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
#: Seconds to wait for workers of our own that are still busy at the end.
_STOP_SECONDS = 1.0
#: Raised when an answer never comes: its worker is gone, or the scheduler.
LOST = (distributed.KilledWorker, distributed.CancelledError, OSError)
_LOGGERS = ("distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application")


class Future(Protocol):
    """The part of a Dask future that is used here; Dask's own class is untyped."""

    def done(self) -> bool:
        """Report whether it has ended, with a result or an error."""

    def result(self, timeout: float) -> object:
        """Return the task's result; raise what the task raised, or one of `LOST`."""


class Client(Protocol):
    """The part of a Dask client that is used here; Dask's own class is untyped."""

    status: str

    def nthreads(self) -> dict[str, int]:
        """Return the thread count of each worker, by address."""

    def subscribe_topic(self, topic: str, handler: Callable[[Any], None]) -> None:
        """Call ``handler`` with ``(time, message)`` for each event, in another thread."""

    def submit(
        self,
        func: Callable[..., object],
        *args: object,
        key: str,
        workers: list[str],
        allow_other_workers: bool,
        pure: bool,
    ) -> Future: ...

    def cancel(self, futures: list[Future]) -> None:
        """Cancel tasks; a running one ends by itself."""

    def run(
        self,
        function: Callable[..., object],
        *args: object,
        workers: list[str],
        on_error: Literal["ignore"],
    ) -> object:
        """Call a function at once on workers, even busy ones."""

    def close(self) -> None: ...


@contextmanager
def own_workers(processes: int) -> Iterator[Client]:
    """Start workers on this machine, and yield a client.

    They use TLS with a key of their own, because anyone who can connect to a worker can run code on
    it. Their status pages are off, because anybody on this machine could read them.

    Raises:
        ConfigError: The package cryptography cannot be imported.
        WorkerError: They cannot be started.
    """
    try:
        security = distributed.Security.temporary()  # type: ignore[no-untyped-call]
    except ImportError as error:
        raise ConfigError(
            f"cluster.processes: its workers need the package cryptography ({error}): "
            "pip install 'recon-cli[cluster]'"
        ) from error
    with ExitStack() as stack:
        # all the time, because dead workers are replaced; that may take long on a busy machine
        stack.enter_context(single_threaded())
        stack.enter_context(dask.config.set(_PRIVATE))
        with block_interrupts():
            try:
                cluster = distributed.LocalCluster(  # type: ignore[no-untyped-call]
                    n_workers=processes,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    protocol="tls://",
                    security=security,
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    memory_limit=None,
                    silence_logs=logging.CRITICAL,
                )
            except RuntimeError as error:
                raise WorkerError(f"cluster: workers cannot be started: {error}") from error
            stack.callback(_close, cluster)
            client = _client(cluster)
            stack.callback(client.close)
        yield client


def _close(cluster: distributed.LocalCluster) -> None:
    """End the workers, even busy ones, for which Dask by itself would wait."""

    async def stop() -> None:
        nannies = cluster.workers.values()
        await asyncio.gather(*(nanny.close(timeout=_STOP_SECONDS) for nanny in nannies))

    cluster.sync(stop)  # type: ignore[no-untyped-call]
    cluster.close()


@contextmanager
def running_scheduler(scheduler: str) -> Iterator[Client]:
    """Yield a client of a running scheduler.

    Raises:
        ConfigError: It cannot be reached.
    """
    try:
        client = _client(scheduler)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cluster.scheduler: {scheduler} cannot be reached: {error}") from error
    try:
        yield client
    finally:
        client.close()


def _client(place: str | distributed.LocalCluster) -> Client:
    client: Client = distributed.Client(  # type: ignore[no-untyped-call]
        place, timeout=_CONNECT_SECONDS, set_as_default=False
    )
    return client


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Dask's log off the terminal; the program reports what matters."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
