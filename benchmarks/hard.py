"""Tracts as hard as they come: ``python -m benchmarks.hard``.

Each is reconstructed (block and tract tables), then its variability is measured, relaxed and
exact, with bounds by propagation and the usual budget. On record: time, memory, and what was
proven, bounded or left open; a reconstruction that its budget does not suffice for is a result.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.machine import (
    REFERENCE,
    RESULTS,
    Record,
    as_record,
    circumstances,
    keep,
    module,
    recon,
    say,
)
from benchmarks.manifests import counts_of

_PROPAGATION = ("--set", "solvar.intervals=propagation")


@dataclass(frozen=True)
class Case:
    """One very mixed tract.

    Attributes:
        people: How many.
        blocks: Inhabited blocks.
        largest: People of the largest block, where it is not like the others.
        seed: Of the people.
        all_races: Every one of the 63 races equally likely, instead of eleven.
    """

    people: int
    blocks: int
    largest: int = 0
    seed: int = 1
    all_races: bool = False


CASES = {
    "8,000 people in 20 blocks": Case(8_000, 20),
    "8,000 other people in 20 blocks": Case(8_000, 20, seed=2),
    "a block of 5,000 people": Case(8_000, 20, largest=5_000),
    "3,000 blocks": Case(8_000, 3_000),
    "8,000 people of all 63 races in 20 blocks": Case(8_000, 20, all_races=True),
}
#: A solver ran out of its budget.
UNDECIDED = 8


def try_case(case: Case, folder: Path) -> Record:
    """Everything on one tract."""
    config, records = folder / "case.yaml", folder / "people.parquet"
    config.write_text(
        "release: sf1_2010\nwork: work\nseed: 1\n"
        "ingest: {source: tidy, paths: [tables.parquet]}\n"
        "reconstruct: {tables: block+tract}\n"
    )
    words = ["--people", case.people, "--blocks", case.blocks, "--largest", case.largest]
    module("mixed", records, *words, "--seed", case.seed, *(["--all-races"] * case.all_races))
    tables = folder / "tables.parquet"
    recon("data", "tabulate", records, "--release", "sf1_2010", "--to", tables)
    run = ("-c", config, "--workers", 1)
    recon("ingest", *run)
    found: Record = dict(asdict(case))
    commands: dict[str, tuple[str, tuple[object, ...]]] = {
        "reconstruct": ("blocks", ("reconstruct",)),
        "solvar relaxed": ("solvar", ("solvar", *_PROPAGATION)),
        "solvar exact": ("solvar", ("solvar", "--mode", "exact", *_PROPAGATION)),
    }
    for name, (made, command) in commands.items():
        cost = recon(*command, *run, accept=(0, UNDECIDED))
        say(f"  {name}", cost.wall_seconds, cost.peak_mb)
        outcome = counts_of(folder / "work", (made,))[made] if cost.exit_code == 0 else "undecided"
        found[name] = {**as_record(cost), "found": outcome}
        if cost.exit_code:
            break
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Try every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    facts = circumstances()
    figures: Record = {}
    for name in options.cases:
        sys.stdout.write(f"{name}\n")
        with tempfile.TemporaryDirectory() as scratch:
            figures[name] = try_case(CASES[name], Path(scratch))
    where = REFERENCE if options.reference else RESULTS
    keep("hard", facts, {"cases": figures}, folder=where)


if __name__ == "__main__":
    main()
