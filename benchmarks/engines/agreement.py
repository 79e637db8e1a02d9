"""Count the records that agree: ``python -m benchmarks.engines.agreement RECORDS TRUTH OUT``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import polars as pl

from recon_cli import api
from recon_cli.capabilities.solvar.question import SIZES

_NAMES = ("records", "exact", "agree")
#: Columns of the Census Bureau's reconstruction, in the order of the bits of ``race``.
_FLAGS = ("white", "black", "aian", "asian", "nhopi", "sor")


def main() -> None:
    """Count those of the geounits of the first file, exactly and in age groups."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    release = api.load_release("sf1_2010")
    records, truth = _read(options.records), _read(options.truth)
    place = release.geoid_column
    truth = truth.filter(pl.col(place).is_in(records[place].unique().implode()))
    found = api.agreement(release, records, truth)
    sized = (
        found.with_columns(size=SIZES.number(pl.col("records")))
        .group_by("size")
        .agg(pl.col(_NAMES).sum())
    )
    by_size = {SIZES.label(size): list(row) for size, *row in sized.sort("size").iter_rows()}
    everybody = dict(zip(_NAMES, found.select(_NAMES).sum().row(0), strict=True))
    options.out.write_text(json.dumps({**everybody, "by_size": by_size}) + "\n")


def _read(path: Path) -> pl.DataFrame:
    """Records of a file or a folder; the Census Bureau's have a flag for each race."""
    inside = path / "**" / "*.parquet" if path.is_dir() else path
    records = pl.read_parquet(inside, hive_partitioning=False)
    if "race" in records.columns:
        return records
    race = pl.sum_horizontal(pl.col(flag).cast(pl.Int16) * 2**at for at, flag in enumerate(_FLAGS))
    return records.with_columns(race.alias("race"), pl.col("hispanic").cast(pl.Boolean))


if __name__ == "__main__":
    main()
