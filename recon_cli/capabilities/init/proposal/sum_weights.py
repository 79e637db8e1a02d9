"""Support of sums: in how many positions numbers bear one out, and how far from chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray, FloatArray
from recon_cli.capabilities.init.proposal.evidence import MARGIN_BITS, Support
from recon_cli.capabilities.init.proposal.intervals import Intervals

#: Relative error of sums of printed decimals in binary.
BINARY: Final = 1e-9


@dataclass(frozen=True)
class Run:
    """Lines side by side, summed.

    Attributes:
        known: Positions in which all lines are printed.
        filled: For each position, the number of lines that are printed and not zero.
        terms: Number of lines.
    """

    low: FloatArray
    high: FloatArray
    known: BoolArray
    filled: NDArray[np.int64]
    terms: int


class SumWeights:
    """Numbers of a block, and the evidence for sums among its lines.

    Attributes:
        units: For each position the unit to which its numbers are rounded; None if they are exact.
        slack: Error of sums of printed decimals in binary.
    """

    def __init__(self, block: Intervals, units: FloatArray | None) -> None:
        self.block = block
        self.units = units
        self.width = block.low.shape[1]
        scale = float(np.max(np.where(block.known, np.abs(block.low), 0.0), initial=1.0))
        self.slack = BINARY * scale
        self._rooms: dict[int, FloatArray] = {}

    @property
    def is_rounded(self) -> bool:
        return self.units is not None

    def tolerance(self, terms: int) -> FloatArray:
        """Measure how far a rounded total may be from the sum of as many rounded parts."""
        if terms not in self._rooms:
            units = np.zeros(self.width) if self.units is None else self.units
            self._rooms[terms] = units * (terms + 1) / 2
        return self._rooms[terms]

    def surprise(
        self, off: FloatArray, terms: NDArray[np.int64] | int, unit: FloatArray
    ) -> FloatArray:
        """Return −log2 of the probability of rounding errors that leave sums so far off.

        Each number is off by up to half of its unit, so that their sum has about a normal error;
        exact numbers have no error.

        Args:
            unit: The steps between sums.
        """
        if self.units is None:
            return np.zeros_like(off)
        error = np.sqrt(terms / 12.0) * np.maximum(self.units, BINARY) / unit
        spread = np.maximum(np.log2(error * math.sqrt(2 * math.pi)), 0.0)
        found: FloatArray = (
            spread + (off / unit / np.maximum(error, 0.5)) ** 2 * math.log2(math.e) / 2
        )
        return found

    @cached_property
    def bits(self) -> FloatArray:
        """Return the bits of each number in steps of its unit, (lines × positions)."""
        bits: FloatArray = np.log2(1 + np.abs(self.block.low) / self.block.unit)
        return bits

    def weigh(self, total: int, parts: Sequence[int]) -> Support:
        """Return the support of one sum, with no others tried."""
        block, own = self.block, list(parts)
        run = Run(
            block.low[own].sum(axis=0),
            block.high[own].sum(axis=0),
            np.asarray(block.known[own].all(axis=0)),
            (block.known[own] & (block.low[own] != 0)).sum(axis=0),
            len(own),
        )
        return self.support(total, run, -MARGIN_BITS)

    def support(self, total: int, run: Run, tried: float) -> Support:
        """Count the positions that show, leave open or break a sum, and add up the bits shown.

        By chance, a sum takes any of about as many values as its total has units: a shown position
        weighs log2 of their number, less the `surprise` of its rounding. A position with a single
        part that is not zero shows that two lines are equal, and weighs nothing.
        """
        block = self.block
        room = self.tolerance(run.terms)
        slack = self.slack + room
        broken = (run.low > block.high[total] + slack) | (run.high < block.low[total] - slack)
        broken &= block.present[total]
        may_show = ~broken & (block.low[total] != 0)
        shown = block.known[total] & run.known & may_show
        opened = block.present[total] & ~shown & may_show
        weighed = shown & (run.filled >= 2)
        bits = self.bits[total]
        if self.units is not None:
            off = np.where(shown, np.abs(block.low[total] - run.low), 0.0)
            bits = bits - self.surprise(off, run.filled + 1, block.unit[total])
        return Support(
            int(weighed.sum()),
            int(opened.sum() + (shown & ~weighed).sum()),
            int(broken.sum()),
            max(float(bits[weighed].sum()), 0.0),
            tried,
        )


def support_of(block: Intervals, units: FloatArray) -> Support:
    """Return the support of the first line as the sum of all others, with no other sums tried.

    Args:
        units: For each position the unit to which its numbers are rounded; 0 where they are not.
    """
    return SumWeights(block, units).weigh(0, tuple(range(1, len(block.low))))
