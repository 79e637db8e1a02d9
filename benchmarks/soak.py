"""Thousands of pieces in one run, with memory that must stay flat: ``python -m benchmarks.soak``.

A synthetic population of tracts of some ninety people is cut into a piece a tract, and goes
through reconstruct, solvar and claims with two workers. The resident memory of the parent and of
each worker is read twice a second, and set against how many pieces were done. Exits with 1 if a
process grew by more than 5% from the second quarter of a stage to its last. Linux only.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.killing import workers
from tests.support.paths import ROOT

STAGES: Final = ("reconstruct", "solvar", "claims")
#: Growth from the second quarter of a stage to the last that is still flat.
FLAT: Final = 1.05
_PEOPLE_OF_TRACT: Final = 40
#: People of a piece that come of it.
_PEOPLE_OF_PIECE: Final = 91
_EVERY: Final = 0.5
_CONFIG: Final = """\
release: sf1_2010
work: work
seed: 1
workers: 2
synth: {{people: {people}, people_per_county: 4000, people_per_tract: {tract}}}
tabulate: {{records: work/persons, to: published.csv}}
ingest: {{source: tidy, paths: [published.csv], piece_people: {tract}}}
reconstruct: {{tables: block}}
solvar: {{mode: relaxed, intervals: propagation}}
claims:
"""


@dataclass(frozen=True)
class Look:
    """The resident memory of a process at a moment.

    Attributes:
        pid: The process; 0 is the parent.
        done: Pieces that were done.
    """

    pid: int
    done: int
    megabytes: float


def resident(pid: int) -> float:
    """Return the resident memory of a process in MB; 0 if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0.0


def run(home: Path, stage: str) -> tuple[list[Look], int]:
    """Run a stage, and look at its processes; with the number of its pieces."""
    command = [sys.executable, "-m", "recon_cli", "run", "-c", str(home / "recon.yaml")]
    log = home / f"{stage}.log"
    log.touch()
    process = subprocess.Popen(
        [*command, "--only", stage, "--log-json", str(log)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    looks: list[Look] = []
    while process.poll() is None:
        done = log.read_text().count('"partition_done"')
        for name, pid in ((0, process.pid), *((pid, pid) for pid in workers(process.pid))):
            if megabytes := resident(pid):
                looks.append(Look(name, done, megabytes))
        time.sleep(_EVERY)
    if process.returncode:
        raise RuntimeError(f"{stage}: exit code {process.returncode}")
    return looks, log.read_text().count('"partition_done"')


def quarters(looks: list[Look], pieces: int) -> list[float]:
    """Return the largest memory in each quarter of the pieces, before the tables of all of them."""
    found = [0.0] * 4
    for look in (each for each in looks if each.done < pieces):
        at = min(3, 4 * look.done // max(pieces, 1))
        found[at] = max(found[at], look.megabytes)
    return found


def rows(stage: str, looks: list[Look], pieces: int) -> Iterator[tuple[str, bool]]:
    """Yield a row of the table for each process that saw all of a stage, and whether it is flat."""
    for pid in dict.fromkeys(look.pid for look in looks):
        own = quarters([look for look in looks if look.pid == pid], pieces)
        if min(own) == 0:
            continue
        name = "a worker" if pid else "the parent"
        cells = " | ".join(f"{each:.0f}" for each in own)
        yield f"| {stage} | {pieces:,} | {name} | {cells} |", own[3] <= FLAT * own[1]


def main() -> int:
    """Run every stage, print the table, and say by the exit code whether all is flat."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pieces", type=int, default=3000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        people = given.pieces * _PEOPLE_OF_PIECE
        (home / "recon.yaml").write_text(_CONFIG.format(people=people, tract=_PEOPLE_OF_TRACT))
        command = [sys.executable, "-m", "recon_cli", "run", "-q", "-c", str(home / "recon.yaml")]
        subprocess.run([*command, "--until", "ingest"], cwd=ROOT, check=True)
        is_flat = True
        sys.stdout.write("| stage | pieces | process | MB, by quarter of the pieces | | | |\n")
        sys.stdout.write("|---|--:|---|--:|--:|--:|--:|\n")
        for stage in STAGES:
            for row, flat in rows(stage, *run(home, stage)):
                is_flat &= flat
                sys.stdout.write(f"{row}{'' if flat else ' GROWS'}\n")
                sys.stdout.flush()
    return int(not is_flat)


if __name__ == "__main__":
    sys.exit(main())
