"""What the tables of districts add that cut a tract: ``python -m benchmarks.districts FILE.zip…``.

The records that a census file's block tables imply are taken for the truth, each with one age that
the tract's tables allow. A made-up plan cuts the tract into districts of equally many blocks. The
ages are published by single years for the tract, and then for the districts, too: how many records
become certain, with sex, single year of age, race and ethnicity? Exits with 1 if a certain record
is none of the truth.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import polars as pl
import yaml

from benchmarks.machine import ROOT, measure

_RECORD = ["geoid_block", "sex", "age", "race", "hispanic"]


def schema(name: str, finest_ages: str) -> str:
    """The 34 tables over blocks, tracts and districts, with ages by single years in a record."""
    text = (ROOT / "recon_cli" / "schema" / "releases" / "sf1_2010.yaml").read_text()
    head, _, rest = text.partition("geography:\n")
    body = rest[rest.index("microdata:") : rest.index("\nlayouts:")]
    areas = "geography:\n  unit: block\n  areas: [{area: tract}, {area: district}]\n"
    return (
        head.replace("release: sf1_2010", f"release: {name}")
        + areas
        + body.replace("levels: [block, block_group, tract]", "levels: [block, tract]")
        .replace("levels: [tract]", f"levels: {finest_ages}")
        .replace("histogram: [sex, agebin,", "histogram: [sex, age,")
    )


def run(folder: Path, name: str, **sections: object) -> tuple[pl.DataFrame, float]:
    """Run a config: the records that it finds, with ``certain``, and CPU seconds."""
    path = folder / f"{name}.recon.yaml"
    path.write_text(yaml.safe_dump({"work": name, "seed": 1, **sections}))
    cost = measure([sys.executable, "-m", "recon_cli", "run", "-q", "-c", path])
    files = folder / name / "microdata" / "**" / "*.parquet"
    return pl.read_parquet(files, hive_partitioning=False), cost.cpu_seconds


def trial(folder: Path, archive: Path, districts: int) -> list[tuple[int, float, int]]:
    """Without and with districts: certain records, CPU seconds, how many of them are wrong."""
    ingest: dict[str, object] = {"source": "sf1-legacy", "paths": [str(archive.resolve())]}
    tables = {"tables": "block+tract"}
    truth, _ = run(folder, "real", release="sf1_2010", ingest=ingest, reconstruct=tables)
    truth.select(_RECORD).write_parquet(folder / "truth.parquet")
    blocks = truth.select("geoid_block").unique().sort("geoid_block").with_row_index()
    blocks.select(
        block="geoid_block",
        tract=pl.format("T{}", pl.col("geoid_block").str.head(11)),
        district=pl.format("D{}", pl.col("index") * districts // blocks.height),
    ).write_csv(folder / "lookup.csv")
    true = truth.group_by(_RECORD).len("true")
    found = []
    for name, ages in (("tract", "[tract]"), ("districts", "[tract, district]")):
        (folder / f"{name}.yaml").write_text(schema(name, ages))
        records, seconds = run(
            folder, name, release=f"{name}.yaml",
            tabulate={"records": "truth.parquet", "to": f"{name}.csv"},
            ingest={"source": "tidy", "paths": [f"{name}.csv"], "membership": "lookup.csv"},
            reconstruct=tables, solvar={"mode": "exact"},
        )  # fmt: skip
        certain = records.filter("certain").group_by(_RECORD).len("certain")
        beside = certain.join(true, on=_RECORD, how="left", nulls_equal=True)
        wrong = beside.filter(pl.col("certain") > pl.col("true").fill_null(0)).height
        found.append((int(records["certain"].sum()), seconds, wrong))
    return found


def main() -> None:
    """Print what districts add."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archives", nargs="+", type=Path, help="files of one tract each")
    parser.add_argument("--districts", nargs="+", type=int, default=[2, 4])
    given, wrong = parser.parse_args(), 0
    sys.stdout.write("| file | districts | certain: tract | with districts | CPU s |\n")
    sys.stdout.write("|---|---:|---:|---:|---:|\n")
    for archive in given.archives:
        for districts in given.districts:
            with tempfile.TemporaryDirectory(prefix="recon-districts-") as folder:
                (before, _, false), (after, seconds, untrue) = trial(
                    Path(folder), archive, districts
                )
            wrong += false + untrue
            sys.stdout.write(
                f"| {archive.name} | {districts} | {before:,} | {after:,} | {seconds:.0f} |\n"
            )
            sys.stdout.flush()
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
