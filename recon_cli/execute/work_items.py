"""Work items, their results and their cost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from recon_cli.progress import OnProgress
from recon_cli.resources import Usage, peak_mb

Shared = TypeVar("Shared")
Payload = TypeVar("Payload")
Result = TypeVar("Result")

#: A function of items: shared argument, payload, and progress callback.
WorkFunction = Callable[[Shared, Payload, OnProgress], Result]


@dataclass(frozen=True)
class WorkItem(Generic[Payload]):
    """One unit of work.

    Attributes:
        payload: Argument of the function; must pickle.
        weight: Its size, in any unit; the biggest go first.
        deaths: Number of workers that died while they held it; counted by `run_items`.
    """

    name: str
    payload: Payload
    weight: int = 1
    deaths: int = 0


#: Called when a worker died, with the item (its ``deaths`` include this one) and the cause;
#: returns the item to try again, perhaps with another payload, or None.
OnDeath = Callable[[WorkItem[Payload], str], WorkItem[Payload] | None]


def retry_once(item: WorkItem[Payload], cause: str) -> WorkItem[Payload] | None:  # noqa: ARG001
    """Return the item after its first death; None after later ones."""
    return item if item.deaths == 1 else None


@dataclass(frozen=True)
class Results(Generic[Result]):
    """Results in the order of the items.

    Attributes:
        usages: The cost of each item, in the same order; ``peak_mb`` is that of its process.
        workers: How many processes ran at a time, those started for dead ones not counted; 0 when
            this one did the work.
    """

    values: tuple[Result, ...]
    usages: tuple[Usage, ...]
    workers: int


@dataclass(frozen=True)
class DaskWorkers:
    """Dask workers to use: those of a scheduler, or some that are started for the call.

    Attributes:
        folder: A folder that every worker sees under the same path.
        scheduler: Address of a running scheduler; None to start one here.
        processes: Workers to start here; used only without ``scheduler``.
        wait_seconds: Seconds to wait while there is no worker.
    """

    folder: Path
    scheduler: str | None = None
    processes: int = 1
    wait_seconds: float = 300.0


def default_workers() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Meter:
    """Holds the cost of a piece of work once it is done."""

    usage = Usage()


@contextmanager
def measured() -> Iterator[Meter]:
    """Measure the cost of the block in this process."""
    meter = Meter()
    wall, cpu = time.perf_counter(), time.process_time()
    yield meter
    meter.usage = Usage(time.perf_counter() - wall, time.process_time() - cpu, peak_mb())
