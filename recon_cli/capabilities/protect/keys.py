"""Keys: uniform words derived from names, not from the order of draws.

A cell key is made of the keys of the cell's records, so that cells with the same records have the
same key, in whatever table and at whatever level they are published.

See *cell key* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import WordArray
from recon_cli.capabilities.tabulate.tabulation import tabulate_weights
from recon_cli.chance import KeyedChance
from recon_cli.schema import Release, Table

#: Bits of the halves in which record keys are summed, so that sums over people stay below 2⁶³.
_HALF: Final = np.uint64(32)


def record_keys(
    release: Release, records: pl.DataFrame, chance: KeyedChance, identifier: str | None = None
) -> WordArray:
    """Derive a key, a word, for each record.

    Args:
        release: Names the geoid and the features.
        records: One row per person.
        identifier: The column that tells records apart. Without it the key is that of the
            record's geoid and features; records alike in all of them, which are interchangeable,
            are numbered.

    Raises:
        pl.exceptions.ColumnNotFoundError: There is no such column.
    """
    columns = [release.geoid_column, *(feature.name for feature in release.features)]
    columns = columns if identifier is None else [identifier]
    texts = records.select(
        text=pl.concat_str(
            [pl.col(name).cast(pl.String).fill_null("") for name in columns], separator="\x1f"
        )
    )
    number = texts.select(pl.int_range(pl.len()).over("text")).to_series().to_numpy()
    named = texts["text"] + "\x1f" + pl.Series(number).cast(pl.String)
    return chance.named("record").words_of_each(named)[:, 0]


def cell_keys(
    release: Release, records: pl.DataFrame, keys: WordArray, tables: Sequence[Table]
) -> pl.DataFrame:
    """Sum the record keys in each cell, modulo 2⁶⁴.

    One is added to both halves of each key, so that no sum is zero: a table has no row for zeros.

    Args:
        keys: From `record_keys`.

    Returns:
        Columns ``geoid, table, cell, key`` (UInt64), for cells with records.
    """
    halves = keys >> _HALF, keys & np.uint64(2**32 - 1)
    high, low = (
        tabulate_weights(release, records, half.astype(np.int64) + 1, tables) for half in halves
    )
    sums = [each["count"].to_numpy().astype(np.uint64) for each in (high, low)]
    key = pl.Series("key", (sums[0] << _HALF) + sums[1])  # in words, which overflow to the rest
    return high.select("geoid", "table", "cell", key)


def independent_keys(counts: pl.DataFrame, chance: KeyedChance) -> WordArray:
    """Derive a key for each count from its geounit, table and cell, and the count itself.

    So a corrected count gets another key: noise with the same key would publish the exact
    difference.

    Args:
        counts: Columns ``geoid, table, cell, count``.
    """
    names = counts.select(pl.concat_str("geoid", "table", "cell", "count", separator="\x1f"))
    return chance.named("cell").words_of_each(names.to_series())[:, 0]


def definition_keys(release: Release, counts: pl.DataFrame, chance: KeyedChance) -> WordArray:
    """Derive a key for each count from its geounit, its condition, and the count itself.

    Cells of one geounit with the same condition have the same key, in whatever tables they are;
    this is the closest to `cell_keys` where only counts are known.

    Args:
        release: Says what the cells count.
        counts: Columns ``geoid, table, cell, count``.
    """
    defined = counts.select("table", "cell").join(
        cell_definitions(release), on=["table", "cell"], how="left", maintain_order="left"
    )
    parts = counts["geoid"], defined["definition"], counts["count"]
    names = pl.select(pl.concat_str(parts, separator="\x1f")).to_series()
    distinct = names.unique().sort()
    drawn = chance.named("definition").words_of_each(distinct)[:, 0]
    found: WordArray = drawn[distinct.search_sorted(names).to_numpy()]
    return found


def cell_definitions(release: Release) -> pl.DataFrame:
    """Return ``table, cell, definition``: cells with the same condition have the same text."""
    rows = [
        (table.name, cell.number, f"{cell.masks} {cell.tally}")
        for table in release.tables
        for cell in table.cells
    ]
    schema = {"table": pl.String, "cell": pl.Int16, "definition": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")
