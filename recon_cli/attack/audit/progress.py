"""Progress of an audit: counts that are decided while a region is still being asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.attack.audit.functionals import EndsSoFar, OnEnds
from recon_cli.attack.audit.statuses import RECOVERED, UNDECIDED, statuses
from recon_cli.progress import OnProgress, ProgressSoFar


class AuditProgress:
    """Tells how many counts of some regions are recovered, narrowed or safe, and units done.

    What is told while ends are found is taken back by what is told at the end: a count may only
    seem decided where another part of its region is still to be added.
    """

    def __init__(self, on_progress: OnProgress, units: int) -> None:
        """Nothing is told yet.

        Args:
            on_progress: Who is told.
            units: How many there are.
        """
        self._so_far, self._units = ProgressSoFar(on_progress), units

    def of(self, units: pl.Series, required: IntArray, is_settled: BoolArray) -> OnEnds:
        """Hears of some counts.

        Args:
            units: The unit of each; null: its geounit is a coarser one.
            required: The safety range of each.
            is_settled: Those that propagation leaves one value.
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

    def finish(self, found: Iterable[pl.Series]) -> None:
        """All counts are there.

        Args:
            found: Their statuses.
        """
        now: Counter[str] = Counter()
        for each in found:
            now.update(dict(each.value_counts().iter_rows()))
        self._so_far.tell(self._units, 0, now)
