"""What a command costs, and on which machine: nothing that names the machine or its owner.

Reads what Linux says of processes. Imports nothing heavy: a child's peak memory starts at that of
the process that starts it.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from recon_cli.version import __version__

ROOT = Path(__file__).resolve().parents[1]
#: Every run leaves its figures here; git ignores them.
RESULTS = ROOT / "benchmarks" / "results"
#: Runs that `docs/performance.md` is made of; kept in git.
REFERENCE = ROOT / "benchmarks" / "reference"
_PACKAGES = ("polars", "numpy", "scipy", "ortools", "highspy")

Record = dict[str, object]


@dataclass(frozen=True)
class Cost:
    """What a command took, seen from outside: start-up and workers included.

    Attributes:
        wall_seconds: From start to end.
        cpu_seconds: Of the process and all that it started, user and system.
        peak_mb: Largest resident memory of any one of these processes.
        exit_code: As the command left it.
    """

    wall_seconds: float
    cpu_seconds: float
    peak_mb: float
    exit_code: int = 0

    def core_seconds(self, workers: int) -> float:
        """Seconds of cores that were held, idle or not, by a command with ``workers``."""
        return max(self.wall_seconds * workers, self.cpu_seconds)


def measure(
    command: Sequence[object], *, accept: Sequence[int] = (0,), output: int | None = None
) -> Cost:
    """Run ``command`` to its end.

    The kernel adds up what the process and the children that it waited for used, so that
    nothing they did can be left out.

    Args:
        command: Its words.
        accept: Exit codes that are no failure.
        output: Where what it prints goes, as for `subprocess.Popen`.

    Raises:
        SystemExit: It failed.
    """
    words = [str(word) for word in command]
    started = time.perf_counter()
    process = subprocess.Popen(words, cwd=ROOT, stdout=output, stderr=output)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in accept:
        raise SystemExit(f"failed ({process.returncode}): {' '.join(words)}")
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(wall, cpu, usage.ru_maxrss / 1024, process.returncode)


def recon(*arguments: object, accept: Sequence[int] = (0,)) -> Cost:
    """Run a command of the program as a user does."""
    return measure([sys.executable, "-m", "recon_cli", *arguments, "-q"], accept=accept)


def module(name: str, *arguments: object) -> Cost:
    """Run a module of this folder in a process of its own."""
    return measure([sys.executable, "-m", f"benchmarks.{name}", *arguments])


def say(what: str, seconds: float, peak_mb: float) -> None:
    """Say on the terminal how far it is; the figures are in the result."""
    sys.stdout.write(f"  {what:24} {seconds:9.1f} s {peak_mb:8,.0f} MB\n")
    sys.stdout.flush()


def circumstances() -> Record:
    """Date, machine and versions; what was running beside, as the load of the last minute."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": {
            "cpu": _cpu_model(),
            "cores": len(os.sched_getaffinity(0)),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "system": f"{platform.system()} {platform.release().split('-')[0]}",
        },
        "versions": {
            "python": platform.python_version(),
            "recon-cli": __version__,  # as an installation may be of earlier files
            **{name: version(name) for name in _PACKAGES},
        },
        "load_before": round(os.getloadavg()[0], 2),
    }


def loop_seconds() -> float:
    """CPU seconds of ten million additions in Python: how fast a core is on the day."""
    started = time.process_time()
    total = 0
    for number in range(10_000_000):
        total += number
    return round(time.process_time() - started, 2)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def keep(name: str, facts: Record, figures: Record, *, folder: Path = RESULTS) -> Path:
    """Write ``<folder>/<name>.json``.

    Args:
        name: Of the benchmark.
        facts: `circumstances`, taken before the work began.
        figures: What was measured.
        folder: `RESULTS`, or `REFERENCE`.
    """
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"benchmark": name, **facts, **figures}, indent=1) + "\n")
    return path


def as_record(cost: Cost) -> Record:
    """A cost as JSON, to the millisecond."""
    figures = asdict(cost)
    del figures["exit_code"]
    return {name: round(value, 3) for name, value in figures.items()}
