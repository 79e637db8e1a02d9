"""Groups of people that are alike on a further column in every solution, by the ends of cells.

A claim discloses where the number of people in a group is verified. Who knows that somebody is in
a group needs no number: that all records which its people can have share a value is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import polars as pl


def possible_cells(
    intervals: pl.DataFrame, records: pl.DataFrame, columns: Sequence[str]
) -> pl.DataFrame:
    """The histogram cells that can have people, and whether a known solution has some there.

    Args:
        intervals: Rows of ``intervals/``.
        records: Of a solution: the geoid and ``columns``.
        columns: Those of the cells.

    Returns:
        The geoid, ``columns``, ``lower``, ``upper`` (null where nothing bounds it), ``here``
        (people of the solution), ``attained``.
    """
    key = [intervals.columns[0], *columns]
    here = records.group_by(key).agg(here=pl.len().cast(pl.Int64))
    joined = intervals.select(*key, "lower", "upper", "exact").join(
        here, on=key, how="full", coalesce=True, nulls_equal=True
    )
    reached = pl.col("exact").fill_null(value=False) & (pl.col("upper") > 0)
    return joined.select(
        *key,
        pl.col("lower").fill_null(0).cast(pl.Int64),
        pl.col("upper").cast(pl.Int64),
        pl.col("here").fill_null(0),
        attained=pl.col("here").is_not_null() | reached.fill_null(value=False),
    )


def alike_people(cells: pl.DataFrame, columns: Sequence[str], known: int) -> pl.DataFrame:
    """How many people are in groups that are alike on a column that does not form the group.

    Args:
        cells: As from `possible_cells`.
        columns: Those of the cells.
        known: Columns that form a group, at most.

    Returns:
        A row a unit: the geoid, ``at_least``, ``at_most`` (null where nothing bounds it), and
        ``single``: how many such groups are one person in the solution, at most.
    """
    place = cells.columns[0]
    parts = [pl.DataFrame(schema={place: pl.String, "single": pl.Int64})]
    marked = cells.with_columns(settled=pl.lit(value=False), unsettled=pl.lit(value=False))
    for chosen in groups_by(columns, known):
        key = [place, *chosen]
        others = [name for name in columns if name not in chosen]
        is_seen = pl.all_horizontal(pl.lit(value=True), *(pl.col(c).is_not_null() for c in chosen))
        alike = pl.any_horizontal(_is_alike(name).over(key) for name in others) & is_seen
        maybe = ~pl.all_horizontal(_is_refuted(name).over(key) for name in others) & is_seen
        marked = marked.with_columns(alike=alike, maybe=maybe).with_columns(
            settled=pl.col("settled") | pl.col("alike"),
            unsettled=pl.col("unsettled") | pl.col("maybe"),
        )
        one = marked.filter("maybe").group_by(key).agg(pl.col("here").sum()).filter(here=1)
        parts.append(one.group_by(place).agg(single=pl.len().cast(pl.Int64)))
    single = pl.concat(parts).group_by(place).agg(pl.col("single").sum())
    at_most = pl.col("upper").filter("unsettled")
    units = marked.group_by(place).agg(
        at_least=pl.col("lower").filter("settled").sum(),
        at_most=pl.when(at_most.null_count() == 0).then(at_most.sum()),
    )
    return units.join(single, on=place, how="left").with_columns(pl.col("single").fill_null(0))


def groups_by(columns: Sequence[str], known: int) -> list[tuple[str, ...]]:
    """The choices of at most ``known`` columns that leave one over.

    >>> groups_by(["sex", "age"], 2)
    [(), ('sex',), ('age',)]
    """
    most = min(known, len(columns) - 1)
    return [chosen for size in range(most + 1) for chosen in combinations(columns, size)]


def _is_alike(name: str) -> pl.Expr:
    """Whether all cells that can have people have one value."""
    return (pl.col(name).n_unique() == 1) & (pl.col(name).null_count() == 0)


def _is_refuted(name: str) -> pl.Expr:
    """Whether known solutions have people with two values."""
    return pl.col(name).filter("attained").drop_nulls().n_unique() > 1
