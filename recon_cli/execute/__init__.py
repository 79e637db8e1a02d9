"""Running a function over work items: in this process, in spawned workers, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from recon_cli.execute.work_items import (
    DaskWorkers,
    OnDeath,
    Payload,
    Result,
    Results,
    Shared,
    WorkFunction,
    WorkItem,
    default_workers,
    measured,
    retry_once,
)
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.resources import Usage
from recon_cli.stage import undisturbed

if TYPE_CHECKING:
    from recon_cli.execute.work_queue import WorkQueue

__all__ = [
    "DaskWorkers",
    "OnDeath",
    "OnProgress",
    "Results",
    "WorkFunction",
    "WorkItem",
    "default_workers",
    "ignore_progress",
    "retry_once",
    "run_items",
]


def run_items(
    function: WorkFunction[Shared, Payload, Result],
    prepare: Callable[[], Shared],
    items: Sequence[WorkItem[Payload]],
    *,
    workers: int | None = None,
    grain: int = 0,
    on_tick: OnProgress = ignore_progress,
    on_done: Callable[[str, Usage], None] | None = None,
    on_death: OnDeath[Payload] = retry_once,
    cluster: DaskWorkers | None = None,
) -> Results[Result]:
    """Call ``function(shared, item.payload, tick)`` for every item.

    Args:
        function: A module-level function.
        prepare: Makes ``shared``, here and once, while workers start; each gets a copy of it.
            Not called when there are no items.
        items: Any number of items, even none.
        workers: Processes; 1 means here. Default: the number of cores, but no more than the
            total weight divided by ``grain``, because a process takes a second to start. On a
            cluster: how many of its workers to use at a time; default all.
        grain: Weight that is worth a process of its own.
        on_tick: Called with progress, in this process. Negative counts take back the progress of
            an attempt whose worker died, so that the sums are exact.
        on_done: Called once for each finished item, with its name and the cost of the attempt
            that finished it.
        on_death: Called when a worker died with an item; returns the item for another worker to
            try again, or None to give up. Other items go on. Not called for work in this process.
        cluster: Dask workers to use instead of processes of this machine.
    """
    with undisturbed():
        from recon_cli.execute.work_queue import WorkQueue

    job = WorkQueue(list(items), on_tick, on_done or (lambda _, _usage: None), on_death)
    if not items:
        return Results((), (), 0)
    if cluster is not None:
        count = _run_there(function, prepare, job, cluster, workers)
    else:
        count = _run_here(function, prepare, job, workers, grain)
    values, usages = job.results()
    return Results(values, usages, count)


def _run_here(
    function: WorkFunction[Any, Any, Any],
    prepare: Callable[[], object],
    job: WorkQueue,
    workers: int | None,
    grain: int,
) -> int:
    count = default_workers() if workers is None else workers
    if workers is None and grain > 0:
        count = min(count, sum(item.weight for item in job.items) // grain)
    count = min(count, len(job.items))
    if count > 1:
        with undisturbed():
            from recon_cli.execute.pool import Pool

        Pool(function, count, job).run(prepare)
        return count
    shared = prepare()
    while (index := job.take()) is not None:
        with measured() as meter:
            value = function(shared, job.items[index].payload, job.on_tick)
        job.finish(index, value, meter.usage)
    return 0


def _run_there(
    function: WorkFunction[Any, Any, Any],
    prepare: Callable[[], object],
    job: WorkQueue,
    cluster: DaskWorkers,
    workers: int | None,
) -> int:
    with undisturbed():
        from recon_cli.execute.cluster import run_on_cluster

    return run_on_cluster(function, prepare(), job, cluster, workers)
