"""Run a function over shards: in this process, or in spawned workers of one thread each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from recon_cli.execute.pool import Pool
from recon_cli.execute.shards import (
    Job,
    Payload,
    Result,
    Results,
    Shard,
    ShardFunction,
    Shared,
    Usage,
    default_workers,
    measured,
    peak_mb,
)
from recon_cli.progress import Tick, no_tick

__all__ = [
    "Results",
    "Shard",
    "ShardFunction",
    "Tick",
    "Usage",
    "default_workers",
    "no_tick",
    "peak_mb",
    "run_shards",
]


def run_shards(
    function: ShardFunction[Shared, Payload, Result],
    shared: Shared,
    shards: Sequence[Shard[Payload]],
    *,
    workers: int | None = None,
    grain: int = 0,
    on_tick: Tick = no_tick,
    on_done: Callable[[str, Usage], None] | None = None,
) -> Results[Result]:
    """Call ``function(shared, shard.payload, tick)`` for every shard.

    Args:
        function: A module-level function.
        shared: Sent to each worker once.
        shards: Any number of them, none included.
        workers: Processes; 1 means here. Default: the number of cores, but no more than the
            total weight divided by ``grain``, because a process takes a second to start.
        grain: Weight that is worth a process of its own.
        on_tick: Hears of progress, from this process.
        on_done: Hears of each finished shard: its name and cost.

    Raises:
        ReconError: What a shard raised; the others are stopped.
        WorkerError: A worker died; names its shard.
    """
    count = default_workers() if workers is None else workers
    if workers is None and grain > 0:
        count = min(count, sum(shard.weight for shard in shards) // grain)
    count = min(count, len(shards))
    order = sorted(range(len(shards)), key=lambda i: (-shards[i].weight, i))
    job = Job(shards, order, on_tick, on_done or (lambda _name, _usage: None))
    if count <= 1:
        _run_here(function, shared, job)
    else:
        Pool(function, shared, count, job).run()
    outcomes = [job.outcomes[i] for i in range(len(shards))]
    return Results(
        tuple(value for value, _ in outcomes),
        tuple(usage for _, usage in outcomes),
        count if count > 1 else 0,
    )


def _run_here(function: ShardFunction[Any, Any, Any], shared: object, job: Job) -> None:
    for index in job.order:
        with measured() as meter:
            value = function(shared, job.shards[index].payload, job.on_tick)
        job.finish(index, value, meter.usage)
