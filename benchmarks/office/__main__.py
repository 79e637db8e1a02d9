"""Offices' tables, audited as a user does: ``python -m benchmarks.office``.

Made-up offices are written, ingested and audited, rounded schools also reconstructed; each command
is a process of its own on one core, and CPU seconds include start-up. Beside the first of them
stand other ways to its intervals, in the same run (`benchmarks.office.baselines`). Every interval
must hold the true count.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from benchmarks.machine import (
    REFERENCE,
    RESULTS,
    ROOT,
    Record,
    as_record,
    circumstances,
    keep,
    recon,
    say,
)
from benchmarks.office.publication import COUNTY, ROUNDED, SCHOOLS, WARDS, write

OFFICES = {
    "schools": SCHOOLS,
    "schools, rounded": ROUNDED,
    "wards, rounded": WARDS,
    "county": COUNTY,
}


def audit(name: str, folder: Path) -> Record:
    """Write an office, ingest and audit it.

    Raises:
        SystemExit: A command failed, or a true count lies outside its interval.
    """
    made: Record = dict(write(OFFICES[name], folder))
    config = folder / "recon.yaml"
    recon("ingest", "-c", config)
    cost = recon("audit", "-c", config, "--workers", "1")
    found = pl.read_parquet(folder / "work" / "audit" / "**" / "*.parquet")
    types = {"cell": pl.Int16, "geoid": pl.String}
    truth = pl.read_csv(folder / "exact.csv", schema_overrides=types)
    both = found.join(truth, on=["geoid", "table", "cell"], how="left")
    if not both["count"].is_between(both["least"], both["greatest"].fill_null(2**31)).all():
        raise SystemExit(f"{name}: a true count lies outside its interval")
    say(name, cost.cpu_seconds, cost.peak_mb)
    return {
        **made,
        **as_record(cost),
        "exact": int(found["is_exact"].sum()),
        **dict(found["status"].value_counts().sort("status").iter_rows()),
    }


def reconstruct(name: str, folder: Path) -> Record:
    """Reconstruct an office whose counts were read: how many units are proven to be likeliest."""
    cost = recon("reconstruct", "-c", folder / "recon.yaml", "--workers", "1")
    units = pl.read_parquet(folder / "work" / "blocks" / "**" / "*.parquet")
    say(f"{name}: reconstruct", cost.cpu_seconds, cost.peak_mb)
    return {**as_record(cost), **dict(units["status"].value_counts().sort("status").iter_rows())}


def baselines(folder: Path, sample: int) -> Record:
    """Other ways to the same intervals, in a process of its own."""
    words = ["-m", "benchmarks.office.baselines", str(folder), "--sample", str(sample)]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, check=True, capture_output=True)
    found: Record = json.loads(done.stdout)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--offices", nargs="+", choices=list(OFFICES), default=list(OFFICES))
    parser.add_argument("--sample", type=int, default=80, help="counts of the joint baselines")
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    facts = circumstances()
    with tempfile.TemporaryDirectory() as scratch:
        figures: Record = {
            name: audit(name, Path(scratch) / str(at)) for at, name in enumerate(options.offices)
        }
        if "schools, rounded" in options.offices:
            place = Path(scratch) / str(options.offices.index("schools, rounded"))
            figures["schools, rounded: reconstruct"] = reconstruct("schools, rounded", place)
        if "schools" in options.offices:
            place = Path(scratch) / str(options.offices.index("schools"))
            figures["baselines"] = baselines(place, options.sample)
    keep("office", facts, figures, folder=REFERENCE if options.reference else RESULTS)


if __name__ == "__main__":
    main()
