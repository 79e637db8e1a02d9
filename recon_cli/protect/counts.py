"""Records → protected counts, count by count, by the laws that `protection.yaml` declares.

For study: the keys come from a seeded generator, and whoever knows the seed undoes the protection.
A seeded generator is no release mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.errors import ConfigError
from recon_cli.frames import COUNTS
from recon_cli.schema import Level, Release, Table
from recon_cli.seeding import generator
from recon_cli.statement import FLAGGED, Law, Protection, describe_law
from recon_cli.tabulation import Tabulation

#: Where the chance of a cell comes from: ``records``, the keys of the records that it counts, so
#: that equal sets of records are published alike everywhere; or ``cells``, each cell by itself.
Keys = Literal["records", "cells"]

#: What protecting returns: as published (null: suppressed), and the true count.
PROTECTED = pl.Schema(
    {
        "geoid": pl.String,
        "level": pl.String,
        "table": pl.String,
        "cell": pl.Int16,
        "count": pl.Int32,
        "true": pl.Int32,
    }
)

#: Record keys and cell keys are whole numbers below it; a cell key is the sum of its records'.
_KEYS = 2**32
#: Keys at which a law is asked whether it keeps zeros.
_PROBES = np.linspace(0, 1, 50, endpoint=False)


def protect_counts(
    release: Release,
    records: pl.DataFrame,
    protection: Protection,
    *,
    seed: int,
    keys: Keys = "records",
    tables: Sequence[Table] | None = None,
) -> pl.DataFrame:
    """Publish the counts of records by laws.

    Args:
        release: The schema.
        records: As `recon_cli.tabulation.tabulate` takes them. The key of a record follows from
            the seed, its unit, and its place among the records of the unit.
        protection: The laws; each must keep zeros and publish count by count.
        seed: Of all keys.
        keys: Where the chance of a cell comes from.
        tables: Which; default all, each at its own levels.

    Returns:
        Columns of `PROTECTED`: a row a true count above zero, by level (finest first), geoid,
        table and cell. All others are zero and published so.

    Raises:
        ConfigError: A law changes zeros too, or needs whole tables.
        VerificationError: The records do not fit the schema.
    """
    chosen = release.tables if tables is None else tuple(tables)
    for law in protection.laws:
        require_zeros_kept(law)
    ordered = records.sort(release.geoid_column, maintain_order=True)
    counted = Tabulation.of(release, ordered, chosen)
    keyed = Tabulation.of(release, ordered, chosen, _record_keys(release, ordered, seed))
    frames = [PROTECTED.to_frame()]
    for level in release.geography.levels:
        here = [table for table in counted.tables if level.name in table.levels]
        if here:
            frame = _counts(counted, level, here).join(
                _counts(keyed, level, here).rename({"count": "_key"}),
                on=["geoid", "table", "cell"],
                how="left",
                maintain_order="left",
            )
            frames.append(_published(frame, level, protection, seed, keys))
    return pl.concat(frames)


def tidy_counts(protected: pl.DataFrame) -> pl.DataFrame:
    """Columns ``geoid, table, cell, count``, to be written as a tidy file: flags are empty."""
    return protected.select(COUNTS.names())


def require_zeros_kept(law: Law) -> None:
    """Refuse laws that `protect_counts` cannot apply.

    Raises:
        ConfigError: The law changes zeros too, needs whole tables, or has no p-table.
    """
    try:
        zeros = law.publish(np.array(0), _PROBES)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if (zeros != 0).any():
        raise ConfigError(
            f"{describe_law(law)}: publishes other than zero for true zeros, which are not counted"
        )


def _record_keys(release: Release, records: pl.DataFrame, seed: int) -> npt.NDArray[np.int64]:
    """A key for each record; ``records`` are sorted by unit."""
    units = records[release.geoid_column].rle()
    drawn = [
        generator(seed, "record keys", unit).integers(0, _KEYS, size)
        for size, unit in units.struct.unnest().iter_rows()
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *drawn])


def _counts(tabulation: Tabulation, level: Level, tables: Sequence[Table]) -> pl.DataFrame:
    """Columns ``geoid, table, cell, count``, sorted, where there are records."""
    geoids, people = tabulation.geounits(level)
    counts = people @ tabulation.membership(tables)
    counts.sort_indices()
    rows = np.repeat(np.arange(len(geoids)), np.diff(counts.indptr))
    cells = tabulation.columns.select("table", "cell")[counts.indices]
    return cells.select(
        geoids.gather(rows).alias("geoid"), "table", "cell", pl.Series("count", counts.data)
    ).filter(pl.col("count") > 0)


def _published(
    frame: pl.DataFrame, level: Level, protection: Protection, seed: int, keys: Keys
) -> pl.DataFrame:
    true = frame["count"].cast(pl.Int64).to_numpy()
    if keys == "records":
        uniform = (frame["_key"].fill_null(0).to_numpy() % _KEYS) / _KEYS
    else:
        uniform = _uniform_by_cell(frame, seed)
    tables = frame["table"].unique(maintain_order=True)
    numbers = {table: protection.number(table, level.name) for table in tables}
    law_of = frame["table"].replace_strict(numbers, return_dtype=pl.Int64).to_numpy()
    count = true.copy()
    for number in np.unique(law_of).tolist():
        mine = law_of == number
        count[mine] = protection.laws[number].publish(true[mine], uniform[mine])
    return frame.select(
        "geoid",
        pl.lit(level.name).alias("level"),
        "table",
        "cell",
        pl.Series("count", count).replace(FLAGGED, None).cast(pl.Int32),
        pl.Series("true", true).cast(pl.Int32),
    )


def _uniform_by_cell(frame: pl.DataFrame, seed: int) -> npt.NDArray[np.float64]:
    """A number on [0, 1) for each cell, drawn geounit by geounit."""
    drawn = [
        generator(seed, "cell keys", geoid).random(size)
        for size, geoid in frame["geoid"].rle().struct.unnest().iter_rows()
    ]
    return np.concatenate([np.empty(0), *drawn])
