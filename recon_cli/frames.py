"""Column names of the frames that contain published counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import polars as pl

from recon_cli.coverage import UNLISTED
from recon_cli.schema import Level

#: Exceptions of polars for a file that is damaged or lacks a column. A panic is a failed assertion
#: in polars, whose Parquet reader does not notice many damaged bytes before.
UNREADABLE: Final = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)

#: ``tables/``: one row per non-zero published count; ``cell`` is 1-based, as published.
COUNTS = pl.Schema({"geoid": pl.String, "table": pl.String, "cell": pl.Int16, "count": pl.Int32})

#: ``tables/`` of a release that is not exact: one row per count, except for published zeros whose
#: law proves them. ``count`` is null where it is suppressed; the true count lies from ``low`` to
#: ``high`` (null: open); ``law`` is the law's place in `recon_cli.statement.Protection.laws`, null
#: where the source gave the interval.
STATEMENTS = pl.Schema([*COUNTS.items(), ("low", pl.Int32), ("high", pl.Int32), ("law", pl.Int8)])

#: ``tables/`` of a release with statistics: columns of `STATEMENTS`, and ``text``, the printed text
#: of a statistic, which is null where the row is a count.
PRINTED: Final = pl.Schema([*STATEMENTS.items(), ("text", pl.String)])

#: One row per printed statistic.
STATISTICS: Final = pl.Schema(
    {"geoid": pl.String, "table": pl.String, "cell": pl.Int16, "text": pl.String}
)

#: Withheld counts that a number printed beside them narrows, with their intervals by the law alone,
#: up to `OPEN` if unbounded.
NARROWED: Final = pl.Schema(
    {"geoid": pl.String, "table": pl.String, "cell": pl.Int16, "least": pl.Int64, "most": pl.Int64}
)

#: Test of rows of `STATEMENTS`: the true count itself is published. Where a law allows a single
#: count, a flag or another number may still stand for it.
IS_AS_PUBLISHED: Final = (
    (pl.col("low") == pl.col("high"))
    & (pl.col("law").is_null() | (pl.col("count") == pl.col("low")))
).fill_null(value=False)

#: Upper end of an unbounded interval.
OPEN: Final = 2**31 - 1

#: The geounits of a source; ``pattern`` is an index into the coverage.
GEOUNITS = pl.Schema({"geoid": pl.String, "level": pl.String, "pattern": pl.Int16})


#: Sorts behind all characters of a geoid.
_BEHIND_ALL = "~"


def partition_runs(geoids: pl.Series, level: Level) -> Iterator[tuple[str, int]]:
    """Yield each run of geounits of one partition: the partition and its number of rows.

    Args:
        geoids: Geoids; in sorted ones the end of a run is found by binary search.
    """
    if not (level.in_order and geoids.is_sorted()):
        runs = level.enclosing(geoids).rle().struct.unnest()
        yield from runs.select("value", "len").iter_rows()
        return
    start = 0
    while start < len(geoids):
        partition = level.enclosing(str(geoids[start]))
        stop = int(geoids.search_sorted(partition + _BEHIND_ALL))
        yield partition, stop - start
        start = stop


def partition_groups(sizes: Iterable[tuple[str, int]], most: int) -> list[tuple[str, str]]:
    """Group neighbouring partitions up to ``most`` in size; return first and last of each group.

    Args:
        sizes: Size of each partition, in order.

    >>> partition_groups([("01", 3), ("02", 4), ("03", 5)], most=8)
    [('01', '02'), ('03', '03')]
    """
    groups: list[tuple[str, str]] = []
    room = 0
    for partition, size in sizes:
        if groups and size <= room:
            groups[-1] = (groups[-1][0], partition)
            room -= size
        else:
            groups.append((partition, partition))
            room = most - size
    return groups


def within_partitions(level: Level, first: str, last: str) -> pl.Expr:
    """Return an expression for rows whose ``geoid`` is in a partition from ``first`` to ``last``.

    It compares whole geoids where possible, so that a scan of Parquet can skip row groups by their
    statistics.
    """
    if not level.in_order:
        return level.enclosing(pl.col("geoid")).is_between(pl.lit(first), pl.lit(last))
    return (pl.col("geoid") >= pl.lit(first)) & (pl.col("geoid") < pl.lit(last + _BEHIND_ALL))


def look_up(frame: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Left-join by ``geoid``, keeping the order of ``frame``.

    Polars merges frames that it knows to be sorted, in a fifth of the time of hashing them.

    Args:
        found: Columns ``geoid``, each once, and others that ``frame`` lacks.
    """
    if frame["geoid"].is_sorted() and found["geoid"].is_sorted():
        frame, found = (each.with_columns(pl.col("geoid").set_sorted()) for each in (frame, found))
    joined = frame.lazy().join(found.lazy(), on="geoid", how="left", maintain_order="left")
    return joined.collect(engine="streaming")


def is_place(geoid: str) -> pl.Expr:
    """Return whether a unit is a place, and does not stand for all unlisted ones."""
    return ~pl.col(geoid).str.ends_with(UNLISTED)


class ShownBySize:
    """Base of results that are frames: their representation is the sizes of these."""

    def __repr__(self) -> str:
        frames = (
            (name, each) for name, each in vars(self).items() if isinstance(each, pl.DataFrame)
        )
        sizes = [f"{name} {each.height:,} × {each.width}" for name, each in frames]
        return f"<{type(self).__name__}: {', '.join(sizes)}>"
