"""What commands cost over the toy county: ``python -m benchmarks.startup``.

Whole processes on one core, with their byte code written beforehand, as an installed package has
it: the least CPU and wall seconds of some runs; `MARKS` has what they are held to.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.machine import (
    REFERENCE,
    RESULTS,
    ROOT,
    Cost,
    Record,
    as_record,
    circumstances,
    keep,
    loop_seconds,
    measure,
    say,
)

#: Command → seconds on a quiet core.
MARKS: Mapping[str, float] = {
    "--help": 0.15,
    "status": 0.4,
    "show": 0.8,
    "show 018410001001002": 0.8,
    "run --force": 3.0,
}


def command(text: str, work: Path) -> list[str]:
    """The words of a command over the toy."""
    words = [sys.executable, "-m", "recon_cli", *text.split()]
    if text == "--help":
        return words
    words += ["-c", str(ROOT / "configs" / "toy.yaml"), "--work", str(work)]
    return [*words, "-q"] if "--force" in words else words


def quietly(text: str, work: Path) -> Cost:
    """Run a command whose output nobody reads."""
    return measure(command(text, work), output=subprocess.DEVNULL)


def least(text: str, work: Path, runs: int) -> Record:
    """The least seconds and memory of some runs of a command."""
    costs = [quietly(text, work) for _ in range(runs)]
    cost = Cost(*(min(getattr(c, name) for c in costs) for name in Cost.__annotations__))
    say(f"recon {text}", cost.cpu_seconds, cost.peak_mb)
    return as_record(cost)


def main() -> None:
    """Measure every command, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args()
    facts = {**circumstances(), "loop_seconds": loop_seconds()}
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        work = Path(folder) / "toy"
        for text in ("run --force", *MARKS):  # the first makes what the others look at
            quietly(text, work)
        figures = {text: least(text, work, options.runs) for text in MARKS}
    where = REFERENCE if options.reference else RESULTS
    keep("startup", facts, {"runs": options.runs, "commands": figures}, folder=where)


if __name__ == "__main__":
    main()
