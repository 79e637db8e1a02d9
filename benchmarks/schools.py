"""Suppression of many schools: ``python -m benchmarks.schools 60 600 24000``.

Made-up schools, ten to a district (`benchmarks.office.publication`), are suppressed below 5 by
`recon protect suppress`, and the audit decides every suppressed count from what is published.
Districts' sums are published; with ``--national`` those of all districts, too, which make one
region of the country. CPU seconds are of whole commands with all workers.

``--groups N`` audits N of the groups in which a large region is suppressed, evenly drawn, each with
its own sums in place of the nation's: who knows these, too, knows more, so what is safe from him is
safe. One audit of all holds a few thousand schools.
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
    Record,
    circumstances,
    keep,
    loop_seconds,
    recon,
    say,
)
from benchmarks.office.publication import BELOW, SCHOOLS, write
from recon_cli.api import audit_counts, publish
from recon_cli.capabilities.protect.counts import count_records, tidy_counts
from recon_cli.capabilities.suppress.groups import groups_of
from recon_cli.capabilities.suppress.primary import PrimaryRules
from recon_cli.capabilities.suppress.suppression import suppression_protection
from recon_cli.schema import Release

_KEY = ["geoid", "table", "cell"]


def audited_groups(
    release: Release, folder: Path, published: pl.DataFrame, number: int
) -> pl.DataFrame:
    """Audit some groups of a nation, each as if it were the nation.

    Args:
        folder: Has the records.
        published: Its counts, null where they are suppressed.
        number: How many groups.
    """
    truth = count_records(release, pl.read_csv(folder / "records.csv", infer_schema=False))
    hidden = published.filter(pl.col("count").is_null()).select(*_KEY, hidden=True)
    groups = list(groups_of(release, truth, hidden.select(_KEY).clear()))
    law = suppression_protection(PrimaryRules(BELOW))
    found = []
    for at in range(0, len(groups), -(-len(groups) // number)):
        part, coarse = groups[at].truth, groups[at].coarse
        shown = part.counts.rename({"count": "true"}).join(hidden, on=_KEY, how="left")
        shown = shown.with_columns(
            count=pl.when(pl.col("hidden").is_null()).then("true"),
            level=release.geography.level_names(pl.col("geoid")),
        )
        public = publish(release, tidy_counts(part, shown), protection=law)
        audit = audit_counts(release, public)
        found.append(audit.filter(~pl.col("geoid").is_in(coarse)))
        say(groups[at].name, found[-1].height, 0)
    return pl.concat(found)


def measure(schools: int, folder: Path, *, is_national: bool, groups: int = 0) -> Record:
    """Suppress and audit some schools: what it takes, and how many counts are safe.

    Args:
        groups: Audit so many groups; 0: all at once.

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
        )[: 1 if groups else 3]
    }
    published = pl.read_parquet(folder / "work" / "suppressed" / "**" / "*.parquet")
    if groups:
        found = audited_groups(office.release(), folder, published, groups)
    else:
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
    for name, cost in costs.items():
        say(f"{schools}: {name}", cost.cpu_seconds, cost.peak_mb)
        record |= {
            f"{name}_seconds": round(cost.wall_seconds, 1),
            f"{name}_cpu_seconds": round(cost.cpu_seconds, 1),
            f"{name}_mb": round(cost.peak_mb),
        }
    return record


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("schools", type=int, nargs="+")
    parser.add_argument("--national", action="store_true", help="publish national sums, too")
    parser.add_argument("--groups", type=int, default=0, help="audit so many groups; default all")
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    facts = {**circumstances(), "loop_seconds": loop_seconds()}
    figures: Record = {}
    for schools in options.schools:
        with tempfile.TemporaryDirectory() as scratch:
            record = measure(
                schools, Path(scratch), is_national=options.national, groups=options.groups
            )
        figures[str(schools)] = record
    name = "schools" + "-national" * options.national
    keep(name, facts, figures, folder=REFERENCE if options.reference else RESULTS)


if __name__ == "__main__":
    main()
