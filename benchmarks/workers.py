"""One worker and two on the same nation: ``python -m benchmarks.workers``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import REFERENCE, RESULTS, Record, as_record, circumstances, keep, say
from benchmarks.nation import LINK, PREPARATION, RECONSTRUCT, RELAXED, Nation, prepare

COUNTS = (1, 2)


def compare(folder: Path, people: int) -> Record:
    """Each stage with one worker, then with two."""
    prepare(Nation(folder, people, max(COUNTS)), PREPARATION)
    stages: dict[str, Record] = {}
    for step in (RECONSTRUCT, RELAXED, LINK):
        costs = {}
        for count in COUNTS:
            costs[count] = step.run(Nation(folder, people, count, force=True))
            say(f"{step.name}, {count}", costs[count].wall_seconds, costs[count].peak_mb)
        stages[step.name] = {
            **{str(count): as_record(cost) for count, cost in costs.items()},
            "times_as_fast": round(costs[1].wall_seconds / costs[2].wall_seconds, 2),
        }
    return {"people": people, "stages": stages}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and say how much faster two are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--folder", type=Path, help="that of benchmarks.growth, to make no other")
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    facts = circumstances()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.folder or Path(scratch)).resolve() / f"{options.people}"
        figures = compare(folder, options.people)
    keep("workers", facts, figures, folder=REFERENCE if options.reference else RESULTS)
    sys.stdout.write("kept\n")


if __name__ == "__main__":
    main()
