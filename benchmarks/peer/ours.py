"""The same tract through this program: ``python -m benchmarks.peer.ours WORK TRACT OUT``."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.peer.laps import Laps
from benchmarks.peer.tract import RELEASE, read_tract
from recon_cli.capabilities.reconstruct.question import reconstruct_plan
from recon_cli.model.planning import make_plan
from recon_cli.schema import load_release

#: How often the tract is solved again, for a figure that start-up does not blur.
AGAIN = 9


def main() -> None:
    """Read, plan, reconstruct, and leave the records beside the times."""
    laps = Laps()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("tract")
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    release = load_release(RELEASE)
    published = read_tract(options.work, release, options.tract)
    laps.lap("read")
    plan = make_plan(release, release.tables, published.coverage)
    laps.lap("plan")
    found = reconstruct_plan(plan, published, seed=0)
    laps.lap("solve")
    found.microdata.write_parquet(options.out.with_suffix(".parquet"))
    laps.lap("records")
    for time in range(AGAIN):
        reconstruct_plan(plan, published, seed=0)
        laps.lap(f"again {time + 1}")
    statuses = dict(found.blocks["status"].value_counts().iter_rows())
    laps.write(options.out, status="solved", solved=True, blocks=statuses)


if __name__ == "__main__":
    main()
