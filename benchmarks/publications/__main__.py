"""Draw files after real publications: ``python -m benchmarks.publications draw --to FOLDER``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .archetypes import ARCHETYPES
from .drawing import Drawn, draw


def drawn(number: int, seed: int) -> list[Drawn]:
    """Return so many files, the archetypes in turn, each with a seed of its own."""
    names = list(ARCHETYPES)
    return [
        draw(ARCHETYPES[names[at % len(names)]], seed + at // len(names)) for at in range(number)
    ]


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.publications", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("draw", help="write the files to a folder")
    command.add_argument("--n", type=int, default=1000)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--to", type=Path, required=True)
    given = parser.parse_args()
    for file in drawn(given.n, given.seed):
        folder = given.to / f"{file.seed}-{Path(file.file).stem}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file.file).write_bytes(file.data)
    sys.stdout.write(f"{given.n} files of {len(ARCHETYPES)} archetypes in {given.to}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
