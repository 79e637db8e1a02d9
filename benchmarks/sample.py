"""Tables of every n-th tract: ``python -m benchmarks.sample TABLES OUT --people N``.

Tracts are taken at equal steps of their geoids, so that every state and county has its share;
all of them where the nation has fewer people. A table that is zero everywhere in the sample would
look unpublished, which would make another problem of it: it is given a zero.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from recon_cli.schema import Release, load_release

_COUNT_OF_ALL = "P1"


def main() -> None:
    """Read the parts one by one, and keep the chosen tracts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--people", type=int, required=True)
    options = parser.parse_args()
    release = load_release("sf1_2010")
    digits = release.region.digits
    parts = sorted(options.tables.glob("*.parquet"))
    everybody = (pl.col("geoid").str.len_chars() == digits) & (pl.col("table") == _COUNT_OF_ALL)
    tracts = pl.concat(
        [pl.scan_parquet(part).filter(everybody).select("geoid", "count") for part in parts]
    ).collect()
    tracts = tracts.sort("geoid")
    step = max(1, round(int(tracts["count"].sum()) / options.people))
    chosen = tracts["geoid"].gather_every(step, offset=step // 2).implode()
    inside = pl.col("geoid").str.head(digits).is_in(chosen)
    counts = pl.concat([pl.scan_parquet(part).filter(inside).collect() for part in parts])
    pl.concat([counts, _zeros(release, counts)]).write_parquet(options.out)


def _zeros(release: Release, counts: pl.DataFrame) -> pl.DataFrame:
    """A zero for each table that has no count at one of its levels."""
    rows = []
    for level in release.geography.levels:
        here = counts.filter(pl.col("geoid").str.len_chars() == level.digits)
        seen = set(here["table"].unique())
        rows += [
            (here["geoid"][0], table.name, 1, 0)
            for table in release.tables
            if level.name in table.levels and table.name not in seen
        ]
    return pl.DataFrame(rows, schema=counts.schema, orient="row")


if __name__ == "__main__":
    main()
