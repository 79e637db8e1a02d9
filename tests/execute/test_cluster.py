"""Dask workers: results as in the pool and here, whatever dies; refusals; nothing left behind."""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import shutil
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from unittest import mock

import dask
import pytest
from distributed import Client, LocalCluster

from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.solvar import SOLVAR
from recon_cli.config import load_config
from recon_cli.errors import ConfigError, ContradictionError, WorkerError
from recon_cli.execute import DaskWorkers, connection, remote, run_items
from recon_cli.pipeline import question_worker
from recon_cli.pipeline.run import Run
from tests.support import deadly_questions, shards
from tests.support.paths import ROOT
from tests.support.stages import ingest, reconstruct, solvar
from tests.support.work_items import ProgressSums, numbers, unit_lists, without_the_first

TOY = ROOT / "configs" / "toy.yaml"

pytestmark = pytest.mark.usefixtures("importable_support")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """A scheduler with two workers, as somebody else would have started it."""
    slow = {"distributed.deploy.lost-worker-timeout": "1 hour"}  # a busy machine takes its time
    with mock.patch.dict(os.environ), dask.config.set(slow), start(n_workers=2) as cluster:
        yield str(cluster.scheduler_address)


def start(**settings: object) -> LocalCluster:
    return LocalCluster(  # type: ignore[no-untyped-call]
        **{
            "threads_per_worker": 1,
            "dashboard_address": "127.0.0.1:0",
            "silence_logs": logging.CRITICAL,
            "memory_limit": None,
            **settings,
        }
    )


def test_results_are_the_same_wherever_shards_run_and_whatever_dies(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    environment, threads = dict(os.environ), threading.active_count()
    sums, done = ProgressSums(), list[str]()
    mortal = tmp_path / "mortal"
    mortal.mkdir()
    there = run_items(
        shards.be_killed_at_first,
        lambda: mortal,
        numbers(6),
        cluster=DaskWorkers(tmp_path / "work", processes=3),
        on_tick=sums,
        on_done=lambda name, _usage: done.append(name),
    )
    assert len(list(mortal.iterdir())) == 2  # workers were killed
    here = run_items(shards.be_killed_at_first, lambda: mortal, numbers(6), workers=1)
    pool = run_items(shards.be_killed_at_first, lambda: mortal, numbers(6), workers=2)
    assert there.values == here.values == pool.values == tuple(10 * i for i in range(6))
    assert there.workers in (2, 3), "two die, maybe before the third is ready"
    assert all(usage.peak_mb > 0 for usage in there.usages)
    assert sorted(done) == [f"county {i}" for i in range(6)]
    assert (sums.units, sums.people) == (12, 30)
    assert sums.statuses == {"first": 6, "second": 6}
    assert capfd.readouterr() == ("", "")
    assert list((tmp_path / "work").iterdir()) == []
    assert multiprocessing.active_children() == []
    assert dict(os.environ) == environment
    assert threading.active_count() <= threads + 1  # Dask keeps a helper that does nothing


def test_ticks_arrive_while_a_shard_is_worked_on(scheduler: str, tmp_path: Path) -> None:
    sums = ProgressSums()
    with pytest.raises(ContradictionError, match="P1 cell 1 says 7, P12 cell 1 says 8"):
        run_items(
            shards.tick_for_ever,
            lambda: tmp_path,
            numbers(2),
            cluster=DaskWorkers(tmp_path, scheduler),
            on_tick=sums,
        )
    assert sums.units > 0
    until = time.monotonic() + 20
    with Client(scheduler, set_as_default=False) as client:  # type: ignore[no-untyped-call]
        while any(client.processing().values()) and time.monotonic() < until:
            time.sleep(0.1)
        assert not any(client.processing().values())  # the other shard has stopped
        assert set(client.run(shards.known_jobs).values()) == {0}


@pytest.mark.parametrize(("deadly", "found"), [("c", ("d", "e")), ("d", ("e",))])
def test_a_shard_may_be_revived_with_another_payload(
    scheduler: str, tmp_path: Path, deadly: str, found: tuple[str, ...]
) -> None:
    sums = ProgressSums()
    results = run_items(
        shards.be_killed_by_a_unit,
        lambda: deadly,
        unit_lists(),
        cluster=DaskWorkers(tmp_path, scheduler),
        on_tick=sums,
        on_death=without_the_first,
    )
    assert results.values == (("a", "b"), found)
    assert sums.units == 2 + len(found)


def test_the_only_worker_may_die(scheduler: str, tmp_path: Path) -> None:
    (tmp_path / "died-3").touch()
    results = run_items(
        shards.be_killed_at_first,
        lambda: tmp_path,
        numbers(4),
        workers=1,
        cluster=DaskWorkers(tmp_path, scheduler),
    )
    assert results.values == (0, 10, 20, 30)
    assert results.workers == 1


def test_a_shard_is_given_up_after_two_deaths(scheduler: str, tmp_path: Path) -> None:
    where = r"worker tcp://.*, process \d+ on .*"
    with pytest.raises(WorkerError, match=rf"died \({where}\) while it worked on county 2 \(so"):
        run_items(shards.die, lambda: 2, numbers(3), cluster=DaskWorkers(tmp_path, scheduler))


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("", ContradictionError, "P1 cell 1 says 7, P12 cell 1 says 8"),
        ("fussy", ContradictionError, "010010201001000: P12003"),
        ("defect", ZeroDivisionError, "a defect"),
    ],
)
def test_errors_travel_intact(
    scheduler: str, tmp_path: Path, kind: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        run_items(
            shards.contradict, lambda: kind, numbers(3), cluster=DaskWorkers(tmp_path, scheduler)
        )
    assert type(caught.value) is error
    assert getattr(caught.value, "exit_code", None) == {"": 6, "fussy": 66}.get(kind)
    assert "in contradict" in str(caught.value.__cause__)


def test_relative_paths_and_threads_are_as_here(
    scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cluster = DaskWorkers(Path("work"), scheduler)
    found = run_items(shards.relative, lambda: Path("x.parquet"), numbers(2), cluster=cluster)
    assert set(found.values) == {str(tmp_path / "x.parquet")}
    threads = run_items(shards.environment, lambda: None, numbers(2), cluster=cluster)
    assert set(threads.values) == {("1", 1)}


def test_no_shards_need_no_cluster(tmp_path: Path) -> None:
    cluster = DaskWorkers(tmp_path, "tcp://127.0.0.1:9")
    assert run_items(shards.double, lambda: 1, [], cluster=cluster).values == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threads_per_worker": 2}, r"worker tcp://.* has 2 threads; start workers with one"),
        ({}, r"its polars has \d+ threads; start workers with POLARS_MAX_THREADS=1"),
    ],
)
def test_workers_with_more_than_one_thread_are_refused(
    tmp_path: Path, settings: dict[str, object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_polars_threads", lambda: 2)
    settings = {"n_workers": 1, "processes": False, "protocol": "tcp", **settings}
    with mock.patch.dict(os.environ), start(**settings) as cluster:
        there = DaskWorkers(tmp_path, cluster.scheduler_address)
        with pytest.raises(ConfigError, match=message):
            run_items(shards.double, lambda: 1, numbers(2), cluster=there)


def test_a_scheduler_without_workers_is_waited_for(tmp_path: Path) -> None:
    with mock.patch.dict(os.environ), start(n_workers=0) as cluster:
        there = DaskWorkers(tmp_path, cluster.scheduler_address, wait_seconds=0.6)
        with pytest.raises(WorkerError, match=r"it had no workers for 0\.6 seconds"):
            run_items(shards.double, lambda: 1, numbers(2), cluster=there)


def test_a_scheduler_that_goes_away_is_noticed(tmp_path: Path) -> None:
    with mock.patch.dict(os.environ):
        cluster = start(n_workers=0)
        there = DaskWorkers(tmp_path, cluster.scheduler_address)
        end = threading.Timer(1.0, cluster.close)
        end.start()
        with pytest.raises(WorkerError, match=r"the scheduler tcp://.* is gone; what was finished"):
            run_items(shards.double, lambda: 1, numbers(2), cluster=there)
        end.join()


def test_a_scheduler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_CONNECT_SECONDS", 0.5)
    there = DaskWorkers(tmp_path, "tcp://127.0.0.1:9")
    with pytest.raises(ConfigError, match=r"cluster\.scheduler: tcp://127\.0\.0\.1:9 cannot be re"):
        run_items(shards.double, lambda: 1, numbers(2), cluster=there)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "work").touch()
    with pytest.raises(ConfigError, match=r"cluster: .*\.pickle: .* is no folder"):
        run_items(
            shards.double,
            lambda: 1,
            numbers(2),
            cluster=DaskWorkers(tmp_path / "work", processes=2),
        )


def test_the_package_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    for module in ("cluster", "connection"):
        monkeypatch.delitem(sys.modules, f"recon_cli.execute.{module}", raising=False)
    with pytest.raises(ConfigError, match=r"pip install 'recon-cli\[cluster\]'"):
        run_items(shards.double, lambda: 1, numbers(2), cluster=DaskWorkers(tmp_path, processes=2))


@pytest.fixture
def briefing(tmp_path: Path) -> remote.WorkerSetup:
    file = tmp_path / "briefing"
    file.write_bytes(b"what all shards share")
    digest = sha256(file.read_bytes()).hexdigest()
    return remote.WorkerSetup("none", file, digest, tmp_path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": "9.9"}, "it has recon-cli .*, this is 9.9"),
        ({"python": (3, 99)}, r"it has Python 3\.\d+, this is 3\.99"),
        ({"file": Path("/nowhere/at/all")}, "it does not see /nowhere/at; the work folder must be"),
        ({"digest": "0"}, "is not the same folder there as here"),
        ({"folder": Path("/nowhere")}, "it has no folder /nowhere, the current one"),
    ],
)
def test_a_worker_that_cannot_do_the_work_says_why(
    briefing: remote.WorkerSetup,
    changes: dict[str, object],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote, "_FILE_SECONDS", 0.1)
    answer = remote.set_up(replace(briefing, **changes))  # type: ignore[arg-type]
    assert isinstance(answer, remote.Refused)
    assert re.search(reason, answer.reason)


def test_a_process_that_was_not_briefed_does_nothing() -> None:
    assert remote.run_item("never heard of", "key", b"") is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["cluster={}"], "cluster: one of scheduler and processes is expected"),
        (
            ["cluster.processes=2", "cluster.scheduler=tcp://host:8786"],
            "cluster: one of scheduler and processes is expected",
        ),
        (["cluster.scheduler=host"], "cluster.scheduler: an address as in tcp://host:8786 is exp"),
        (["cluster.processes=0"], "cluster.processes: must be greater than or equal to 1"),
    ],
)
def test_a_wrong_section_is_refused(settings: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(settings=["release=sf1_2010", "work=w", *settings])


def run(work: Path, *settings: str, workers: int | None = None) -> Run:
    config = load_config(TOY, settings=settings, work=work, workers=workers)
    return Run(config, config.load_release())


def files(work: Path) -> dict[str, bytes]:
    """The data files of both stages."""
    return {
        str(path.relative_to(work)): path.read_bytes()
        for stage in (RECONSTRUCT, SOLVAR)
        for folder in stage.folders
        for path in sorted((work / folder).rglob("*.parquet"))
    }


def test_stages_make_the_same_files_wherever_they_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(run(tmp_path / "ingested", "ingest.piece_people=1"))
    found = {}
    for name, settings, workers in (
        ("here", (), 1),
        ("cluster", ("cluster.processes=2",), None),
    ):
        work = Path(shutil.copytree(tmp_path / "ingested", tmp_path / name))
        if name == "cluster":  # a worker of each stage is killed while it is at a solver
            monkeypatch.setenv(deadly_questions.LIVES, "1")
            monkeypatch.setattr(question_worker, "ask_piece", deadly_questions.ask_or_die)
        for stage in (reconstruct, solvar):
            monkeypatch.setenv(deadly_questions.DEATHS, str(tmp_path / f"{name}-{stage.__name__}"))
            stage(run(work, *settings, workers=workers))
        found[name] = files(work)
    for stage in (reconstruct, solvar):
        assert len((tmp_path / f"cluster-{stage.__name__}").read_text().splitlines()) == 1
    assert len(found["here"]) == 18
    assert found["cluster"] == found["here"]
    assert not list((tmp_path / "cluster").glob(".cluster-*"))


def listening(pids: list[int]) -> list[int]:
    """The TCP ports that processes listen on."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ports = {row[9]: int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A"}
    found = set()
    for pid in pids:
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.add(str(handle.readlink()).removeprefix("socket:[").removesuffix("]"))
    return sorted(port for inode, port in ports.items() if inode in found)


def family(pid: int) -> list[int]:
    """A process and all below it."""
    children = [
        int(child)
        for path in Path(f"/proc/{pid}/task").glob("*/children")
        for child in path.read_text().split()
    ]
    return [pid, *(each for child in children for each in family(child))]


def test_others_on_this_machine_cannot_use_our_workers() -> None:
    pytest.importorskip("cryptography")
    already = listening(family(os.getpid()))
    with connection.quiet(), connection.own_workers(1) as client:
        assert client.nthreads()
        ports = set(listening(family(os.getpid()))) - set(already)
        assert len(ports) >= 3  # of the scheduler, a worker and its nanny
        pages = (b"/info/main/workers.html", b"/json/identity.json", b"/metrics")
        requests = [b"GET %s HTTP/1.0\r\n\r\n" % page for page in pages]
        asked = [(port, b"", tls) for port in ports for tls in (False, True)]
        asked += [(port, request, False) for port in ports for request in requests]
        with ThreadPoolExecutor(len(asked)) as strangers:
            answers = strangers.map(said_to_a_stranger, *zip(*asked, strict=True))
            for (_, request, _), said in zip(asked, answers, strict=True):
                # A Dask server without TLS greets.
                assert said == b"" or (request and said.split()[1] == b"404")


def said_to_a_stranger(port: int, asked: bytes, tls: bool) -> bytes:
    """What a port on this machine says within a second to who has no key."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as plain:
        stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
        with stranger.wrap_socket(plain) if tls else plain as connected:
            connected.sendall(asked)
            return connected.recv(100)
    return b""
