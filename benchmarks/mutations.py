"""Thousands of damaged files: each read rightly or refused in a line, none slow or large.

``python -m benchmarks.mutations --inputs 10000 --seed 1`` damages every kind of input
(`tests.support.mutated_inputs`) in one of two processes, which is ended where a file takes longer
than 30 s, and started again. Exits with 1 if a file was read wrongly without a word, ended in a
traceback or in many lines, took longer than 30 s, or brought the process above 1 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import selectors
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final

#: Limits of one file.
_SECONDS: Final = 30.0
_MEGABYTES: Final = 1024
#: Processes at a time, and files that one of them reads.
_PROCESSES: Final = 2
_BATCH: Final = 500
#: To start a process, and to make what is damaged.
_STARTING: Final = 120.0
_GOOD: Final = ("same", "right", "refused")


@dataclass(frozen=True)
class Tried:
    """What came of one file; the fields of `tests.support.mutated_inputs.Case`, and memory."""

    number: int
    input: str
    change: str
    outcome: str
    detail: str
    seconds: float
    megabytes: float

    @property
    def is_good(self) -> bool:
        """Test whether it is what it must be."""
        within = self.seconds <= _SECONDS and self.megabytes <= _MEGABYTES
        return self.outcome in _GOOD and within


def work(seed: int, first: int, last: int, kind: str | None) -> None:
    """Try some files, a line of JSON each; the work of the process that may be ended."""
    from tests.support.mutated_inputs import all_inputs, run_case  # slow to load

    kinds = [each.name for each in all_inputs() if kind in (None, each.name)]
    _say(json.dumps(kinds))
    for number in range(first, last):
        case = run_case(seed, number, kind)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        _say(json.dumps({"number": number, **asdict(case), "megabytes": peak}))


def try_all(seed: int, inputs: int, kind: str | None = None) -> Iterator[Tried]:
    """Every file, in order."""
    batches = [(first, min(first + _BATCH, inputs)) for first in range(0, inputs, _BATCH)]
    with ThreadPoolExecutor(_PROCESSES) as pool:
        for tried in pool.map(
            lambda batch: list(_try_range(seed, batch[0], batch[1], kind)), batches
        ):
            yield from tried


def _try_range(seed: int, first: int, last: int, kind: str | None) -> Iterator[Tried]:
    """Return some files, in a new process after each that had to be ended."""
    while first < last:
        for tried in _try_batch(seed, first, last, kind):
            yield tried
            first = tried.number + 1


def _try_batch(seed: int, first: int, last: int, kind: str | None) -> Iterator[Tried]:
    """Return files until the process is through, or had to be ended."""
    command = [sys.executable, "-m", "benchmarks.mutations", "--seed", str(seed)]
    environment = {**os.environ, "RUST_BACKTRACE": "0", "PYTHONPATH": str(Path.cwd())}
    process = subprocess.Popen(
        [*command, *([] if kind is None else ["--kind", kind]), "--work", str(first), str(last)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    lines = _Lines(process.stdout)
    try:
        kinds = json.loads(lines.next(_STARTING) or "[]")
        for number in range(first, last):
            started = time.monotonic()
            line = lines.next(_SECONDS)
            if line is not None:
                yield Tried(**json.loads(line))
                continue
            waited = time.monotonic() - started
            kind = kinds[number % len(kinds)] if kinds else "the process did not start"
            outcome = "too slow" if process.poll() is None else "killed"
            yield Tried(number, kind, "", outcome, "", waited, 0.0)
            return
    finally:
        process.kill()
        process.wait()


class _Lines:
    """Lines from a pipe, waited for so long."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        self._pipe = -1 if pipe is None else pipe.fileno()
        self._left = b""
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._pipe, selectors.EVENT_READ)

    def next(self, seconds: float) -> bytes | None:
        """Return the next line; None at the end, or if none came in time."""
        end = time.monotonic() + seconds
        while b"\n" not in self._left:
            if not self._ready.select(max(0.0, end - time.monotonic())):
                return None
            data = os.read(self._pipe, 1 << 16)
            if not data:
                return None
            self._left += data
        line, _, self._left = self._left.partition(b"\n")
        return line


def _table(tried: list[Tried]) -> Iterator[str]:
    outcomes = [*_GOOD, *sorted({each.outcome for each in tried} - set(_GOOD))]
    yield "| input | files | " + " | ".join(outcomes) + " | slowest |"
    yield "|---|---" + "|---" * len(outcomes) + "|---|"
    for kind in [*dict.fromkeys(each.input for each in tried), "all"]:
        own = [each for each in tried if kind in (each.input, "all")]
        counts = Counter(each.outcome for each in own)
        cells = " | ".join(f"{counts[name]:,}" for name in outcomes)
        slowest = max(each.seconds for each in own)
        yield f"| {kind} | {len(own):,} | {cells} | {slowest:.1f} s |"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Try, tell, and say by the exit code whether all is well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", help="this kind of file alone, such as wide, the workbook")
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.seed, given.work[0], given.work[1], given.kind)
        return 0
    tried = []
    for each in try_all(given.seed, given.inputs, given.kind):
        tried.append(each)
        if not each.is_good:
            _say(
                f"{each.number}: {each.input}: {each.change}: {each.outcome} "
                f"({each.seconds:.1f} s, {each.megabytes:.0f} MB): {each.detail[-600:]}"
            )
    largest = max(each.megabytes for each in tried)
    wrong = sum(not each.is_good for each in tried)
    _say("\n".join(_table(tried)))
    _say(f"\nlargest process {largest:.0f} MB; not as it must be: {wrong:,}")
    return int(not all(each.is_good for each in tried))


if __name__ == "__main__":
    sys.exit(main())
