"""Is what was proven true? ``python -m benchmarks.truth WORK OUT``, for a synthetic population.

What was tabulated is known (``hdf/``): a block that is proven unique, or proven to have zero
solvar, must have exactly its histogram, and every certain record must be of somebody there.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import polars as pl

from benchmarks.histogram import histogram
from recon_cli.schema import Release, load_release

RELEASE = "sf1_2010"


def main() -> None:
    """Check everything; say what was checked, and which tract is the smallest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    release, work = load_release(RELEASE), options.work
    place = release.geoid_column
    truth = histogram(release, _read(work, "hdf"))
    found = histogram(release, _read(work, "microdata"))
    unique = _read(work, "blocks").filter(pl.col("status") == "unique")[place]
    zero = _read(work, "solvar").filter(pl.col("solvar_upper_pct") == 0)[place]
    checked = {
        "unique_blocks": _same(found, truth, unique, "proven unique"),
        "zero_blocks": _same(found, truth, zero, "proven to have zero solvar"),
        "certain_records": _certain(release, work, truth),
    }
    tracts = truth.group_by(pl.col(place).str.head(release.region.digits)).agg(
        pl.col("people").sum()
    )
    smallest = tracts.sort("people", place)[place][0]
    options.out.write_text(json.dumps({"smallest_tract": smallest, "checked": checked}) + "\n")


def _read(work: Path, folder: str) -> pl.DataFrame:
    return pl.read_parquet(work / folder / "**" / "*.parquet", hive_partitioning=False)


def _same(found: pl.DataFrame, truth: pl.DataFrame, units: pl.Series, claim: str) -> int:
    """The number of units, whose histograms must be the truth's."""
    here = pl.col(found.columns[0]).is_in(units.implode())
    if not found.filter(here).equals(truth.filter(here)):
        raise SystemExit(f"wrong: a block {claim} differs from what was tabulated")
    if units.is_empty():
        raise SystemExit(f"nothing was checked: no block is {claim}")
    return len(units)


def _certain(release: Release, work: Path, truth: pl.DataFrame) -> int:
    """The number of certain records, of which no cell may have more than it has people."""
    keys = [release.geoid_column, *release.histogram]
    certain = _read(work, "certainty").filter("certain").group_by(keys).len("certain")
    beside = certain.join(truth, on=keys, how="left")
    if beside.filter(pl.col("certain") > pl.col("people").fill_null(0)).height:
        raise SystemExit("wrong: a record that is called certain is of nobody")
    return int(certain["certain"].sum())


if __name__ == "__main__":
    main()
