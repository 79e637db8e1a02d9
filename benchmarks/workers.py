"""One worker and two on the same nation: ``python -m benchmarks.workers``.

Beside it stands what the machine gives at most: the same arithmetic in one process, and in two at
a time. Cores that share a cache, or a host with other guests, give less than twice.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median

from benchmarks.machine import REFERENCE, RESULTS, Cost, Record, as_record, circumstances, keep, say
from benchmarks.nation import LINK, PREPARATION, RECONSTRUCT, RELAXED, Nation, Step, prepare
from recon_cli.execute.children import single_threaded

COUNTS = (1, 2)
#: Runs of each, of which the fastest counts: other guests of the machine only ever slow it down.
ROUNDS = 3
_ADDITIONS = 40_000_000
_PAIRS = 5


def compare(folder: Path, people: int) -> Record:
    """Each stage with one worker, then with two."""
    prepare(Nation(folder, people, max(COUNTS)), PREPARATION)
    stages: dict[str, Record] = {}
    walls = dict.fromkeys(COUNTS, 0.0)
    for step in (RECONSTRUCT, RELAXED, LINK):
        costs = _fastest(step, folder, people)
        for count, cost in costs.items():
            walls[count] += cost.wall_seconds
        stages[step.name] = {
            **{str(count): as_record(cost) for count, cost in costs.items()},
            "times_as_fast": round(costs[1].wall_seconds / costs[2].wall_seconds, 2),
        }
    return {
        "people": people,
        "rounds": ROUNDS,
        "stages": stages,
        "times_as_fast": round(walls[1] / walls[2], 2),
        "machine_gives": round(machine_gives(), 2),
    }


def _fastest(step: Step, folder: Path, people: int) -> dict[int, Cost]:
    """The fastest run of a stage with each number of workers, in turns.

    A worker has one thread; the one that is alone, too, or frames would use both cores.
    """
    best: dict[int, Cost] = {}
    for _ in range(ROUNDS):
        for count in COUNTS:
            with single_threaded() if count == 1 else nullcontext():
                cost = step.run(Nation(folder, people, count, force=True))
            say(f"{step.name}, {count}", cost.wall_seconds, cost.peak_mb)
            best[count] = min(best.get(count, cost), cost, key=lambda each: each.wall_seconds)
    return best


def machine_gives() -> float:
    """How much more two processes do than one, where they have nothing to wait for."""
    return median(2 * _busy(1) / _busy(2) for _ in range(_PAIRS))


def _busy(processes: int) -> float:
    """Wall seconds until this many processes have each done the same arithmetic."""
    context = multiprocessing.get_context("spawn")
    all_ready = context.Barrier(processes + 1)
    started = [context.Process(target=_add_up, args=(all_ready,)) for _ in range(processes)]
    for process in started:
        process.start()
    all_ready.wait()
    begun = time.perf_counter()
    for process in started:
        process.join()
    return time.perf_counter() - begun


def _add_up(all_ready: Barrier) -> None:
    all_ready.wait()
    total = 0
    for number in range(_ADDITIONS):
        total += number


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and say how much faster two are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--folder", type=Path, help="that of benchmarks.growth, to make no other")
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    facts = circumstances()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.folder or Path(scratch)).resolve() / f"{options.people}"
        figures = compare(folder, options.people)
    keep("workers", facts, figures, folder=REFERENCE if options.reference else RESULTS)
    sys.stdout.write("kept\n")


if __name__ == "__main__":
    main()
