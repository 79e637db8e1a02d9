"""Rows of an audit: the range of each count that is not published exactly, and its status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.capabilities.audit.cells import CountEnds
from recon_cli.capabilities.audit.statuses import RECOVERED, Withheld, statuses
from recon_cli.frames import OPEN
from recon_cli.publication import Publication

#: A row per cell that is published as an interval: the interval that its statement proves (``high``
#: null: open), and the least and greatest count of any solution (null: no bound is known), with
#: the ``width`` between them. ``is_exact``: solutions attain both. ``suppression``: the kind of a
#: suppressed count, see `recon_cli.capabilities.audit.statuses`; null for others. ``required``:
#: the safety range. ``status``: one of `recon_cli.capabilities.audit.statuses.STATUSES`.
AUDIT: Final = pl.Schema(
    {
        "geoid": pl.String,
        "level": pl.String,
        "table": pl.String,
        "cell": pl.Int16,
        "low": pl.Int32,
        "high": pl.Int32,
        "least": pl.Int32,
        "greatest": pl.Int32,
        "width": pl.Int32,
        "is_exact": pl.Boolean,
        "suppression": pl.String,
        "required": pl.Int32,
        "status": pl.String,
    }
)
#: Where statistics are printed beside counts: the same range by counts alone, which is null where
#: no bound is known.
WITHOUT: Final = pl.Schema({"least_without": pl.Int32, "greatest_without": pl.Int32})
#: Columns that identify a count.
KEY: Final = ("geoid", "table", "cell")


@dataclass(frozen=True)
class Asked:
    """The counts that an audit is about.

    Attributes:
        among: ``geoid, table, cell`` of the only counts to audit; None for all.
        with_ends: Whether to compute intervals; else only find the recovered counts, which is
            quicker.
        sizes: Least and greatest count that matters: a count that has a value outside them in a
            known solution is not computed further. None for any.
    """

    among: pl.DataFrame | None = None
    with_ends: bool = True
    sizes: tuple[int, int] | None = None


EVERY_COUNT: Final = Asked()


def rated(
    published: Publication, names: pl.DataFrame, ends: CountEnds, safety: int | None
) -> pl.DataFrame:
    """Return the rows of some counts: their ranges and statuses.

    Args:
        names: Columns ``geoid, level, table, cell``, a row per count.
        safety: The safety range of every count; by default that of each count's law.

    Returns:
        Columns of `AUDIT`.
    """
    withheld = Withheld.of(published, names, ends.low, ends.high)
    required = safety_ranges(withheld, safety)
    least, greatest = ends.lower, ends.upper
    is_exact = (least == ends.least) & (greatest == ends.greatest) & (greatest < OPEN)
    status = statuses(least, greatest, ends.least, ends.greatest, required)
    kind = pl.Series(withheld.kinds(ends), dtype=pl.String)
    shown = names.with_columns(
        low=pl.Series(ends.low),
        high=_or_open(ends.high),
        least=pl.Series(least),
        greatest=_or_open(greatest),
        width=_or_open(np.where(greatest < OPEN, greatest - least, OPEN)),
        is_exact=pl.Series(is_exact),
        suppression=kind.set(kind == "", None),
        required=pl.Series(required),
        status=pl.Series(status, dtype=pl.String),
    )
    return shown.select(AUDIT.names()).cast(AUDIT)


def safety_ranges(withheld: Withheld, safety: int | None) -> IntArray:
    """Return the safety range of each count: ``safety``, or by default that of its law."""
    if safety is None:
        return withheld.safety_ranges
    return np.full(len(withheld.low), safety, dtype=np.int64)


def by_statistics(audited: pl.DataFrame) -> int:
    """Count the recovered counts that counts alone do not recover."""
    least, greatest = pl.col("least_without"), pl.col("greatest_without")
    known = least.is_null() | (least == greatest).fill_null(value=False)
    return audited.filter(pl.col("status") == RECOVERED, ~known).height


def _or_open(ends: IntArray) -> pl.Series:
    """Convert upper bounds to a column with null for unbounded."""
    return pl.Series(ends).set(pl.Series(ends >= OPEN), None)
