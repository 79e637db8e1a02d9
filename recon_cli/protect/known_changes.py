"""The changes that protect the primary cells of a region: what they touch, and what for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.protect.least_change import SensitiveCells


@dataclass(frozen=True)
class Change:
    """Other records that have every count but some.

    Attributes:
        touched: The cells that have another count then, rising.
        protected: The primary cells among them whose count is the safety range away, rising.
    """

    touched: IntArray
    protected: IntArray

    @classmethod
    def of(cls, cells: SensitiveCells, people: IntArray) -> Change:
        """What a change of each column's people does.

        Raises:
            ValueError: There are no such records, or a flag would not be true of them.
        """
        difference = cells.difference(people)
        protected = cells.is_primary & (np.abs(difference) >= cells.safety)
        return cls(np.flatnonzero(difference), np.flatnonzero(protected))


class KnownChanges:
    """The changes so far.

    Attributes:
        protecting: How many of them protect each cell.
        touching: How many touch each cell.
    """

    def __init__(self, width: int) -> None:
        """None yet.

        Args:
            width: Number of cells.
        """
        self.protecting = np.zeros(width, dtype=np.int64)
        self.touching = np.zeros(width, dtype=np.int64)
        self._changes: dict[int, Change] = {}
        self._at: list[set[int]] = [set() for _ in range(width)]
        self._next = 0

    def add(self, change: Change) -> None:
        """Take a change in."""
        self._changes[self._next] = change
        for cell in change.touched.tolist():
            self._at[cell].add(self._next)
        self._next += 1
        self.touching[change.touched] += 1
        self.protecting[change.protected] += 1

    def remove_touching(self, cell: int) -> None:
        """Forget the changes that touch a cell."""
        for number in sorted(self._at[cell]):
            change = self._changes.pop(number)
            for touched in change.touched.tolist():
                self._at[touched].discard(number)
            self.touching[change.touched] -= 1
            self.protecting[change.protected] -= 1

    def without(self, cell: int) -> tuple[BoolArray, BoolArray]:
        """What the changes that leave a cell alone touch, and what they no longer protect."""
        gone = [self._changes[number] for number in sorted(self._at[cell])]
        touching = self.touching - self._times(change.touched for change in gone)
        lost = self._times(change.protected for change in gone)
        return touching > 0, (lost > 0) & (lost == self.protecting)

    def _times(self, cells: Iterable[IntArray]) -> IntArray:
        return np.bincount(np.concatenate(list(cells)), minlength=len(self.touching))
