"""Runs that are killed and started again, for test_run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from recon_cli.store.files import UNFINISHED
from recon_cli.store.manifest import MANIFEST
from tests.support.paths import ROOT

#: Stages that do not work partition by partition.
WHOLE = ("tabulate", "ingest", "score")
EVENTS = ("stage_started", "progress", "partition_done", "stage_done")
#: Most seconds between an event and the kill.
_LATER = 0.3
#: Seconds between two looks at a log or at processes.
_LOOK = 0.005

Victim = Literal["parent", "worker", "all"]


@dataclass(frozen=True)
class Stop:
    """A way to stop a program.

    Attributes:
        signal: Which signal.
        victim: Who gets it: the process that was started, one of its workers, or all of its
            processes, as from a terminal or a job scheduler.
        codes: How the program may end; a negative code is the signal itself.
    """

    signal: signal.Signals
    victim: Victim
    codes: tuple[int, ...]


KILLS = (
    Stop(signal.SIGKILL, "parent", (-9,)),
    Stop(signal.SIGKILL, "worker", (0, 9)),  # a piece is done again whose worker died once
    Stop(signal.SIGKILL, "all", (-9,)),
)
STOPS = (
    *KILLS,
    Stop(signal.SIGTERM, "parent", (143,)),
    Stop(signal.SIGTERM, "all", (143,)),
    Stop(signal.SIGINT, "all", (130,)),
)


@dataclass(frozen=True)
class Life:
    """What became of one start of the program.

    Attributes:
        stop: How it was stopped; None if it ended by itself before.
        at: The event after which.
        code: Its exit code.
        passed: Stages that it finished or found finished.
        said: What it wrote to stderr.
        seconds: From the stop to its end.
    """

    stop: Stop | None
    at: str
    code: int
    passed: tuple[str, ...] = ()
    said: str = ""
    seconds: float = 0.0

    @property
    def is_expected(self) -> bool:
        """Whether it ended as it must."""
        return self.code in (self.stop.codes if self.stop is not None else (0,))


def live(
    arguments: list[str],
    rng: random.Random,
    stages: tuple[str, ...],
    passed: tuple[str, ...],
    stops: tuple[Stop, ...] = STOPS,
    *,
    later: float = _LATER,
    event: str = "",
) -> Life:
    """Start ``recon run``, and stop it a moment after some event, unless it is done by then.

    Args:
        arguments: Of the command.
        rng: Chooses the event, the moment and the way.
        stages: Those of the run.
        passed: Stages that are done already: the event is of another.
        stops: Ways to choose from.
        later: Most seconds between the event and the stop.
        event: The event; default any.
    """
    left = [stage for stage in stages if stage not in passed] or [stages[-1]]
    stage = rng.choice(left[:2])
    wanted = f"{event or rng.choice(_events_of(stage, last=stage == stages[-1]))} {stage}"
    stop, delay = rng.choice(stops), rng.uniform(0, later)
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "log"
        log.touch()
        with started(["run", *arguments, "--log-json", str(log)]) as process:
            while process.poll() is None and wanted not in _events(log):
                time.sleep(_LOOK)
            at = ([*_events(log)] or ["nothing"])[-1]
            life = stopped(process, stop, delay, at)
        done = [
            event.split(" ", 1)[1]
            for event in _events(log)
            if event.startswith(("stage_done ", "stage_skipped "))
        ]
    if life.code == -signal.SIGINT and {*stages} <= {*done}:
        life = replace(life, stop=None, code=0)  # it was leaving: Python takes its handlers down
    return replace(life, passed=tuple(done))


def live_for(arguments: list[str], stop: Stop, seconds: float) -> Life:
    """Start any command, and stop it after so many seconds, unless it is done by then."""
    with started(arguments) as process:
        return stopped(process, stop, seconds, f"{seconds:.2f} s")


@contextmanager
def started(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A command with a group of processes of its own."""
    with subprocess.Popen(
        [sys.executable, "-m", "recon_cli", *arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process


def stopped(process: subprocess.Popen[str], stop: Stop, later: float, at: str) -> Life:
    """What becomes of a command that is stopped so many seconds from now."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(later)
    while stop.victim == "worker" and process.poll() is None and not workers(process.pid):
        time.sleep(_LOOK)
    running = workers(process.pid)
    children, since = list(_children(process.pid)), time.monotonic()
    came = process.poll() is None and _send(process.pid, stop, running)
    said = process.communicate(timeout=120)[1]
    seconds, code = time.monotonic() - since, process.returncode
    if came and code == 0 and 0 not in stop.codes:
        came = False  # too late: it was leaving already
    if came and code in stop.codes:
        _see_them_end(children)
    return Life(stop if came else None, at, code, (), said[-3_000:], seconds)


def _send(pid: int, stop: Stop, running: list[int]) -> bool:
    """Whether somebody was there to get it."""
    try:
        if stop.victim == "all":
            os.killpg(pid, stop.signal)
        else:
            os.kill(running[0] if stop.victim == "worker" else pid, stop.signal)
    except (ProcessLookupError, IndexError):
        return False
    return True


def workers(pid: int) -> list[int]:
    """Worker processes of a command."""
    return [child for child in _children(pid) if b"spawn_main" in _command(child)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""  # it has just ended


def _events(log: Path) -> dict[str, None]:
    """What has happened, in order: the event and its stage."""
    whole = log.read_text().rpartition("\n")[0]
    events = map(json.loads, whole.splitlines())
    return dict.fromkeys(f"{each['event']} {each.get('stage', '')}".strip() for each in events)


def _events_of(stage: str, *, last: bool) -> list[str]:
    """Events of a stage after which there is something left to kill."""
    never = {"partition_done"} if stage in WHOLE else set()
    return [event for event in EVENTS if event not in never | ({"stage_done"} if last else set())]


def snapshot(work: Path) -> dict[str, object]:
    """All that a run made, but for times, memory, and the pages and pictures that show them."""
    found: dict[str, object] = {}
    for path in sorted(work.rglob("*")):
        name = path.relative_to(work).as_posix()
        if path.is_dir() or name.startswith(".staging/"):
            continue
        if path.name == MANIFEST or path.parent.name == "manifests":
            manifest = json.loads(path.read_text())
            manifest.pop("run", None)  # what is given away says nothing of it
            found[name] = manifest
        else:
            found[name] = path.read_bytes()
    return found


def leftovers(work: Path) -> list[str]:
    """What a run should not have left behind."""
    return [
        path.relative_to(work).as_posix()
        for path in sorted(work.rglob("*"))
        if path.name.startswith(UNFINISHED)
        or (path.parent.name == ".staging" and path.suffix != ".lock")
    ]


def _children(pid: int) -> Iterator[int]:
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            yield from map(int, path.read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread has just ended


def _see_them_end(pids: list[int]) -> None:
    until = time.monotonic() + 20
    while any(map(_runs, pids)):
        assert time.monotonic() < until, "a worker outlived its parent"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
