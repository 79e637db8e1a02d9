"""Runs that are killed and started again, for test_run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from recon_cli.store.files import UNFINISHED
from tests.support.paths import ROOT

#: Stages that do not work partition by partition.
WHOLE = ("tabulate", "ingest", "score")
EVENTS = ("stage_started", "progress", "partition_done", "stage_done")
#: Most seconds between an event and the kill.
_LATER = 0.3


@dataclass(frozen=True)
class Stop:
    """A way to stop a program.

    Attributes:
        signal: Which signal.
        group: Whether all its processes get it, as from a terminal or a job scheduler.
        codes: How the program may end; a negative code is the signal itself.
    """

    signal: signal.Signals
    group: bool
    codes: tuple[int, ...]


STOPS = (
    Stop(signal.SIGKILL, group=False, codes=(-9,)),
    Stop(signal.SIGKILL, group=True, codes=(-9,)),
    Stop(signal.SIGTERM, group=False, codes=(143,)),
    Stop(signal.SIGTERM, group=True, codes=(143,)),
    Stop(signal.SIGINT, group=True, codes=(130,)),
)


@dataclass(frozen=True)
class Life:
    """What became of one start of the program.

    Attributes:
        stop: How it was stopped; None if it ended by itself.
        at: The event after which.
        code: Its exit code.
        passed: Stages that it finished or found finished.
        said: The last words.
    """

    stop: Stop | None
    at: str
    code: int
    passed: tuple[str, ...]
    said: str = ""


def live(
    arguments: list[str], rng: random.Random, stages: tuple[str, ...], passed: tuple[str, ...]
) -> Life:
    """Start ``recon run``, and stop it a moment after some event, unless it is done by then.

    Args:
        arguments: Of the command.
        rng: Chooses the event, the moment and the way.
        stages: Those of the run.
        passed: Stages that are done already: the event is of another.
    """
    left = [stage for stage in stages if stage not in passed] or [stages[-1]]
    stage = rng.choice(left[:2])
    wanted = f"{rng.choice(_events_of(stage, last=stage == stages[-1]))} {stage}"
    stop, later = rng.choice(STOPS), rng.uniform(0, _LATER)
    with subprocess.Popen(
        [sys.executable, "-m", "recon_cli", "run", *arguments, "--log-json"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        at, done = "nothing", list[str]()
        for text in process.stderr:
            if not text.startswith("{"):
                return Life(None, at, 1, tuple(done), text + process.stderr.read())
            event = json.loads(text)
            at = f"{event['event']} {event.get('stage', '')}".strip()
            if event["event"] in {"stage_done", "stage_skipped"}:
                done.append(event["stage"])
            if at == wanted:
                time.sleep(later)
                break
        children = list(_children(process.pid))
        if process.poll() is None:
            end = os.killpg if stop.group else os.kill
            end(process.pid, stop.signal)
        rest = process.stderr.read()  # what it still has to say
        code = process.wait(60)
    if at == "run_done" or '"exit_code": 0' in rest:
        return Life(None, at, 0, tuple(done))  # too late: it was leaving already
    if code in stop.codes:
        _see_them_end(children)
        return Life(stop, at, code, tuple(done))
    return Life(None, at, code, tuple(done), rest[-3_000:])


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
        if path.name == "_manifest.json":
            manifest = json.loads(path.read_text())
            manifest.pop("run")
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
