"""The files of a linking attack, ready for matching, and how many records take part.

All frames here hold the integers of `recon_cli.capabilities.link.key_encoding`.

See *deduplication* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

import polars as pl

from recon_cli.capabilities.link.key_encoding import (
    KeyEncoder,
    place_in_unit,
    record_hashes,
    require,
    unit_salts,
)
from recon_cli.capabilities.link.specification import LinkageSpecification
from recon_cli.errors import SourceError

#: Columns of the study's files that select one of several records with one id in one unit: a flag,
#: or a number whose lowest value wins.
KEEP, RANK = "keep", "r_keep"
#: A file's own random order.
ORDER = "r"
FLAGS = (KEEP, RANK, ORDER)
#: A file is refused if the truth has fewer than one in this many of its identifiers.
_IDS_FOR_ONE = 10


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
    """Add ``order`` (UInt64), a random number of each record.

    Args:
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
    """Keep one record for each id in a unit.

    The file's ``keep`` flag decides, or its ``r_keep`` (the lowest), or else ``order``. Then the
    file's ``r``, if it has one, replaces ``order``.

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
    """Return whether a flag is 1 or true, in any kind of column; null is not."""
    text = pl.col(flag).cast(pl.String).str.to_lowercase()
    return text.is_in(["1", "1.0", "true"]).fill_null(value=False)


def unique_on(records: pl.DataFrame, key: str) -> pl.Series:
    """Test whether no other record has the key (``binned``: unique on block × sex × agebin)."""
    return records.select(pl.len().over(key) == 1).to_series().alias("unique")


@dataclass(frozen=True)
class AttackerUsage:
    """Counts of an attacker's records: each takes part or is left out for one reason.

    Attributes:
        used: Records that take part.
        known: Number of these whose identifier the truth has.
        elsewhere: Records in no geounit of the truth.
        incomplete: Records without a value that is linked on.
        without_id: Records without an identifier.
    """

    used: int = 0
    known: int = 0
    elsewhere: int = 0
    incomplete: int = 0
    without_id: int = 0

    @property
    def left_out(self) -> int:
        """Return the number of records that do not take part."""
        return self.elsewhere + self.incomplete + self.without_id

    def check(self, id_column: str, may_leave_out: float) -> None:
        """Refuse a file that cannot be what the config states.

        Args:
            may_leave_out: Largest share of records that may be left out.

        Raises:
            SourceError: More are left out, or the truth has hardly any of the identifiers.
        """
        records = self.used + self.left_out
        if self.left_out > may_leave_out * records:
            reasons = {
                "in geounits without people in the truth": self.elsewhere,
                "without a value that is linked on": self.incomplete,
                "without an identifier": self.without_id,
            }
            named = ", ".join(f"{n:,} {why}" for why, n in reasons.items() if n)
            raise SourceError(
                f"{self.left_out:,} of {records:,} records would be left out: {named}; give "
                "`columns` and `values` if the file has other codes, or a larger `may_leave_out` "
                "if it covers more than the truth"
            )
        if self.known * _IDS_FOR_ONE < self.used:
            raise SourceError(
                f"{self.known:,} of {self.used:,} identifiers are in the truth's column "
                f"{id_column!r}: match the file's records to it first, and name the column with "
                "`id` (docs/attackers.md)"
            )


def add_up_usage(parts: Iterable[AttackerUsage]) -> AttackerUsage:
    """Sum the usage of a file over all its parts."""
    counts = zip(*map(astuple, (AttackerUsage(), *parts)), strict=True)
    return AttackerUsage(*map(sum, counts))


def count_usage(
    spec: LinkageSpecification, truth: pl.DataFrame, records: pl.DataFrame, name: str
) -> AttackerUsage:
    """Count how the records of one partition of an attacker's file can be used.

    Args:
        truth: The geoid column and the identifier.
        records: The attacker's, with the columns that are linked on.

    Raises:
        SourceError: A column is missing, or holds a value that the schema does not know.
    """
    place = spec.release.geoid_column
    require(truth, (place, spec.id), spec.truth)
    geoids = truth[place].cast(pl.String).drop_nulls().unique().sort()
    encoder = KeyEncoder(spec.release, spec.keys, geoids)
    encoded = encoder.encode(records, name=name, gains=False, keep=[spec.id])
    ids = encoded.records[spec.id].cast(pl.String)
    named = ids.filter(ids.is_not_null() & (ids != ""))
    known = named.is_in(truth[spec.id].cast(pl.String).unique().implode())
    return AttackerUsage(
        used=len(named),
        known=int(known.sum()),
        elsewhere=encoded.left_out["outside"],
        incomplete=encoded.left_out["incomplete"],
        without_id=len(ids) - len(named),
    )
