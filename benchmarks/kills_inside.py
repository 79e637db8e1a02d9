"""Audits killed at random moments inside one region: ``python -m benchmarks.kills_inside``.

Wards of a made-up hospital, rounded, are one region, whose audit takes a minute. It gets SIGKILL,
or SIGINT or SIGTERM, at seeded moments, and is given again until it is done; then every file must
be as in an undisturbed run but for times and memory in manifests. Whatever a stop leaves published
must say that it was stopped, and be true: no interval narrower, no status other than at the end.
Exits with 1 if anything is not as it must be. Linux only.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from benchmarks.office.publication import WARDS, write
from recon_cli.store.manifest import MANIFEST
from tests.support.killing import Stop, leftovers, live_for, snapshot

#: Ways to stop, and the exit code of each.
_STOPS: Final = (
    Stop(signal.SIGKILL, "all", (-9,)),
    Stop(signal.SIGINT, "all", (130,)),
    Stop(signal.SIGTERM, "parent", (143,)),
)
_KEY: Final = ["geoid", "table", "cell"]


def main() -> int:
    """Run it; 1 if anything is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stops", type=int, default=20)
    parser.add_argument("--wards", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)  # noqa: S311 - to repeat a failure, not to hide
    with tempfile.TemporaryDirectory() as scratch:
        whole, stopped = Path(scratch) / "whole", Path(scratch) / "stopped"
        write(replace(WARDS, units=options.wards), whole)
        shutil.copytree(whole, stopped)
        end = live_for(_audit(whole), _STOPS[0], 3_600)
        print(f"undisturbed: {_rows(whole).height:,} counts", flush=True)  # noqa: T201
        faults, stops, most = [] if end.is_expected else [end.said], 0, 12.0
        while not faults and stops < options.stops:
            stop = rng.choice(_STOPS)
            life = live_for(_audit(stopped), stop, rng.uniform(1, most))
            if not life.is_expected:
                faults.append(life.said)
            elif life.stop is None:
                faults += _differences(whole, stopped)
                shutil.rmtree(stopped / "work")
            else:
                stops += 1
                decided = _so_far(whole, stopped, faults)
                print(f"{life.stop.signal.name} {life.seconds:.1f} s: {decided}", flush=True)  # noqa: T201
        live_for(_audit(stopped), _STOPS[0], 3_600)
        faults += _differences(whole, stopped)
    for fault in faults:
        print(fault)  # noqa: T201
    return 1 if faults else 0


def _audit(folder: Path) -> list[str]:
    return ["run", "-c", str(folder / "recon.yaml"), "--workers", "1"]


def _rows(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "work/audit/**/*.parquet", hive_partitioning=False)


def _so_far(whole: Path, stopped: Path, faults: list[str]) -> str:
    """What is published of a stopped audit; what is wrong with it goes to ``faults``."""
    manifest = stopped / "work/audit" / MANIFEST
    if not manifest.is_file():
        return "nothing published"
    said = json.loads(manifest.read_text()).get("stopped")
    both = _rows(stopped).join(_rows(whole), on=_KEY, suffix="_whole", how="full", coalesce=True)
    is_true = (
        (pl.col("least") <= pl.col("least_whole"))
        & (pl.col("greatest") >= pl.col("greatest_whole"))
        & ((pl.col("status") == "undecided") | (pl.col("status") == pl.col("status_whole")))
    )
    if said is None or not both.select(is_true.fill_null(value=False).all()).item():
        faults.append(f"a stopped audit says what is not so: {said}")
    return f"{said}"


def _differences(whole: Path, stopped: Path) -> list[str]:
    """Files that are not as in the undisturbed run, and what was left behind."""
    one, other = snapshot(whole / "work"), snapshot(stopped / "work")
    differing = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
    return [*differing, *leftovers(stopped / "work")]


if __name__ == "__main__":
    sys.exit(main())
