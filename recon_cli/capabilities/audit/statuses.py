"""Statuses of audited counts, and the safety range that protection requires.

A law that withholds counts below k states only that a count is small. So the standard for a
*primary* count, known to be small, is that every count that the law admits stays possible. If
further counts are flagged, too, nobody should learn which ones are small, and a count that may be
of either kind must keep an interval of width k. Laws without a threshold name no sensitive count;
then two possible values are enough.

See *safety range* in docs/glossary.md.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.frames import OPEN
from recon_cli.progress import OnProgress, ProgressSoFar
from recon_cli.publication import Publication

if TYPE_CHECKING:  # what computes them takes long to import, and rules name statuses alone
    from recon_cli.capabilities.audit.cells import CountEnds, EndsSoFar, OnEnds

#: Only one value is possible.
RECOVERED: Final = "recovered"
#: Several values are possible, and all of them lie closer together than the safety range.
NARROWED: Final = "narrowed"
#: Two known solutions have values that are at least the safety range apart.
SAFE: Final = "safe"
#: The effort ended before one of these statuses was proven.
UNDECIDED: Final = "undecided"
#: A solution has a value of a size that was not asked for, so the search was stopped.
OF_NO_INTEREST: Final = "of no interest"
#: Statuses of an audited cell.
STATUSES: Final = (RECOVERED, NARROWED, SAFE, UNDECIDED)
#: A suppressed count that is below its law's threshold, as its flag or the other counts show.
PRIMARY: Final = "primary"
#: A suppressed count that is not below its law's threshold, as the other counts show.
COMPLEMENTARY: Final = "complementary"
#: A suppressed count that may be either.
UNKNOWN: Final = "unknown"

_KEY: Final = ("geoid", "table", "cell")


def statuses(
    lower: IntArray, upper: IntArray, seen_lower: IntArray, seen_upper: IntArray, required: IntArray
) -> npt.NDArray[np.str_]:
    """Classify each count as one of `STATUSES`, from its interval, its seen and required range.

    Args:
        lower: Proven lower bound.
        upper: Proven upper bound; `OPEN` if unknown.
        seen_lower: The least value in a known solution.
        seen_upper: The greatest value in a known solution; `OPEN` if no solution has the most.
        required: The safety range, at least 1.

    >>> lower, upper = np.array([3, 1, 0]), np.array([3, 2, 9])
    >>> statuses(lower, upper, lower, upper, required=np.array([5, 5, 5])).tolist()
    ['recovered', 'narrowed', 'safe']
    """
    seen, left = seen_upper - seen_lower, upper - lower
    return np.select(
        [lower == upper, seen >= required, (seen > 0) & (left < required)],
        [RECOVERED, SAFE, NARROWED],
        UNDECIDED,
    )


@dataclass(frozen=True)
class Withheld:
    """The reasons why counts are not published exactly, by their laws.

    Attributes:
        threshold: Counts below the threshold were withheld as small; 0 where none is known.
        is_flag: Whether a flag stands in place of the count.
        low: The least count that the law admits.
        high: The greatest count that the law admits; `OPEN` where there is none.
    """

    threshold: IntArray
    is_flag: BoolArray
    low: IntArray
    high: IntArray

    @classmethod
    def of(
        cls, published: Publication, names: pl.DataFrame, low: IntArray, high: IntArray
    ) -> Withheld:
        """Find the reasons of some counts.

        Args:
            published: Publication with a row for each count that is no published zero.
            names: ``geoid, level, table, cell``.
            low: Stated lower bound of each.
            high: Stated upper bound of each; `OPEN` where there is none.
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
        # A row has no law if the source gave its interval, or if it is left out.
        law = pl.when("is_stated").then("law").otherwise("zero_law").fill_null(-1)
        numbers = rows.select(law).to_series().to_numpy()
        # A percentage narrows what the statement admits, but not the required range.
        law_alone = names.join(published.narrowed, on=_KEY, how="left", maintain_order="left")
        low, high = (
            law_alone[name].fill_null(pl.Series(end)).to_numpy()
            for name, end in (("least", low), ("most", high))
        )
        threshold = np.zeros(len(high), dtype=np.int64)
        for number in np.unique(numbers[numbers >= 0]).tolist():
            here = numbers == number
            threshold[here] = protection.laws[number].threshold(high[here])
        flagged = pl.col("is_stated") & pl.col("count").is_null() & pl.col("law").is_not_null()
        is_flag = rows.select(flagged.fill_null(value=False)).to_series()
        return cls(threshold, is_flag.to_numpy(), low, high)

    @property
    def safety_ranges(self) -> IntArray:
        """Return the required distance between two possible values of each count, at least 1."""
        admitted = np.where(self.high < OPEN, self.high - self.low, self.threshold)
        return np.maximum(np.where(self.threshold > 0, admitted, 1), 1)

    def kinds(self, ends: CountEnds) -> npt.NDArray[np.str_]:
        """Return `PRIMARY`, `COMPLEMENTARY` or `UNKNOWN`; empty for counts without a flag."""
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


class AuditProgress:
    """Reports how many counts of some regions are recovered, narrowed or safe, and units done.

    Reports during the search are corrected at the end: a count may only seem decided while another
    component of its region is still missing.
    """

    def __init__(self, on_progress: OnProgress, units: int) -> None:
        """Start with nothing reported for ``units`` units."""
        self._so_far, self._units = ProgressSoFar(on_progress), units

    def of(self, units: pl.Series, required: IntArray, is_settled: BoolArray) -> OnEnds:
        """Return a callback for some counts.

        Args:
            units: The unit of each count; null if its geounit is coarser.
            is_settled: Mask of the counts for which propagation leaves one value.
        """
        unit = units.rank("dense").fill_null(0).to_numpy().astype(np.int64)
        status = np.where(is_settled, RECOVERED, UNDECIDED).astype("<U9")

        def hear(ends: EndsSoFar) -> None:
            at = ends.moved
            status[at] = statuses(
                ends.lower[at], ends.upper[at], ends.least[at], ends.greatest[at], required[at]
            )
            names, numbers = np.unique(status, return_counts=True)
            now = Counter(dict(zip(names.tolist(), numbers.tolist(), strict=True)))
            is_open = np.bincount(unit[status == UNDECIDED], minlength=1) > 0
            self._so_far.tell(self._units - int(is_open[1:].sum()), 0, now)

        return hear

    def finish(self, found: pl.Series) -> None:
        """Report the final statuses ``found`` of all counts."""
        self._so_far.tell(self._units, 0, dict(found.value_counts().iter_rows()))
