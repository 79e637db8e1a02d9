"""How far apart the possible counts of a withheld one must lie: what its law is there for.

A law that withholds counts below k states of a count that it is small, and nothing else. So the
standard for a *primary* count, of which that is known, is all that its flag says: every count that
the law admits stays possible. Where further counts are flagged, too, nobody is to know which are
small, and a count that may be one of either kind must leave an interval k wide. Laws without a
threshold name no sensitive count, and then any two possible ones will do.

See *safety range* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.attack.audit.cells import CountEnds
from recon_cli.frames import OPEN
from recon_cli.publication import Publication

#: A suppressed count that is below its law's threshold, as its flag or the other counts show.
PRIMARY: Final = "primary"
#: A suppressed count that is not, as the other counts show.
COMPLEMENTARY: Final = "complementary"
#: A suppressed count that may be either.
UNKNOWN: Final = "unknown"

_KEY: Final = ("geoid", "table", "cell")


@dataclass(frozen=True)
class Withheld:
    """What the laws of counts say of why they are not published exactly.

    Attributes:
        threshold: Counts below it were withheld for being small; 0 where none is known.
        is_flag: Whether a flag stands in place of the count.
    """

    threshold: IntArray
    is_flag: BoolArray

    @classmethod
    def of(cls, published: Publication, names: pl.DataFrame, high: IntArray) -> Withheld:
        """Of some counts.

        Args:
            published: Has a row for each that is no published zero.
            names: ``geoid, level, table, cell``.
            high: The greatest that the statement of each admits; `OPEN` where there is none.
        """
        protection = published.protection
        stated = published.counts.select(*_KEY, "count", "law", is_stated=True)
        rows = names.join(stated, on=_KEY, how="left", maintain_order="left")
        places = names.select("table", "level").unique()
        of_zeros = places.with_columns(
            zero_law=pl.Series(
                [protection.number(table, level) for table, level in places.rows()], dtype=pl.Int8
            )
        )
        rows = rows.join(of_zeros, on=["table", "level"], how="left", maintain_order="left")
        # A row without a law is one whose interval the source gave, or that is left out.
        law = pl.when("is_stated").then("law").otherwise("zero_law").fill_null(-1)
        numbers = rows.select(law).to_series().to_numpy()
        threshold = np.zeros(len(high), dtype=np.int64)
        for number in np.unique(numbers[numbers >= 0]).tolist():
            here = numbers == number
            threshold[here] = protection.laws[number].threshold(high[here])
        flagged = pl.col("is_stated") & pl.col("count").is_null() & pl.col("law").is_not_null()
        is_flag = rows.select(flagged.fill_null(value=False)).to_series()
        return cls(threshold, is_flag.to_numpy())

    def safety_ranges(self, low: IntArray, high: IntArray) -> IntArray:
        """How far apart two possible counts must lie at least, 1 or more.

        Args:
            low: The statement of each: at least.
            high: At most, `OPEN` where there is no end.
        """
        admitted = np.where(high < OPEN, high - low, self.threshold)
        return np.maximum(np.where(self.threshold > 0, admitted, 1), 1)

    def kinds(self, ends: CountEnds) -> npt.NDArray[np.str_]:
        """`PRIMARY`, `COMPLEMENTARY` or `UNKNOWN`; empty where no flag stands for the count."""
        known = self.threshold > 0
        return np.select(
            [
                ~self.is_flag,
                known & (ends.upper < self.threshold),
                known & (ends.lower >= self.threshold),
            ],
            ["", PRIMARY, COMPLEMENTARY],
            UNKNOWN,
        )
