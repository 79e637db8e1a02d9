"""What every solution says of people of whom some columns are known."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.schema import Release


def labelled(release: Release, records: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Records with the histogram columns that they say something of.

    Args:
        release: The schema.
        records: Some columns, or the features that these are recodes of, as they were read.
        columns: Of the histogram.

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


def attributed(cells: pl.DataFrame, people: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The columns that are settled of people by those that are known of them.

    Args:
        cells: As from `recon_cli.evaluate.disclosing.possible_cells`.
        people: A geoid and ``columns``, as from `labelled`, and whatever else.
        columns: Of the histogram.

    Returns:
        The rows of ``people``, one for each column that is settled: ``column``, ``settled`` (its
        value as text), ``least`` (people who have all of these values, at least). Who can be in no
        cell of the place has none: the tables are not about such a person.
    """
    place = cells.columns[0]
    patterns = people.select(pl.col(name).is_not_null() for name in columns).unique().sort(columns)
    parts = [people.clear().with_columns(column=pl.lit(""), settled=pl.lit(""), least=pl.lit(0))]
    for pattern in patterns.iter_rows():
        known = [name for name, is_known in zip(columns, pattern, strict=True) if is_known]
        others = [name for name in columns if name not in known]
        here = people.filter(pl.col(name).is_not_null() == (name in known) for name in columns)
        key = [place, *known]
        alike = [
            pl.when((pl.col(n).n_unique() == 1) & (pl.col(n).null_count() == 0))
            .then(pl.col(n).first().cast(pl.String))
            .alias(f"settled {n}")
            for n in others
        ]
        groups = cells.join(here.select(key).unique(), on=key, how="semi").group_by(key)
        found = groups.agg(*alike, least=pl.col("lower").sum())
        for name in others:
            of_column = found.select(
                *key, pl.lit(name).alias("column"), settled=f"settled {name}", least="least"
            )
            joined = here.join(of_column.drop_nulls("settled"), on=key, how="inner")
            parts.append(joined.select(parts[0].columns).cast(pl.Schema(parts[0].schema)))
    return pl.concat(parts)
