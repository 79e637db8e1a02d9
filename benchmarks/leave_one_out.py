"""What leaving people out costs: ``python -m benchmarks.leave_one_out``.

Makes a synthetic population, its block and tract tables and their reconstruction in a folder, then
leaves some of its people out, and says what each command cost. ``--left-out 0``: everybody.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from benchmarks.machine import recon

CONFIG = """\
release: sf1_2010
synth:
  people: {people}
tabulate:
  records: persons
  to: tables.parquet
ingest:
  source: tidy
  paths: [tables.parquet]
reconstruct:
  tables: block+tract
leave_one_out:
  people: {left_out}
work: .
seed: {seed}
"""


def steps(
    folder: Path, people: int, left_out: int, seed: int
) -> Iterator[tuple[str, list[object]]]:
    """The commands, in order, and what they are called."""
    config = folder / "run.yaml"
    text = CONFIG.format(people=people, left_out=left_out or "null", seed=seed)
    config.write_text(text)
    yield "made and reconstructed", ["run", "-c", config, "--until", "reconstruct"]
    yield "left out", ["leave-one-out", "-c", config]


def main() -> None:
    """Print what each command cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--left-out", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        for name, command in steps(Path(folder), asked.people, asked.left_out, asked.seed):
            cost = recon(*command, "--workers", asked.workers)
            console.print(
                f"{name:24} {cost.wall_seconds:8.1f} s {cost.cpu_seconds:8.1f} core s "
                f"{cost.peak_mb:7,.0f} MB"
            )


if __name__ == "__main__":
    main()
