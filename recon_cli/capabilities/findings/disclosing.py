"""Disclosure by groups of people, and about people of whom some columns are known.

A claim discloses if the number of people in a group is verified. About somebody known to be in a
group, it is enough that all records that its people can have share a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.schema import Release


def possible_cells(
    intervals: pl.DataFrame, records: pl.DataFrame, columns: Sequence[str]
) -> pl.DataFrame:
    """Return the possible histogram cells, and whether a known solution has people there.

    Args:
        records: Records of a solution: the geoid and ``columns``.

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


def alike_people(
    release: Release, cells: pl.DataFrame, columns: Sequence[str], known: int
) -> pl.DataFrame:
    """Count the people in groups that agree on a column that does not define the group.

    Columns that the group's columns define are not counted.

    Args:
        cells: As from `possible_cells`.
        known: Most columns that may form a group.

    Returns:
        A row per unit: the geoid, ``at_least``, ``at_most`` (null where nothing bounds it), and
        ``single``: an upper bound on such groups of one person in the known solution.
    """
    place = cells.columns[0]
    parts = [pl.DataFrame(schema={place: pl.String, "single": pl.Int64})]
    marked = cells.with_columns(settled=pl.lit(value=False), unsettled=pl.lit(value=False))
    for chosen in groups_by(columns, known):
        key = [place, *chosen]
        others = [name for name in columns if name not in chosen]
        is_seen = pl.all_horizontal(pl.lit(value=True), *(pl.col(c).is_not_null() for c in chosen))
        said = {name: _is_said(release, chosen, name) for name in others}
        alike = pl.any_horizontal(_is_alike(n).over(key) & ~said[n] for n in others) & is_seen
        maybe = pl.any_horizontal(~_is_refuted(n).over(key) & ~said[n] for n in others) & is_seen
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
    """List the choices of at most ``known`` columns that leave one over.

    >>> groups_by(["sex", "age"], 2)
    [(), ('sex',), ('age',)]
    """
    most = min(known, len(columns) - 1)
    return [chosen for size in range(most + 1) for chosen in combinations(columns, size)]


def _is_alike(name: str) -> pl.Expr:
    """Return whether all possible cells have one value."""
    return (pl.col(name).n_unique() == 1) & (pl.col(name).null_count() == 0)


def _is_said(release: Release, known: Sequence[str], other: str) -> pl.Expr:
    """Return whether the known columns define another one."""
    says = (
        pl.col(name).is_in([label for label, is_one in zip(labels, defines, strict=True) if is_one])
        for name in known
        for labels in [release.column_groups(name).labels]
        for defines in [release.defines(name, other)]
        if any(defines)
    )
    return pl.any_horizontal(pl.lit(value=False), *says)


def _is_refuted(name: str) -> pl.Expr:
    """Return whether known solutions have people with two values."""
    return pl.col(name).filter("attained").drop_nulls().n_unique() > 1


def labelled(release: Release, records: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Select the histogram columns that records determine.

    Args:
        records: Some columns, or the features that these are recodes of, as they were read.

    Returns:
        ``records`` with ``columns`` as the histogram has them; null where nothing is known.

    Raises:
        SourceError: A value is not the release's; the message does not repeat it.
    """
    found = []
    for name in columns:
        groups = release.column_groups(name)
        feature = release.features[release.feature_index[groups.feature]]
        dtype = pl.Series(list(groups.labels)).dtype
        if name in records.columns:
            source, known = name, {str(label).lower(): label for label in groups.labels}
        elif feature.name in records.columns:
            source = feature.name
            known = {
                str(value).lower(): label
                for label, mask in zip(groups.labels, groups.masks, strict=True)
                for at, value in enumerate(feature.values)
                if mask >> at & 1
            }
        else:
            found.append(pl.lit(None, dtype).alias(name))
            continue
        text = pl.col(source).cast(pl.String).str.strip_chars().str.to_lowercase()
        wrong = records.filter(text.is_not_null() & ~text.is_in(list(known))).height
        if wrong:
            raise SourceError(
                f"column {source!r}: {wrong:,} value{'s are' if wrong > 1 else ' is'} not the "
                "release's; `columns` and `values` translate the file's headers and codes "
                "(docs/attackers.md)"
            )
        found.append(
            text.replace_strict(
                list(known), list(known.values()), default=None, return_dtype=dtype
            ).alias(name)
        )
    return records.with_columns(found)


def attributed(
    release: Release, cells: pl.DataFrame, people: pl.DataFrame, columns: Sequence[str]
) -> pl.DataFrame:
    """Find the columns of people that follow from their known columns.

    Args:
        cells: As from `recon_cli.capabilities.findings.disclosing.possible_cells`.
        people: A geoid and ``columns``, as from `labelled`, and any other columns.

    Returns:
        The rows of ``people``, one for each column that is settled: ``column``, ``settled`` (its
        value as text), ``least`` and ``most`` (people who have all of these values, at least and at
        most; null where nothing bounds them). A person who fits no cell of the place has no row:
        the tables are not about such a person.
    """
    place = cells.columns[0]
    patterns = people.select(pl.col(name).is_not_null() for name in columns).unique().sort(columns)
    parts = [
        people.clear().with_columns(
            column=pl.lit(""), settled=pl.lit(""), least=pl.lit(0), most=pl.lit(0)
        )
    ]
    for pattern in patterns.iter_rows():
        known = [name for name, is_known in zip(columns, pattern, strict=True) if is_known]
        others = [name for name in columns if name not in known]
        here = people.filter(pl.col(name).is_not_null() == (name in known) for name in columns)
        key = [place, *known]
        alike = [
            pl.when(_is_alike(n)).then(pl.col(n).first().cast(pl.String)).alias(f"settled {n}")
            for n in others
        ]
        said = [_is_said(release, known, name).alias(f"said {name}") for name in others]
        groups = cells.join(here.select(key).unique(), on=key, how="semi").group_by(key)
        most = pl.when(pl.col("upper").is_not_null().all()).then(pl.col("upper").sum())
        found = groups.agg(*alike, least=pl.col("lower").sum(), most=most)
        for name in others:
            of_column = (
                found.with_columns(said)
                .filter(~pl.col(f"said {name}"))
                .select(
                    *key, "least", "most", pl.lit(name).alias("column"), settled=f"settled {name}"
                )
            )
            joined = here.join(of_column.drop_nulls("settled"), on=key, how="inner")
            parts.append(joined.select(parts[0].columns).cast(pl.Schema(parts[0].schema)))
    return pl.concat(parts)
