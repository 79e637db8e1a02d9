"""Shard functions for test_execute: workers import this module by name, which takes a moment."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recon_cli.errors import ContradictionError, ReconError
from recon_cli.execute import DaskWorkers, OnProgress, WorkItem, remote, run_items


class FussyError(ContradictionError):
    """Does not survive pickling: its constructor wants more than its message."""

    exit_code = 66

    def __init__(self, geoid: str, cell: str) -> None:
        super().__init__(f"{geoid}: {cell}")


def double(shared: int, payload: int, tick: OnProgress) -> int:
    tick(1, payload)
    return shared * payload


def slow_first(shared: None, payload: int, tick: OnProgress) -> int:
    time.sleep(0.3 if payload == 0 else 0.0)
    return payload


def environment(shared: None, payload: int, tick: OnProgress) -> tuple[str | None, int]:
    import polars as pl

    return os.environ.get("OMP_NUM_THREADS"), pl.thread_pool_size()


def process(shared: None, payload: int, tick: OnProgress) -> int:
    time.sleep(0.05)
    return os.getpid()


def die(shared: int, payload: int, tick: OnProgress) -> int:
    if payload == shared:
        os._exit(3)
    time.sleep(0.05)
    return payload


class DeadOnArrival:
    """A shard function that ends the process that receives it."""

    def __call__(self, *_: object) -> int:
        return 0

    def __reduce__(self) -> tuple[Callable[[int], object], tuple[int]]:
        return os._exit, (3,)


def be_killed(shared: int, payload: int, tick: OnProgress) -> int:
    if payload == shared:
        os.kill(os.getpid(), signal.SIGKILL)
    return payload


def contradict(shared: str, payload: int, tick: OnProgress) -> int:
    if payload == 1:
        if shared == "fussy":
            raise FussyError("010010201001000", "P12003")
        if shared == "defect":
            raise ZeroDivisionError("a defect")
        raise ContradictionError("no records: P1 cell 1 says 7, P12 cell 1 says 8")
    return payload


def be_killed_at_first(shared: Path, payload: int, tick: OnProgress) -> int:
    """Shards 2 and 3 kill the first worker that has done half of their work."""
    tick(1, payload, {"first": 1})
    mark = shared / f"died-{payload}"
    if payload in {2, 3} and not mark.exists():
        mark.touch()
        time.sleep(0.6)  # long enough for ticks to be sent
        tick(1, payload, {"second": 1})
        os.kill(os.getpid(), signal.SIGKILL)
    tick(1, payload, {"second": 1})
    return 10 * payload


def all_die_at_first(shared: Path, payload: int, tick: OnProgress) -> int:
    """Three workers meet, then each dies."""
    mark = shared / f"met-{payload}"
    if mark.exists():
        return payload
    mark.touch()
    until = time.monotonic() + 30
    while len(list(shared.glob("met-*"))) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
    return payload


def be_killed_by_a_unit(shared: str, payload: tuple[str, ...], tick: OnProgress) -> tuple[str, ...]:
    """A payload is a list of units; one of them is deadly."""
    for unit in payload:
        if unit == shared:
            os.kill(os.getpid(), signal.SIGKILL)
        tick(1, 1)
    return payload


def tick_for_ever(shared: Path, payload: int, tick: OnProgress) -> int:
    """Shard 0 waits until another one has ticked for a while, and fails; the others never end."""
    (shared / f"started-{payload}").touch()
    while payload:
        tick(1, 1)
        time.sleep(0.05)
    while len(list(shared.glob("started-*"))) < 2:
        time.sleep(0.05)
    time.sleep(1.5)
    raise ContradictionError("no records: P1 cell 1 says 7, P12 cell 1 says 8")


def relative(shared: Path, payload: int, tick: OnProgress) -> str:
    return str(shared.absolute())


def modes_beside(shared: Path, payload: int, tick: OnProgress) -> list[int]:
    """The modes of what the parent wrote for its workers."""
    return [path.stat().st_mode & 0o777 for path in shared.glob(".cluster-*")]


def known_jobs() -> int:
    """How many jobs this Dask worker was briefed on and not dismissed from."""
    return len(remote._known)


def note_and_wait(shared: Path, payload: int, tick: OnProgress) -> int:
    (shared / f"started-{payload}").write_text(str(os.getpid()))
    time.sleep(60)
    return payload


def unpicklable_result(shared: None, payload: int, tick: OnProgress) -> object:
    return lambda: payload


def die_at_once(job: Any, piece: Any, tick: OnProgress) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _main() -> None:
    """Run `note_and_wait` in two workers until somebody stops us."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run in the background
    shards = [WorkItem(str(i), i) for i in range(4)]
    folder, where = Path(sys.argv[1]), sys.argv[2:]
    cluster = DaskWorkers(folder, processes=2) if where == ["cluster"] else None
    try:
        run_items(note_and_wait, lambda: folder, shards, workers=2, cluster=cluster)
    except KeyboardInterrupt:
        sys.exit(130)
    except ReconError as error:
        sys.exit(error.exit_code)


if __name__ == "__main__":
    _main()
