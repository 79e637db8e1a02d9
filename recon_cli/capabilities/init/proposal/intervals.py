"""Printed numbers as intervals: the bounds of each cell of a block before its law is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class Intervals:
    """Bounds on the numbers of a block, lines by positions.

    Lines are columns and positions rows, or the other way round: `transposed` turns them.

    Attributes:
        low: Least numbers; 0 where nothing is printed that bounds them.
        high: Greatest numbers; infinite where nothing bounds them.
        known: Where a number is printed.
        present: Where anything is printed.
        unit: The step between numbers that can be printed: 1 for whole numbers, 0.1 for ``12.5``, 5
            where all are rounded to multiples of five.
    """

    low: FloatArray
    high: FloatArray
    known: BoolArray
    present: BoolArray
    unit: FloatArray

    @property
    def transposed(self) -> Intervals:
        """Return the same block with its positions as lines."""
        return Intervals(self.low.T, self.high.T, self.known.T, self.present.T, self.unit.T)

    def take(self, lines: NDArray[np.intp], positions: NDArray[np.intp]) -> Intervals:
        """Return a part of the block.

        Args:
            lines: Numbers of the lines.
            positions: Numbers of the positions.
        """
        at = np.ix_(lines, positions)
        return Intervals(
            self.low[at], self.high[at], self.known[at], self.present[at], self.unit[at]
        )

    @classmethod
    def unknown(cls, shape: tuple[int, int]) -> Intervals:
        """Return a block in which nothing is printed."""
        empty = np.zeros(shape, dtype=bool)
        return cls(np.zeros(shape), np.full(shape, np.inf), empty, empty.copy(), np.ones(shape))

    def put(self, lines: NDArray[np.intp], positions: NDArray[np.intp], own: Intervals) -> None:
        """Put the numbers of another block into some cells.

        Args:
            lines: Numbers of the lines, of any shape that goes with that of the positions.
            positions: Numbers of the positions.
        """
        for name in ("low", "high", "known", "present", "unit"):
            getattr(self, name)[lines, positions] = getattr(own, name)

    @classmethod
    def beside(cls, blocks: Sequence[Intervals]) -> Intervals:
        """Return blocks of the same lines as one, their positions after each other."""
        names = ("low", "high", "known", "present", "unit")
        return cls(*(np.concatenate([getattr(b, n) for b in blocks], axis=1) for n in names))

    @classmethod
    def stacked(cls, blocks: Sequence[Intervals]) -> Intervals:
        """Return blocks of the same positions as one, their lines after each other."""
        return cls.beside([each.transposed for each in blocks]).transposed

    @property
    def in_a_line(self) -> Intervals:
        """Return all cells as the positions of one line."""
        names = ("low", "high", "known", "present", "unit")
        return Intervals(*(getattr(self, name).reshape(1, -1) for name in names))

    def in_steps(self, base: int) -> Intervals:
        """Return the same block where all numbers are rounded to multiples of a base."""
        return replace(self, unit=self.unit * base)

    @classmethod
    def exact(cls, numbers: FloatArray, unit: float = 1.0) -> Intervals:
        """Return a block of numbers; NaN stands for a cell of which nothing is known.

        Example:
            >>> Intervals.exact(np.array([[3.0, np.nan]])).high.tolist()
            [[3.0, inf]]
        """
        known = ~np.isnan(numbers)
        return cls(
            np.where(known, numbers, 0.0),
            np.where(known, numbers, np.inf),
            known,
            np.ones_like(known),
            np.full(numbers.shape, unit),
        )
