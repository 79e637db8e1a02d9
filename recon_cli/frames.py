"""Columns of the frames in which published counts travel."""

from __future__ import annotations

import polars as pl

#: ``tables/``: one row per non-zero published count; ``cell`` is 1-based, as published.
COUNTS = pl.Schema({"geoid": pl.String, "table": pl.String, "cell": pl.Int16, "count": pl.Int32})

#: ``tables/`` of a release that is not exact: one row per count, but for published zeros whose law
#: proves them. ``count`` is null where it is suppressed; the true count lies from ``low`` to
#: ``high`` (null: open); ``law`` is the law's place in `recon_cli.statement.Protection.laws`, null
#: where the source gave the interval.
STATEMENTS = pl.Schema([*COUNTS.items(), ("low", pl.Int32), ("high", pl.Int32), ("law", pl.Int8)])

#: What a source says of a geounit; ``pattern`` is an index into the coverage.
GEOUNITS = pl.Schema({"geoid": pl.String, "level": pl.String, "pattern": pl.Int16})


def within_partitions(first: str, last: str) -> pl.Expr:
    """Whether a row's ``geoid`` is of a partition from ``first`` to ``last``.

    Compares whole geoids, so that a scan of Parquet passes over what its statistics rule out.
    """
    after = f"{last}~"  # behind all letters and digits
    return (pl.col("geoid") >= pl.lit(first)) & (pl.col("geoid") < pl.lit(after))


def look_up(frame: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """A left join by ``geoid`` that keeps the order of ``frame``.

    Polars merges frames that it knows to be in order, in a fifth of the time of hashing them.

    Args:
        frame: Has a column ``geoid``.
        found: Columns ``geoid``, each once, and others that ``frame`` lacks.
    """
    if frame["geoid"].is_sorted() and found["geoid"].is_sorted():
        frame, found = (each.with_columns(pl.col("geoid").set_sorted()) for each in (frame, found))
    joined = frame.lazy().join(found.lazy(), on="geoid", how="left", maintain_order="left")
    return joined.collect(engine="streaming")
