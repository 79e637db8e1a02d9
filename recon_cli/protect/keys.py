"""Keys: uniform numbers of names, never of who draws first.

A cell key is made of the keys of the cell's records, so that cells with the same records have the
same key, in whatever table and at whatever level they are published.

See *cell key* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from recon_cli.chance import KeyedChance
from recon_cli.schema import Release, Table
from recon_cli.statement.law import FloatArray, IntArray
from recon_cli.tabulation import tabulate_weights

#: Record keys and cell keys are below it.
KEY_RANGE: Final = 2**32


def record_keys(
    release: Release, records: pl.DataFrame, chance: KeyedChance, identifier: str | None = None
) -> IntArray:
    """A key below `KEY_RANGE` for each record.

    Args:
        release: Names the geoid and the features.
        records: One row per person.
        chance: Of all keys.
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
    words = chance.named("record").words_of_each(named)[:, 0]
    return (words >> np.uint64(32)).astype(np.int64)


def cell_keys(
    release: Release, records: pl.DataFrame, keys: IntArray, tables: Sequence[Table]
) -> pl.DataFrame:
    """The sum of the record keys in each cell, modulo `KEY_RANGE`, on [0, 1).

    Args:
        release: The schema.
        records: One row per person.
        keys: From `record_keys`.
        tables: Which.

    Returns:
        Columns ``geoid, table, cell, key``, for cells with records.

    Raises:
        VerificationError: Columns, values or geoids that the schema does not know.
    """
    sums = tabulate_weights(release, records, keys, tables)
    key = (pl.col("count") % KEY_RANGE).cast(pl.Float64) / KEY_RANGE
    return sums.select("geoid", "table", "cell", key=key)


def independent_keys(counts: pl.DataFrame, chance: KeyedChance) -> FloatArray:
    """A key on [0, 1) for each count, of its geounit, table and cell.

    Args:
        counts: Columns ``geoid, table, cell``.
        chance: Of all keys.
    """
    names = counts.select(pl.concat_str("geoid", "table", "cell", separator="\x1f"))
    return chance.named("cell").uniform_of_each(names.to_series())


def definition_keys(release: Release, counts: pl.DataFrame, chance: KeyedChance) -> FloatArray:
    """A key on [0, 1) for each count, of its geounit and of what it counts.

    Cells of one geounit that count the same have the same key, in whatever tables they are; this
    is what can be had of `cell_keys` where only counts are known.

    Args:
        release: Says what the cells count.
        counts: Columns ``geoid, table, cell``.
        chance: Of all keys.
    """
    defined = counts.select("table", "cell").join(
        cell_definitions(release), on=["table", "cell"], how="left", maintain_order="left"
    )
    names = counts["geoid"] + "\x1f" + defined["definition"]
    distinct = names.unique().sort()
    drawn = chance.named("definition").uniform_of_each(distinct)
    at: IntArray = distinct.search_sorted(names).to_numpy()
    return drawn[at]


def cell_definitions(release: Release) -> pl.DataFrame:
    """Columns ``table, cell, definition``: cells that count the same have the same text."""
    rows = [
        (table.name, cell.number, f"{cell.masks} {cell.tally}")
        for table in release.tables
        for cell in table.cells
    ]
    schema = {"table": pl.String, "cell": pl.Int16, "definition": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")
