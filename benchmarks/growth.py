"""How time and memory of every stage grow with the people: ``python -m benchmarks.growth``.

Each size is a synthetic population of its own, taken through every command from ``synth`` to
``score``. Exact solvar is measured on a sample of tracts and given for the nation in proportion.
A result file holds one size, so that the large ones can be run when the machine is free.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import REFERENCE, RESULTS, Record, as_record, circumstances, keep, say
from benchmarks.manifests import counts_of
from benchmarks.nation import AUDIT, EXACT, MAKING, Nation, Step, take_sample

SIZES = (10_000, 100_000, 1_000_000)
#: Tracts for exact solvar, in people.
SAMPLE_PEOPLE = 50_000
NOTES = "measures.json"


def grow(nation: Nation, sample_people: int = SAMPLE_PEOPLE) -> Record:
    """Every stage on one nation.

    What is measured is noted in the nation's folder: a run that was broken off goes on after
    the last finished command.
    """
    notes = nation.folder / NOTES
    known: Record = json.loads(notes.read_text()) if notes.exists() else {}
    nation.configure()
    for step in (*MAKING, *AUDIT):
        _measure(nation, step, known, notes)
    if EXACT.name not in known:
        take_sample(nation, sample_people)
    _measure(nation, EXACT, known, notes)
    return {
        "people": nation.people,
        "seed": nation.seed,
        "workers": nation.workers,
        "counts": counts_of(nation.work),
        "sample": counts_of(nation.sample),
        "stages": known,
    }


def _measure(nation: Nation, step: Step, known: Record, notes: Path) -> None:
    if step.name in known:
        return
    cost = step.run(nation)
    workers = nation.workers if step.parallel else 1
    known[step.name] = {
        **as_record(cost),
        "core_seconds": round(cost.core_seconds(workers), 3),
        "about": step.about,
    }
    notes.write_text(json.dumps(known, indent=1) + "\n")
    say(step.name, cost.wall_seconds, cost.peak_mb)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure every size that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=_size, nargs="+", default=SIZES, help="such as 1e4 1e7")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sample", type=_size, default=SAMPLE_PEOPLE, help="for exact solvar")
    parser.add_argument("--folder", type=Path, help="keep the nations here, and go on from here")
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    for people in options.sizes:
        sys.stdout.write(f"{people:,} people\n")
        facts = circumstances()
        with tempfile.TemporaryDirectory() as scratch:
            folder = (options.folder or Path(scratch)).resolve() / f"{people}"
            figures = grow(Nation(folder, people, options.workers, force=True), options.sample)
            (folder / NOTES).unlink()
        where = REFERENCE if options.reference else RESULTS
        keep(f"growth-1e{len(str(people)) - 1}", facts, figures, folder=where)


def _size(text: str) -> int:
    return int(float(text))


if __name__ == "__main__":
    main()
