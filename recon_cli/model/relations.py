"""Relations between counts, whole = sum of disjoint parts, and intervals propagated along them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.frames import OPEN

#: Valid at every sweep; the limit only stops intervals that creep by one person a sweep.
_SWEEPS = 200


@dataclass(frozen=True)
class Relations:
    """Counts that are sums of others.

    Attributes:
        whole: For each relation the count that is the sum.
        part: The counts that it sums, relation by relation.
        first: For each relation the place of its first part in `part`.
    """

    whole: IntArray
    part: IntArray
    first: IntArray

    def tighten(
        self, least: IntArray, most: IntArray, groups: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Eq. (lattice), to a fixed point or a contradiction.

        Only relations of which some end has changed are looked at again.

        Args:
            least: Least value of each count.
            most: The greatest, `OPEN` where there is none.
            groups: For each count the group of counts that it is related to; no relation of a
                group in which ends have crossed is looked at again.
        """
        least, most = least.copy(), most.copy()
        open_ones = active = self
        for sweep in range(_SWEEPS):
            if not len(active.whole):
                break
            lower, upper = least.copy(), most.copy()
            active._sweep(least, most)
            changed = (least != lower) | (most != upper)
            crossed = least > most
            if crossed.any():
                changed &= ~np.isin(groups, groups[crossed])
            active = open_ones._touching(changed)
            if sweep == 0:
                open_ones = self._touching(least < most)
        return least, most

    def implied(self, least: IntArray, most: IntArray) -> BoolArray:
        """For each count whether its interval is the sum of those of the parts of a relation."""
        found = np.zeros(len(least), dtype=bool)
        if len(self.whole):
            sums_low, sums_high = self._sums(least), self._sums(most)
            same = (sums_low == least[self.whole]) & (
                np.minimum(sums_high, OPEN) == most[self.whole]
            )
            found[self.whole[same]] = True
        return found

    def _sweep(self, least: IntArray, most: IntArray) -> None:
        """All relations once, in place: wholes from their parts, then parts from what is left."""
        part_low, part_high = least.take(self.part), most.take(self.part)
        sums_low = np.add.reduceat(part_low, self.first)
        sums_high = np.add.reduceat(part_high, self.first)
        np.maximum.at(least, self.whole, sums_low)
        np.minimum.at(most, self.whole, sums_high)
        # What a whole leaves to a part is the part's own other end and the relation's room.
        whole_low, whole_high = least.take(self.whole), most.take(self.whole)
        room = np.where(whole_high < OPEN, whole_high - sums_low, OPEN)
        part_high += np.repeat(whole_low - sums_high, self._sizes)
        part_low += np.repeat(room, self._sizes)
        np.maximum.at(least, self.part, part_high)
        np.minimum.at(most, self.part, part_low)

    def _sums(self, values: IntArray) -> IntArray:
        sums: IntArray = np.add.reduceat(values[self.part], self.first)
        return sums

    def _touching(self, counts: BoolArray) -> Relations:
        """The relations of some counts; all where these are most."""
        kept = counts.take(self.whole)
        kept |= np.bitwise_or.reduceat(counts.take(self.part), self.first)
        if 2 * np.count_nonzero(kept) > len(kept):
            return self
        sizes = self._sizes
        touched = np.flatnonzero(kept)
        sizes = self._sizes[touched]
        first = np.cumsum(sizes) - sizes
        entry = np.arange(int(sizes.sum())) + np.repeat(self.first[touched] - first, sizes)
        return Relations(self.whole[touched], self.part[entry], first)

    @cached_property
    def _sizes(self) -> IntArray:
        return np.diff(np.append(self.first, len(self.part)))
