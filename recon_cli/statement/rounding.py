"""Counts rounded to multiples of a base."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.chance import Draws
from recon_cli.frames import OPEN
from recon_cli.statement.law import CountLimit, Law


class Rounded(Law):
    """Counts rounded to multiples of a base.

    Attributes:
        base: The base, from 2.
        how: ``nearest``: to the nearest multiple, halves up. ``random``: to one of the two
            neighbouring multiples so that the mean is the count, multiples stay. ``controlled``:
            to one of the two neighbours so that tables stay additive.
    """

    name: ClassVar[str] = "rounded"

    base: CountLimit
    how: Literal["nearest", "random", "controlled"] = "random"

    @property
    def has_cost(self) -> bool:
        return self.how == "random"

    @property
    def keeps_zeros(self) -> bool:
        return True

    def fits(self, published: IntArray) -> BoolArray:
        found: BoolArray = (published >= 0) & (published % self.base == 0)
        return found

    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """Return [c − b + 1, c + b − 1]; to the nearest [c − ⌊b/2⌋, c + ⌈b/2⌉ − 1]; from 0.

        >>> least, most = Rounded(base=3, how="random").intervals(np.array([0, 6]))
        >>> least.tolist(), most.tolist()
        ([0, 4], [2, 8])
        """
        down = up = self.base - 1
        if self.how == "nearest":
            down, up = self.base // 2, (self.base + 1) // 2 - 1
        return np.maximum(published - down, 0), np.minimum(published + up, OPEN)

    def cost(self, published: IntArray, counts: IntArray) -> FloatArray:
        """Return −log(1 − |c − n|/b) for random rounding, else 0 in the interval."""
        if self.how != "random":
            return super().cost(published, counts)
        share = 1 - np.abs(published - counts) / self.base
        with np.errstate(divide="ignore"):
            cost = -np.log(np.maximum(share, 0.0)) + 0.0  # + 0.0: no negative zero
        return np.where(counts >= 0, cost, np.inf)

    def publish(self, counts: IntArray, draws: Draws) -> IntArray:
        if self.how == "controlled":
            raise ValueError("rounded: controlled rounding needs whole tables")
        counts, _ = np.broadcast_arrays(counts, draws.words)
        if self.how == "nearest":
            return (counts + self.base // 2) // self.base * self.base
        rest = counts % self.base
        stays = draws.choose(rest, lambda up: [Fraction(up, self.base)])
        return counts - rest + np.where(stays, 0, self.base)
