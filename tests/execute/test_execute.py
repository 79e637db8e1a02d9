"""Shards run here or in workers: same results, errors that travel, deaths that are named."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from recon_cli import errors
from recon_cli.errors import ContradictionError, ReconError, WorkerError
from recon_cli.execute import WorkItem, default_workers, run_items
from recon_cli.resources import Usage, peak_mb
from tests.support import shards
from tests.support.paths import ROOT
from tests.support.work_items import ProgressSums, numbers, unit_lists, without_the_first

pytestmark = pytest.mark.usefixtures("importable_support")


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_the_order_of_the_shards(workers: int) -> None:
    results = run_items(shards.double, lambda: 10, numbers(7), workers=workers)
    assert results.values == tuple(10 * i for i in range(7))
    assert results.workers == (workers if workers > 1 else 0)
    assert all(usage.peak_mb > 0 for usage in results.usages)


def test_order_does_not_depend_on_who_finishes_first() -> None:
    assert run_items(shards.slow_first, lambda: None, numbers(4), workers=2).values == (0, 1, 2, 3)


def test_no_shards() -> None:
    results = run_items(lambda _shared, _payload, _tick: 1, lambda: None, [], workers=4)
    assert results.values == ()


def test_biggest_shards_go_first() -> None:
    seen: list[int] = []
    given = [WorkItem("a", 1, weight=5), WorkItem("b", 2, weight=9), WorkItem("c", 3, weight=5)]
    run_items(lambda _shared, payload, _tick: seen.append(payload), lambda: None, given, workers=1)
    assert seen == [2, 1, 3]


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_reaches_the_caller(workers: int) -> None:
    ticks: list[tuple[int, int]] = []
    done: list[str] = []

    def on_done(name: str, usage: Usage) -> None:
        done.append(name)

    run_items(
        shards.double,
        lambda: 1,
        numbers(5),
        workers=workers,
        on_tick=lambda units, people, _statuses={}: ticks.append((units, people)),
        on_done=on_done,
    )
    assert (sum(u for u, _ in ticks), sum(p for _, p in ticks)) == (5, 10)
    assert sorted(done) == [f"county {i}" for i in range(5)]


def test_small_work_stays_in_this_process() -> None:
    results = run_items(shards.process, lambda: None, numbers(4), grain=1_000)
    assert set(results.values) == {os.getpid()}


def test_workers_have_one_thread_and_the_parent_keeps_its_own() -> None:
    before = dict(os.environ)
    found = run_items(shards.environment, lambda: None, numbers(2), workers=2).values
    assert found == (("1", 1), ("1", 1))
    assert dict(os.environ) == before


@pytest.mark.parametrize("workers", [1, 2])
def test_an_expected_error_travels_intact(workers: int) -> None:
    with pytest.raises(ContradictionError, match="P1 cell 1 says 7, P12 cell 1 says 8") as caught:
        run_items(shards.contradict, lambda: "", numbers(3), workers=workers)
    assert type(caught.value) is ContradictionError
    assert caught.value.exit_code == 6


def test_an_error_that_does_not_pickle_keeps_message_and_exit_code() -> None:
    with pytest.raises(ContradictionError, match="010010201001000: P12003") as caught:
        run_items(shards.contradict, lambda: "fussy", numbers(3), workers=2)
    assert caught.value.exit_code == 66


def test_a_defect_keeps_its_type_and_shows_the_workers_traceback() -> None:
    with pytest.raises(ZeroDivisionError, match="a defect") as caught:
        run_items(shards.contradict, lambda: "defect", numbers(3), workers=2)
    assert "in contradict" in str(caught.value.__cause__)


def test_a_result_that_does_not_pickle_is_an_error_not_a_death() -> None:
    with pytest.raises((AttributeError, pickle.PicklingError), match=r"pickle|local object"):
        run_items(shards.unpicklable_result, lambda: None, numbers(2), workers=2)


@pytest.mark.parametrize("name", [n for n, v in vars(errors).items() if isinstance(v, type)])
def test_every_error_of_the_tree_pickles(name: str) -> None:
    kind: type[ReconError] = getattr(errors, name)
    again = pickle.loads(pickle.dumps(kind("what was wrong")))  # noqa: S301
    assert type(again) is kind
    assert str(again) == "what was wrong"


def test_a_death_costs_its_shard_a_second_attempt(tmp_path: Path) -> None:
    sums, done = ProgressSums(), Counter[str]()
    results = run_items(
        shards.be_killed_at_first,
        lambda: tmp_path,
        numbers(6),
        workers=2,
        on_tick=sums,
        on_done=lambda name, _usage: done.update([name]),
    )
    assert {path.name for path in tmp_path.iterdir()} == {"died-2", "died-3"}
    assert results.values == tuple(10 * i for i in range(6))
    assert set(done.values()) == {1}
    assert len(done) == 6
    assert sums.fell
    assert (sums.units, sums.people) == (12, 30)
    assert sums.statuses == {"first": 6, "second": 6}


def test_several_workers_may_die_at_once(tmp_path: Path) -> None:
    results = run_items(shards.all_die_at_first, lambda: tmp_path, numbers(3), workers=3)
    assert results.values == (0, 1, 2)
    assert results.workers == 3
    assert len(list(tmp_path.glob("met-*"))) == 3


@pytest.mark.parametrize(("deadly", "found"), [("c", ("d", "e")), ("d", ("e",))])
def test_a_shard_may_be_revived_with_another_payload(deadly: str, found: tuple[str, ...]) -> None:
    sums = ProgressSums()
    results = run_items(
        shards.be_killed_by_a_unit,
        lambda: deadly,
        unit_lists(),
        workers=2,
        on_tick=sums,
        on_death=without_the_first,
    )
    assert results.values == (("a", "b"), found)
    assert sums.units == 2 + len(found)


def test_a_shard_may_be_given_up() -> None:
    asked: list[int] = []

    def refuse(shard: WorkItem[int], cause: str) -> None:
        assert cause == "exit code 3"
        asked.append(shard.deaths)

    with pytest.raises(WorkerError, match=r"died \(exit code 3\) while it worked on county 5; "):
        run_items(shards.die, lambda: 5, numbers(6), workers=2, on_death=refuse)
    assert asked == [1]


def test_a_defect_is_no_death(tmp_path: Path) -> None:
    def never(shard: WorkItem[int], cause: str) -> None:
        raise AssertionError(f"{shard.name}: {cause}")

    with pytest.raises(ZeroDivisionError):
        run_items(shards.contradict, lambda: "defect", numbers(3), workers=2, on_death=never)


def test_a_dead_worker_is_named_with_its_shard() -> None:
    with pytest.raises(WorkerError, match=r"died \(exit code 3\) while it worked on county 2 \(so"):
        run_items(shards.die, lambda: 2, numbers(6), workers=2)


def test_workers_that_die_before_they_are_ready_are_not_waited_for() -> None:
    ballast = bytes(2_000_000)  # more than a pipe holds
    with pytest.raises(WorkerError, match=r"died \(exit code 3\)"):
        run_items(shards.DeadOnArrival(), lambda: ballast, numbers(3), workers=2)


def test_what_is_shared_is_made_while_workers_start_and_only_for_work() -> None:
    def prepare() -> int:
        made.append(len(multiprocessing.active_children()))
        return 10

    made: list[int] = []
    assert run_items(shards.double, prepare, [], workers=2).values == ()
    assert made == []
    assert run_items(shards.double, prepare, numbers(3), workers=2).values == (0, 10, 20)
    assert run_items(shards.double, prepare, numbers(3), workers=1).values == (0, 10, 20)
    assert made == [2, 0]


def test_a_killed_worker_is_named_with_its_signal() -> None:
    with pytest.raises(WorkerError, match=r"signal 9, SIGKILL\) while it worked on county 4"):
        run_items(shards.be_killed, lambda: 4, numbers(6), workers=2)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody reaps does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at /proc")
@pytest.mark.parametrize("where", ["pool", "cluster"])
@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_no_worker_outlives_its_parent(
    tmp_path: Path, stop: signal.Signals, code: int, where: str
) -> None:
    command = [sys.executable, str(ROOT / "tests" / "support" / "shards.py"), str(tmp_path), where]
    parent = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while len(list(tmp_path.glob("started-*"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.1)
    pids = [int(path.read_text()) for path in tmp_path.glob("started-*")]
    assert len(pids) == 2
    parent.send_signal(stop)
    _, said = parent.communicate(timeout=30)
    assert parent.returncode == code
    assert not said or stop == signal.SIGKILL
    while any(alive(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in pids)


def test_this_process_is_measured() -> None:
    assert default_workers() >= 1
    assert peak_mb() > 10


def test_the_first_process_does_not_let_ctrl_c_through() -> None:
    """It would also start multiprocessing's resource tracker, which unblocks SIGINT."""
    code = (
        "import multiprocessing, signal\n"
        "from recon_cli.execute.children import block_interrupts\n"
        "with block_interrupts():\n"
        "    process = multiprocessing.get_context('spawn').Process(target=print)\n"
        "    process.start()\n"
        "    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())\n"
        "process.join()\n"
        "assert signal.SIGINT in mask\n"
        "assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
