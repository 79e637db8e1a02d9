"""Keys: uniform numbers from hashes of the seed and of names, never from who draws first.

A cell key is made of the keys of the cell's records, so that cells with the same records have the
same key, in whatever table and at whatever level they are published.

See *cell key* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from recon_cli.schema import Release, Table
from recon_cli.seeding import Bits, digest_seed, scramble
from recon_cli.statement.law import FloatArray, IntArray
from recon_cli.tabulation import tabulate_weights

#: Record keys and cell keys are below it.
KEY_RANGE: Final = 2**32


def record_keys(
    release: Release, records: pl.DataFrame, seed: int, identifier: str | None = None
) -> IntArray:
    """A key below `KEY_RANGE` for each record.

    Args:
        release: Names the geoid and the features.
        records: One row per person.
        seed: Other seeds give other keys.
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
    bits = scramble(_digests(seed, "record", texts["text"]) + number.astype(np.uint64))
    return (bits >> np.uint64(32)).astype(np.int64)


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


def independent_keys(counts: pl.DataFrame, seed: int) -> FloatArray:
    """A key on [0, 1) for each count, of its geounit, table and cell.

    Args:
        counts: Columns ``geoid, table, cell``.
        seed: Other seeds give other keys.
    """
    table = scramble(_digests(seed, "table", counts["table"]) + _unsigned(counts["cell"]))
    return _uniform(scramble(_digests(seed, "geounit", counts["geoid"]) ^ table))


def definition_keys(release: Release, counts: pl.DataFrame, seed: int) -> FloatArray:
    """A key on [0, 1) for each count, of its geounit and of what it counts.

    Cells of one geounit that count the same have the same key, in whatever tables they are; this
    is what can be had of `cell_keys` where only counts are known.

    Args:
        release: Says what the cells count.
        counts: Columns ``geoid, table, cell``.
        seed: Other seeds give other keys.
    """
    defined = counts.select("table", "cell").join(
        cell_definitions(release), on=["table", "cell"], how="left", maintain_order="left"
    )
    what = _digests(seed, "definition", defined["definition"])
    return _uniform(scramble(_digests(seed, "geounit", counts["geoid"]) ^ what))


def cell_definitions(release: Release) -> pl.DataFrame:
    """Columns ``table, cell, definition``: cells that count the same have the same text."""
    rows = [
        (table.name, cell.number, f"{cell.masks} {cell.tally}")
        for table in release.tables
        for cell in table.cells
    ]
    schema = {"table": pl.String, "cell": pl.Int16, "definition": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _digests(seed: int, purpose: str, texts: pl.Series) -> Bits:
    """64 bits for each text."""
    distinct = texts.unique().sort()
    bits = np.array([digest_seed(seed, purpose, text) for text in distinct], dtype=np.uint64)
    return bits[texts.rank("dense").cast(pl.Int64).to_numpy() - 1] if len(bits) else bits


def _unsigned(numbers: pl.Series) -> Bits:
    return numbers.cast(pl.UInt64).to_numpy()


def _uniform(bits: Bits) -> FloatArray:
    return (bits >> np.uint64(11)).astype(np.float64) / 2**53
