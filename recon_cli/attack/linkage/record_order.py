"""Random numbers that belong to a record, not to its place in a file.

A number is a hash of a seed, a purpose, the record's geounit and its place among the records of
that geounit when they are sorted by what they say. Equal records are interchangeable, so the
order of rows, the split into files and the number of workers cannot change any result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import WordArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def unit_salts(geoids: Sequence[str], seed: int, purpose: str) -> WordArray:
    """One 64-bit number for each geounit, seed and purpose.

    >>> unit_salts(["a"], 1, "x") == unit_salts(["b", "a"], 1, "x")[1:]
    array([ True])
    """
    start = hashlib.blake2b(f"{seed}\x1f{purpose}\x1f".encode(), digest_size=8)
    salts = np.empty(len(geoids), np.uint64)
    for i, geoid in enumerate(geoids):
        digest = start.copy()
        digest.update(geoid.encode())
        salts[i] = int.from_bytes(digest.digest(), "little")
    return salts


def place_in_unit(records: pl.DataFrame, unit: str, identity: Sequence[str]) -> pl.Series:
    """The place of every record within its unit, once sorted by ``identity``.

    Args:
        records: Any order of rows.
        unit: The column with the unit.
        identity: Columns that tell records apart; records equal in all of them are equal.

    Returns:
        Int64, in the order of the rows.
    """
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    is_first = (place == 0) | pl.col(unit).ne_missing(pl.col(unit).shift())
    return (
        records.select(list(dict.fromkeys((unit, *identity))))
        .with_row_index("_row")
        .sort(unit, *identity)
        .select("_row", (place - pl.when(is_first).then(place).forward_fill()).alias("place"))
        .sort("_row")["place"]
    )


def record_hashes(salts: WordArray, places: npt.NDArray[np.int64]) -> WordArray:
    """One 64-bit number for each record: its unit's salt and its place, mixed (splitmix64)."""
    with np.errstate(over="ignore"):
        mixed: WordArray = salts + (places.astype(np.uint64) + np.uint64(1)) * _GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed


def uniform(numbers: WordArray) -> npt.NDArray[np.float64]:
    """Hashes as numbers in [0, 1)."""
    return (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53
