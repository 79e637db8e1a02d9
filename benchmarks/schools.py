"""Suppression of many schools: ``python -m benchmarks.schools 60 600 24000``.

Made-up schools, ten to a district (`benchmarks.office.publication`), are suppressed below 5 by
`recon protect suppress`, and the audit decides every suppressed count from what is published.
Districts' sums are published; with ``--national`` those of all districts, too, which make one
region of the country. With ``--shares`` percentages are printed beside the stars of a rule, the
audit decides what both give away, and people are reconstructed who have and print them; the same
counts without percentages are beside that. CPU seconds are of whole commands with all workers.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from benchmarks.machine import (
    REFERENCE,
    RESULTS,
    Cost,
    Record,
    circumstances,
    keep,
    loop_seconds,
    recon,
    say,
)
from benchmarks.office.publication import BELOW, SCHOOLS, SHARES, write

_KEY = ["geoid", "table", "cell"]


def measure(schools: int, folder: Path, *, is_national: bool) -> Record:
    """Suppress and audit some schools: what it takes, and how many counts are safe.

    Raises:
        SystemExit: A small count is recovered or narrowed.
    """
    office = replace(SCHOOLS, units=schools, is_national=is_national)
    made = write(office, folder)
    config = folder / "suppress.yaml"
    config.write_text(
        "release: schema.yaml\nwork: work\n"
        f"suppress: {{records: records.csv, below: {BELOW}}}\n"
        "ingest: {source: tidy, paths: [work/suppressed]}\naudit:\n"
    )
    costs = {
        name: recon(*words, "-c", config, "--workers", "2")
        for name, words in (
            ("suppress", ("protect", "suppress")),
            ("ingest", ("ingest",)),
            ("audit", ("audit",)),
        )
    }
    published = pl.read_parquet(folder / "work" / "suppressed" / "**" / "*.parquet")
    found = pl.read_parquet(folder / "work" / "audit" / "**" / "*.parquet")
    exact = pl.read_csv(folder / "exact.csv", schema_overrides={"cell": pl.Int16})
    small = exact.filter(pl.col("count").is_between(1, BELOW - 1))
    primary = found.join(small, on=_KEY, how="semi")
    if given_away := primary.filter(pl.col("status").is_in(["recovered", "narrowed"])).height:
        raise SystemExit(f"{schools} schools: {given_away} small counts are given away")
    record: Record = {
        "people": made["people"],
        "counts": made["counts"],
        "suppressed": published["count"].null_count(),
        "audited": found.height,
        "statuses": dict(found["status"].value_counts().sort("status").iter_rows()),
        "primary": dict(primary["status"].value_counts().sort("status").iter_rows()),
    }
    return record | _costs(schools, costs)


def _costs(schools: int, costs: dict[str, Cost]) -> Record:
    """Show and return what commands took."""
    record: Record = {}
    for name, cost in costs.items():
        say(f"{schools}: {name}", cost.cpu_seconds, cost.peak_mb)
        record |= {
            f"{name}_seconds": round(cost.wall_seconds, 1),
            f"{name}_cpu_seconds": round(cost.cpu_seconds, 1),
            f"{name}_mb": round(cost.peak_mb),
        }
    return record


def measure_shares(schools: int, folder: Path, *, is_national: bool) -> Record:
    """Audit and reconstruct some schools with percentages beside their stars.

    Returns:
        What it takes, also of the counts alone, and what the audit finds.
    """
    office = replace(SCHOOLS, units=schools, is_national=is_national, shares=SHARES)
    made, alone = write(office, folder), folder / "alone"
    write(replace(office, shares=()), alone)
    costs: dict[str, Cost] = {}
    for config, end in ((folder / "recon.yaml", ""), (alone / "recon.yaml", "_alone")):
        config.write_text(f"{config.read_text()}reconstruct: {{seed: 1}}\n")
        for name in ("ingest", "audit", "reconstruct", "verify"):
            costs[name + end] = recon(name, "-c", config, "--workers", "1")
    found = pl.read_parquet(folder / "work" / "audit" / "**" / "*.parquet")
    counts_alone = pl.col("least_without") == pl.col("greatest_without")
    statuses = dict(found["status"].value_counts().sort("status").iter_rows())
    record: Record = {**made, "recovered_by_counts": found.filter(counts_alone).height}
    return record | {"statuses": statuses, **_costs(schools, costs)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("schools", type=int, nargs="+")
    parser.add_argument("--national", action="store_true", help="publish national sums, too")
    parser.add_argument("--shares", action="store_true", help="print percentages beside counts")
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    facts = {**circumstances(), "loop_seconds": loop_seconds()}
    figures: Record = {}
    for schools in options.schools:
        with tempfile.TemporaryDirectory() as scratch:
            record = (measure_shares if options.shares else measure)(
                schools, Path(scratch), is_national=options.national
            )
        figures[str(schools)] = record
    name = "schools" + "-national" * options.national + "-shares" * options.shares
    keep(name, facts, figures, folder=REFERENCE if options.reference else RESULTS)


if __name__ == "__main__":
    main()
