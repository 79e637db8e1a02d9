"""What commands cost before they work: ``python -m benchmarks.startup``.

Whole processes over the toy county, with their byte code written beforehand, as an installed
package has it: the least CPU and wall seconds of some runs, beside the marks that they are held to
on a quiet core.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import ROOT, Cost, measure

#: Command → seconds on a quiet core.
MARKS = {
    "--help": 0.15,
    "status": 0.4,
    "show": 0.8,
    "show 018410001001002": 0.8,
    "run": 3.0,
}


def command(text: str, work: Path) -> list[str]:
    """The words of a command over the toy; `recon run` does everything again."""
    words = [sys.executable, "-m", "recon_cli", *text.split()]
    if text == "--help":
        return words
    words += ["-c", str(ROOT / "configs" / "toy.yaml"), "--work", str(work)]
    return [*words, "--force", "-q"] if text == "run" else words


def quietly(text: str, work: Path) -> Cost:
    """Run a command whose output nobody reads."""
    return measure(command(text, work), output=subprocess.DEVNULL)


def main() -> None:
    """Print the seconds of every command, and its mark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        work = Path(folder) / "toy"
        for text in ("run", *MARKS):  # the first makes what the others look at
            quietly(text, work)
        print(f"{'command':24}{'CPU s':>8}{'wall s':>8}{'mark':>8}")  # noqa: T201
        for text, mark in MARKS.items():
            costs = [quietly(text, work) for _ in range(runs)]
            cpu, wall = min(c.cpu_seconds for c in costs), min(c.wall_seconds for c in costs)
            print(f"recon {text:18}{cpu:8.2f}{wall:8.2f}{mark:8.2f}")  # noqa: T201


if __name__ == "__main__":
    main()
