"""Offices' tables, as a user works with them: ``python -m benchmarks.office``.

Made-up offices are written, ingested, audited and reported; sixty schools also suppressed anew and
compared under five protections, rounded counts also reconstructed. Each command is a process of its
own on one core, and CPU seconds include start-up. Beside the first office stand other ways to its
intervals, in the same run (`benchmarks.office.baselines`). Every interval must hold the true count.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from benchmarks.machine import (
    REFERENCE,
    RESULTS,
    ROOT,
    Record,
    as_record,
    circumstances,
    keep,
    loop_seconds,
    recon,
    say,
)
from benchmarks.office.publication import BELOW, COUNTY, ROUNDED, SCHOOLS, WARDS, write

OFFICES = {
    "schools": SCHOOLS,
    "schools, rounded": ROUNDED,
    "wards, rounded": WARDS,
    "county": COUNTY,
}
#: Office and command → CPU seconds that are aimed at, on a quiet core.
MARKS: Final[Mapping[str, float]] = {
    "schools: audit": 2,
    "schools: report": 8,
    "schools: suppress": 8,
    "schools: compare": 120,
    "schools, rounded: audit": 15,
    "schools, rounded: reconstruct": 6,
    "wards, rounded: audit": 17,
    "wards, rounded: reconstruct": 17,
    "county: audit": 45,
}
#: What sixty schools are compared under, as a config says it.
_PROTECTIONS = (
    f"{{none: , rr3: {{round: {{base: 3}}}}, rr5: {{round: {{base: 5}}}}, "
    f"suppress: {{suppress: {{below: {BELOW}}}}}, cellkey: {{cellkey: {{max: 4, variance: 2}}}}}}"
)


def audit(folder: Path) -> Record:
    """Audit an office.

    Raises:
        SystemExit: The command failed, or a true count lies outside its interval.
    """
    cost = recon("audit", "-c", folder / "recon.yaml", "--workers", "1")
    found = pl.read_parquet(folder / "work" / "audit" / "**" / "*.parquet")
    types = {"cell": pl.Int16, "geoid": pl.String}
    truth = pl.read_csv(folder / "exact.csv", schema_overrides=types)
    both = found.join(truth, on=["geoid", "table", "cell"], how="left")
    if not both["count"].is_between(both["least"], both["greatest"].fill_null(2**31)).all():
        raise SystemExit(f"{folder}: a true count lies outside its interval")
    return {
        **as_record(cost),
        "exact": int(found["is_exact"].sum()),
        **dict(found["status"].value_counts().sort("status").iter_rows()),
    }


def report(folder: Path) -> Record:
    """Report what was audited."""
    return as_record(recon("report", "-c", folder / "recon.yaml", "--workers", "1"))


def reconstruct(folder: Path) -> Record:
    """Reconstruct an office whose counts were read: how many units are proven to be likeliest."""
    cost = recon("reconstruct", "-c", folder / "recon.yaml", "--workers", "1")
    units = pl.read_parquet(folder / "work" / "blocks" / "**" / "*.parquet")
    return {**as_record(cost), **dict(units["status"].value_counts().sort("status").iter_rows())}


def suppress(folder: Path) -> Record:
    """Suppress small counts anew: how many, of how many in whole tables, and how safe they are."""
    config = folder / "suppress.yaml"
    config.write_text(
        "release: schema.yaml\nwork: suppressed\n"
        f"suppress: {{records: records.csv, below: {BELOW}}}\n"
        "ingest: {source: tidy, paths: [suppressed/suppressed]}\naudit:\n"
    )
    cost = recon("protect", "suppress", "-c", config, "--workers", "1")
    made = pl.read_parquet(folder / "suppressed" / "suppressed" / "**" / "*.parquet")
    recon("ingest", "-c", config)
    recon("audit", "-c", config, "--workers", "1")
    found = pl.read_parquet(folder / "suppressed" / "audit" / "**" / "*.parquet")
    # without a choice: each table of a place that has a small count
    truth = pl.read_csv(folder / "exact.csv", schema_overrides={"geoid": pl.String})
    is_small = pl.col("count").is_between(1, BELOW - 1)
    tables = truth.filter(pl.col("count") > 0, is_small.any().over("geoid", "table"))
    return {
        **as_record(cost),
        "suppressed": made["count"].null_count(),
        **dict(found["status"].value_counts().sort("status").iter_rows()),
        "in whole tables": tables.height,
    }


def compare(folder: Path) -> Record:
    """Compare five protections of one truth."""
    config = folder / "compare.yaml"
    config.write_text(
        "release: schema.yaml\nwork: compared\nseed: 1\ncompare:\n  truth: records.csv\n"
        f"  reconstruct: {{}}\n  claims:\n  protections: {_PROTECTIONS}\n"
    )
    return as_record(recon("compare", "-c", config, "--workers", "1"))


COMMANDS: Final[Mapping[str, Callable[[Path], Record]]] = {
    "audit": audit,
    "report": report,
    "suppress": suppress,
    "compare": compare,
    "reconstruct": reconstruct,
}


def measure(name: str, folder: Path) -> tuple[Record, dict[str, Record]]:
    """Write and ingest an office, and run its commands.

    Returns:
        What it publishes, and by office and command what that took and how it came out.

    Raises:
        SystemExit: A command failed, or a true count lies outside its interval.
    """
    made: Record = dict(write(OFFICES[name], folder))
    recon("ingest", "-c", folder / "recon.yaml")
    found = {}
    for step in MARKS:
        office, _, command = step.partition(": ")
        if office == name:
            found[step] = COMMANDS[command](folder)
            say(step, float(str(found[step]["cpu_seconds"])), float(str(found[step]["peak_mb"])))
    return made, found


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
    facts = {**circumstances(), "loop_seconds": loop_seconds()}
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    offices: dict[str, Record] = {}
    commands: dict[str, Record] = {}
    others: Record = {}
    with tempfile.TemporaryDirectory() as scratch:
        for at, name in enumerate(options.offices):
            folder = Path(scratch) / str(at)
            offices[name], found = measure(name, folder)
            commands |= found
            if OFFICES[name] is SCHOOLS:
                others = baselines(folder, options.sample)
    figures: Record = {"offices": offices, "commands": commands, "baselines": others}
    keep("office", facts, figures, folder=REFERENCE if options.reference else RESULTS)


if __name__ == "__main__":
    main()
