"""The files of a linking attack, ready to be matched: truth, attackers, sources.

All frames here hold the integers of `recon_cli.attack.linkage.key_encoding`.

See *deduplication* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from recon_cli.attack.linkage.key_encoding import KeyEncoder
from recon_cli.attack.linkage.record_order import place_in_unit, record_hashes, unit_salts

#: Columns that say which of several records with one id in one unit is kept, as the study's
#: files have them: a flag, or a number of which the lowest wins.
KEEP, RANK = "keep", "r_keep"
#: A file's own random order.
ORDER = "r"
FLAGS = (KEEP, RANK, ORDER)


@dataclass(frozen=True)
class DedupedRecords:
    """Records with an id, no id twice in a unit.

    Attributes:
        records: ``unit, exact, binned, id, order`` and what else the records had.
        left_out: ``no id``, ``duplicate``: how many were left out, and why.
    """

    records: pl.DataFrame
    left_out: dict[str, int]


def with_order(encoder: KeyEncoder, records: pl.DataFrame, seed: int, purpose: str) -> pl.DataFrame:
    """Add ``order`` (UInt64), a random number that belongs to the record.

    Args:
        encoder: Of the partition.
        records: Columns ``unit, exact, binned``, and if there are any ``gain`` and ``id``.
        purpose: Files with different purposes get unrelated orders.
    """
    further = [column for each in encoder.passes for column in each.key_columns]
    names = dict.fromkeys(("id", "exact", "binned", "gain", *further))
    identity = [name for name in names if name in records.columns]
    places = place_in_unit(records, "unit", identity).to_numpy()
    salts = unit_salts(encoder.geoids.to_list(), seed, purpose)
    numbers = record_hashes(salts[records["unit"].to_numpy()], places)
    return records.with_columns(pl.Series("order", numbers, pl.UInt64))


def one_per_id(records: pl.DataFrame) -> DedupedRecords:
    """Leave one record for each id in a unit.

    The file's ``keep`` flag decides, or its ``r_keep`` (the lowest), or else ``order``. Then the
    file's ``r``, where it has one, takes the place of ``order``.

    Args:
        records: Columns ``unit``, ``id`` (String), ``order``, and which of `FLAGS` there are.
    """
    flags = [flag for flag in FLAGS if flag in records.columns]
    named = records.filter(pl.col("id").is_not_null() & (pl.col("id") != ""))
    kept = named
    if KEEP in flags:
        kept = kept.filter(is_set(KEEP))
    rank = [pl.col(RANK).cast(pl.Float64, strict=False)] if RANK in flags else []
    kept = kept.sort("unit", "id", *rank, "order", nulls_last=True).unique(
        ["unit", "id"], keep="first", maintain_order=True
    )
    if ORDER in flags:
        kept = kept.with_columns(pl.col(ORDER).cast(pl.Float64, strict=False).alias("order"))
    left_out = {"no id": records.height - named.height, "duplicate": named.height - kept.height}
    return DedupedRecords(kept.drop(flags), left_out)


def is_set(flag: str) -> pl.Expr:
    """Whether a flag is 1 or true, in any kind of column; null is not."""
    text = pl.col(flag).cast(pl.String).str.to_lowercase()
    return text.is_in(["1", "1.0", "true"]).fill_null(value=False)


def unique_on(records: pl.DataFrame, key: str) -> pl.Series:
    """Whether no other record has the key (``binned``: unique on block × sex × agebin)."""
    return records.select(pl.len().over(key) == 1).to_series().alias("unique")
