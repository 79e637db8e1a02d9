"""Do two versions publish the same Parquet content? ``python -m benchmarks.same_content FOLDER``.

FOLDER holds another version's ``recon_cli``, as ``git archive COMMIT recon_cli | tar x -C FOLDER``
leaves it. Both run the same stages over the same files: the toy county, the clinic, the hospital,
its tables with stars and rounded to threes (both in a zip), a synthetic population. Columns that
both versions have are compared, whatever the order of rows and the number of files; of what is not
the same, the number of rows and the columns that differ are printed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from benchmarks.machine import ROOT
from recon_cli.schema import Release, load_release

FIXTURES = ROOT / "fixtures"
HOSPITAL = FIXTURES / "hospital"
#: Of the synthetic population, who have one file for both versions.
PEOPLE = 30_000
ROUNDED = "release: stays\nstatements:\n  - law: {rounded: {base: 3, how: nearest}}\n"
TOY: Mapping[str, Any] = {
    "release": "sf1_2010",
    "ingest": {"source": "sf1-legacy", "paths": [str(FIXTURES / "toy2010.sf1.zip")]},
    "reconstruct": {"tables": "block+tract"},
    "solvar": None,
    "claims": None,
}
CLINIC: Mapping[str, Any] = {
    "release": "clinic_visits",
    "ingest": {"source": "tidy", "paths": [str(FIXTURES / "clinic_visits.csv")]},
    "reconstruct": {"tables": "clinic+district"},
    "solvar": {"intervals": "propagation"},
    "claims": None,
}
STAYS: Mapping[str, Any] = {
    "release": str(HOSPITAL / "stays.yaml"),
    "ingest": {"source": "tidy", "paths": [str(HOSPITAL / "tables.csv")]},
    "reconstruct": None,
    "solvar": None,
    "claims": {"unit_seconds": 0.5},
}


def cases(inputs: Path) -> dict[str, Mapping[str, Any]]:
    """Name → config, with the files that are made for it."""
    release = load_release(str(HOSPITAL / "stays.yaml"))
    stars = pl.read_csv(
        HOSPITAL / "suppressed" / "tables.csv", schema_overrides={"count": pl.String}
    )
    threes = pl.read_csv(HOSPITAL / "tables.csv").with_columns(
        ((pl.col("count") + 1) // 3 * 3).cast(pl.String)
    )
    return {
        "toy": TOY,
        "clinic": CLINIC,
        "hospital": STAYS,
        "suppressed zip": zipped(
            release,
            stars,
            inputs / "stars",
            (HOSPITAL / "suppressed" / "protection.yaml").read_text(),
        ),
        "rounded zip": zipped(release, threes, inputs / "threes", ROUNDED),
        "nation": nation(inputs),
    }


def zipped(
    release: Release, counts: pl.DataFrame, folder: Path, protection: str
) -> Mapping[str, Any]:
    """A row a place and a column a cell, in a zip, beside it what protects the counts."""
    folder.mkdir()
    codes = {
        f"{table.name} {cell}": code
        for table in release.tables
        for cell, code in enumerate(table.codes, start=1)
    }
    wide = counts.with_columns(header=pl.format("{} {}", "table", "cell")).pivot(
        "header", index="geoid", values="count"
    )
    text = wide.with_columns(pl.exclude("geoid").fill_null("0")).write_csv()
    with zipfile.ZipFile(folder / "tables.zip", "w") as archive:
        archive.writestr("tables.csv", text)
    (folder / "protection.yaml").write_text(protection)
    columns = {header: codes[header] for header in wide.columns[1:]}
    return {
        "release": STAYS["release"],
        "ingest": {
            "source": "wide",
            "paths": [str(folder / "tables.zip")],
            "protection": str(folder / "protection.yaml"),
            "mapping": {"place": "geoid", "columns": columns},
        },
        "reconstruct": None,
        "claims": {"unit_seconds": 0.5},
        "audit": None,
    }


def nation(inputs: Path) -> Mapping[str, Any]:
    """A synthetic population, tabulated once."""
    work, published = inputs / "made", inputs / "nation.parquet"
    made = {"records": str(work / "persons"), "to": str(published)}
    run(ROOT, {"release": "sf1_2010", "synth": {"people": PEOPLE}, "tabulate": made}, work)
    return {
        "release": "sf1_2010",
        "ingest": {"source": "tidy", "paths": [str(published)]},
        "reconstruct": {"tables": "block+tract"},
        "solvar": {"intervals": "propagation"},
    }


def run(version: Path, config: Mapping[str, Any], work: Path) -> None:
    """All stages of a config, by one version."""
    work.mkdir(parents=True)
    path = work / "recon.yaml"
    path.write_text(yaml.safe_dump({**config, "work": str(work), "seed": 1}, sort_keys=False))
    subprocess.run(
        [sys.executable, "-m", "recon_cli", "run", "-q", "-c", str(path)],
        cwd=work,
        env={**os.environ, "PYTHONPATH": str(version)},
        check=True,
    )


def tables(work: Path) -> dict[str, pl.DataFrame]:
    """Folder → the rows of all its Parquet files."""
    folders = sorted({path.relative_to(work).parts[0] for path in work.glob("*/**/*.parquet")})
    return {
        name: pl.read_parquet(work / name / "**" / "*.parquet", hive_partitioning=False)
        for name in folders
    }


def difference(before: pl.DataFrame, now: pl.DataFrame) -> str:
    """What both have of the same columns, in words."""
    both = [column for column in before.columns if column in now.columns]
    gone = [column for column in before.columns if column not in now.columns]
    told = f"; no longer there: {', '.join(gone)}" if gone else ""
    old, new = (frame.select(both).sort(both) for frame in (before, now))
    if old.equals(new):
        return f"same: {old.height:,} rows, {len(both)} columns{told}"
    if old.height != new.height:
        lost = old.join(new, on=both, how="anti", nulls_equal=True).height
        return (
            f"DIFFERS: {old.height:,} rows before, {new.height:,} now, "
            f"{lost:,} of the former not among them{told}"
        )
    other = before.select(both).hstack(now.select(pl.col(both).name.suffix(" now")))
    rows = {
        column: other.filter(pl.col(column).ne_missing(pl.col(f"{column} now"))).height
        for column in both
    }
    listed = ", ".join(f"{column} {found:,}" for column, found in rows.items() if found)
    return f"DIFFERS: of {old.height:,} rows, row by row: {listed or 'their order'}{told}"


def main() -> None:
    """Run and compare every case; the exit code says whether all is the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="keep the work folders here")
    options = parser.parse_args()
    differs = False
    with tempfile.TemporaryDirectory() as name:
        home = (options.keep or Path(name)).resolve()
        home.mkdir(parents=True, exist_ok=True)
        for case, config in cases(home).items():
            work = home / case.replace(" ", "_")
            run(options.folder.resolve(), config, work / "before")
            run(ROOT, config, work / "now")
            before, now = tables(work / "before"), tables(work / "now")
            for folder, frame in before.items():
                found = difference(frame, now[folder]) if folder in now else "GONE"
                differs |= not found.startswith("same")
                sys.stdout.write(f"{case}: {folder}: {found}\n")
                sys.stdout.flush()
    sys.exit(differs)


if __name__ == "__main__":
    main()
