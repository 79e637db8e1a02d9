"""How much of an attacker's file takes part in a linkage: a typing difference is not a low risk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from recon_cli.attack.linkage.key_encoding import KeyEncoder, require
from recon_cli.attack.linkage.specification import LinkageSpecification
from recon_cli.errors import SourceError

#: Of so many identifiers at least one is the truth's, or they are others.
_IDS_FOR_ONE = 10


@dataclass(frozen=True)
class AttackerUsage:
    """Records of an attacker's file, counted; each takes part or is left out for one reason.

    Attributes:
        used: Take part.
        known: Of them, those whose identifier the truth has.
        elsewhere: In no geounit of the truth.
        incomplete: Without a value that is linked on.
        without_id: Without an identifier.
    """

    used: int = 0
    known: int = 0
    elsewhere: int = 0
    incomplete: int = 0
    without_id: int = 0

    @property
    def left_out(self) -> int:
        """Records that do not take part."""
        return self.elsewhere + self.incomplete + self.without_id

    def check(self, id_column: str, may_leave_out: float) -> None:
        """Refuse a file that cannot be what it is taken for.

        Args:
            id_column: Of the truth.
            may_leave_out: Largest share of records that may be left out.

        Raises:
            SourceError: More is left out, or hardly an identifier is the truth's.
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
    """The usage of a file over all its parts."""
    whole = AttackerUsage()
    for part in parts:
        whole = AttackerUsage(
            whole.used + part.used,
            whole.known + part.known,
            whole.elsewhere + part.elsewhere,
            whole.incomplete + part.incomplete,
            whole.without_id + part.without_id,
        )
    return whole


def count_usage(
    spec: LinkageSpecification, truth: pl.DataFrame, records: pl.DataFrame, name: str
) -> AttackerUsage:
    """Count what one partition of an attacker's file is good for.

    Args:
        spec: Names the columns.
        truth: The geoid column and the identifier.
        records: The attacker's, with the columns that are linked on.
        name: What messages call the file.

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
