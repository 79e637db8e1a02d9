"""Ten million rows of a wide CSV file, ingested: ``python -m benchmarks.wide``.

Synthetic blocks with three counts each, as data.census.gov writes them: everybody, men, women.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import (
    REFERENCE,
    RESULTS,
    Record,
    as_record,
    circumstances,
    keep,
    module,
    recon,
    say,
)

ROWS = 10_000_000
_COUNTY, _TRACT = 400_000, 2_000

SCHEMA = """\
release: sexes
title: Sex
features: {sex: {categories: [male, female]}}
geography:
  levels: [{level: block, digits: 15}, {level: tract, digits: 11}, {level: county, digits: 5}]
  partition: county
microdata: [sex]
histogram: [sex]
families:
  - levels: [block]
    cells: [total, {by: sex}]
    tables: {P99: {code: "P99_###N"}}
"""
CONFIG = """\
release: sexes.yaml
work: work
ingest: {source: data-census-gov, paths: [DECENNIALXX2020.P99-Data.csv]}
"""


def ingest(folder: Path, rows: int) -> Record:
    """Make the file and read it once."""
    (folder / "sexes.yaml").write_text(SCHEMA)
    (folder / "recon.yaml").write_text(CONFIG)
    path = folder / "DECENNIALXX2020.P99-Data.csv"
    module("wide", "--rows", rows, "--write", path)  # in a process of its own, for the peak's sake
    cost = recon("ingest", "-c", folder / "recon.yaml", "--force")
    return {"rows": rows, "file_mb": round(path.stat().st_size / 1e6), **as_record(cost)}


def write_blocks(path: Path, rows: int) -> None:
    """Rows in order of geoid, two people of either sex on average."""
    import numpy as np  # a child's peak starts at this process's
    import polars as pl

    draw = np.random.default_rng(1)
    men, women = draw.poisson(2, rows), draw.poisson(2, rows)
    at = pl.int_range(rows, dtype=pl.Int64)
    parts = (
        (at // _COUNTY, 3),
        (at % _COUNTY // _TRACT, 6),
        (at % _TRACT + 1000, 4),
    )
    geoid = pl.concat_str(
        pl.lit("1000000US34"), *(each.cast(pl.String).str.zfill(width) for each, width in parts)
    )
    counts = {"P99_001N": men + women, "P99_002N": men, "P99_003N": women}
    pl.select(GEO_ID=geoid).with_columns(
        pl.Series(name, values) for name, values in counts.items()
    ).write_csv(path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=ROWS)
    parser.add_argument("--write", type=Path, help="only make the file")
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    if options.write is not None:
        write_blocks(options.write, options.rows)
        return
    facts = circumstances()
    with tempfile.TemporaryDirectory() as folder:
        figures = ingest(Path(folder), options.rows)
    say(
        f"{options.rows:,} rows",
        float(str(figures["wall_seconds"])),
        float(str(figures["peak_mb"])),
    )
    keep("wide", facts, figures, folder=REFERENCE if options.reference else RESULTS)


if __name__ == "__main__":
    main()
