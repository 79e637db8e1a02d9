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

ROOT = Path(__file__).resolve().parents[1]
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
#: How a process ends on each; a negative code is the signal itself.
CODES = {signal.SIGKILL: (-9,), signal.SIGTERM: (143,), signal.SIGINT: (130,)}
#: Most seconds between an event and the kill.
_LATER = 0.3


@dataclass(frozen=True)
class Life:
    """What became of one start of the program.

    Attributes:
        killed: By which signal; None if it ended by itself.
        at: The event that the kill followed.
        code: Its exit code.
    """

    killed: signal.Signals | None
    at: str
    code: int


def start(arguments: list[str]) -> subprocess.Popen[str]:
    """``recon run`` with its events on a pipe, in a group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "recon_cli", "run", *arguments, "--log-json"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def live(arguments: list[str], rng: random.Random) -> Life:
    """Start the program, and kill it a moment after some event, unless it is done by then."""
    stop = rng.choice(SIGNALS)
    wanted, later = rng.randrange(2, 16), rng.uniform(0, _LATER)
    process = start(arguments)
    assert process.stderr is not None
    at = "start"
    for number, text in enumerate(process.stderr, 1):
        event = json.loads(text)
        at = f"{event['event']} {event.get('stage', '')}".strip()
        if number == wanted:
            time.sleep(later)
            break
    children = list(_children(process.pid))
    process.send_signal(stop)
    process.stderr.close()
    code = process.wait(30)
    if code in CODES[stop]:
        _see_them_end(children)
        return Life(stop, at, code)
    return Life(None, at, code)


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
        if path.name.endswith(".tmp") or (path.parent.name == ".staging" and path.suffix != ".lock")
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
