"""The lattice of a geounit's margins, and propagation of intervals along its relations.

Where counts are intervals a difference of two margins has no value. It stays as a relation, whole =
sum of disjoint parts, and bounds propagate in both directions along all relations: Eq. (lattice).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recon_cli.arrays import BoolArray, IntArray, WordArray, ranges
from recon_cli.frames import OPEN
from recon_cli.model.margins import Margins, predicates
from recon_cli.model.predicates import Masks
from recon_cli.schema import Release

#: Most sweeps. Intervals are valid after every sweep, but may creep by one person a sweep.
_SWEEPS = 200


@dataclass(frozen=True)
class Relations:
    """Equations between counts: each whole is the sum of its parts.

    Attributes:
        whole: For each relation the count that is the sum.
        part: The counts that are summed, relation by relation.
        first: For each relation the place of its first part in `part`.
    """

    whole: IntArray
    part: IntArray
    first: IntArray

    def tighten(
        self, least: IntArray, most: IntArray, groups: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Apply Eq. (lattice), to a fixed point or a contradiction.

        Only relations with a changed bound are processed again.

        Args:
            least: Least value of each count.
            most: The greatest, `OPEN` where there is none.
            groups: For each count its group, which no relation leaves. A group in which bounds
                have crossed is not processed again.
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
        """Test which intervals are the sum of the parts' intervals in some relation."""
        found = np.zeros(len(least), dtype=bool)
        if len(self.whole):
            sums_low, sums_high = self._sums(least), self._sums(most)
            same = (sums_low == least[self.whole]) & (
                np.minimum(sums_high, OPEN) == most[self.whole]
            )
            found[self.whole[same]] = True
        return found

    def _sweep(self, least: IntArray, most: IntArray) -> None:
        """Apply all relations once, in place: wholes from parts, then parts from the remainder."""
        part_low, part_high = least.take(self.part), most.take(self.part)
        sums_low = np.add.reduceat(part_low, self.first)
        sums_high = np.add.reduceat(part_high, self.first)
        np.maximum.at(least, self.whole, sums_low)
        np.minimum.at(most, self.whole, sums_high)
        # A part is at most its own least value and the relation's room; from below likewise.
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
        """Return the relations that contain some of the counts, or all if these are most."""
        kept = counts.take(self.whole)
        kept |= np.bitwise_or.reduceat(counts.take(self.part), self.first)
        if 2 * np.count_nonzero(kept) > len(kept):
            return self
        touched = np.flatnonzero(kept)
        sizes = self._sizes[touched]
        parts = self.part[ranges(self.first[touched], sizes)]
        return Relations(self.whole[touched], parts, np.cumsum(sizes) - sizes)

    @cached_property
    def _sizes(self) -> IntArray:
        return np.diff(np.append(self.first, len(self.part)))


#: Geounits processed at a time, so that their arrays stay in the processor's cache.
_GEOUNITS = 256


@dataclass(frozen=True)
class NodeIntervals:
    """The intervals that all relations allow for the nodes of some geounits.

    Attributes:
        least: (geounits × nodes) least counts.
        most: Greatest counts. They cross where the statements of a geounit contradict each other.
        needed: Mask of intervals that exclude a number and do not follow from the parts' intervals.
    """

    least: IntArray
    most: IntArray
    needed: BoolArray


@dataclass(frozen=True)
class Lattice:
    """Margins and tallies of a coverage pattern, and their relations: Eq. (lattice).

    Attributes:
        masks: Predicate of each node.
        tally: For each node the index of the tallied feature, or None where people count.
        node: For each published cell of the pattern its node.
        whole: For each relation the node that is the sum.
        part: Nodes of the parts, relation by relation.
        first: For each relation the place of its first part in `part`.
    """

    masks: tuple[Masks, ...]
    tally: tuple[int | None, ...]
    node: IntArray
    whole: IntArray
    part: IntArray
    first: IntArray

    def intervals(self, low: IntArray, high: IntArray) -> NodeIntervals:
        """Compute intervals of all nodes from those of the published cells.

        Args:
            low: (geounits × published cells) least counts.
            high: The greatest, `OPEN` where there is none.
        """
        shape = (len(low), len(self.masks))
        least = np.zeros(shape, dtype=np.int64)
        most = np.full(shape, OPEN, dtype=np.int64)
        for cells in layers_of(self.node):
            nodes = self.node[cells]
            least[:, nodes] = np.maximum(least[:, nodes], low[:, cells])
            most[:, nodes] = np.minimum(most[:, nodes], high[:, cells])
        needed = np.ones(shape, dtype=bool)
        if len(self.whole):
            for start in range(0, len(low), _GEOUNITS):
                slab = slice(start, start + _GEOUNITS)
                self._propagate(least[slab], most[slab], needed[slab])
        needed &= (least > 0) | (most < OPEN)
        return NodeIntervals(least, most, needed)

    def _propagate(self, least: IntArray, most: IntArray, needed: BoolArray) -> None:
        """Apply Eq. (lattice), in place, over the nodes that may count somebody."""
        live = self._live(most)
        place = np.flatnonzero(live)
        relations = self._relations(live)
        geounit = place // live.shape[1]
        lower, upper = relations.tighten(least.take(place), most.take(place), geounit)
        most[~live] = 0
        needed[:, self.whole] = False
        np.put(least, place, lower)
        np.put(most, place, upper)
        np.put(needed, place, ~relations.implied(lower, upper))

    def _live(self, most: IntArray) -> BoolArray:
        """Return a (geounits × nodes) mask of nodes that no zeros exclude."""
        zero = np.zeros((len(self.masks), -(-len(most) // 64) * 64), dtype=bool)
        zero[:, : len(most)] = (most == 0).T
        dead = np.packbits(zero, axis=1).view(np.uint64)
        number = -1
        while (now := int(np.bitwise_count(dead).sum())) > number:
            number = now
            parts = np.bitwise_and.reduceat(dead[self.part], self.first, axis=0)
            self._by_whole.join(dead, parts)
            self._by_part.join(dead, dead[self.whole])
        bits = np.unpackbits(dead.view(np.uint8), axis=1, count=len(most))
        return np.ascontiguousarray(bits.T == 0)

    def _relations(self, live: BoolArray) -> Relations:
        """Return the relations of each geounit between its live nodes, numbered in their order."""
        width = live.shape[1]
        number = np.cumsum(live.ravel(), dtype=np.int64) - 1
        geounit, relation = np.divmod(np.flatnonzero(live[:, self.whole]), len(self.whole))
        sizes = self._sizes[relation]
        first = np.cumsum(sizes) - sizes
        parts = self.part[ranges(self.first[relation], sizes)]
        place = np.repeat(geounit * width, sizes) + parts
        inside = live.ravel()[place]
        sizes = np.add.reduceat(inside, first, dtype=np.int64)
        return Relations(
            whole=number[geounit * width + self.whole[relation]],
            part=number[place[inside]],
            first=np.cumsum(sizes) - sizes,
        )

    @cached_property
    def _sizes(self) -> IntArray:
        """Count the parts of each relation."""
        return np.diff(np.append(self.first, len(self.part)))

    @cached_property
    def _by_whole(self) -> _ByNode:
        return _ByNode.of(self.whole, np.arange(len(self.whole)))

    @cached_property
    def _by_part(self) -> _ByNode:
        return _ByNode.of(self.part, np.repeat(np.arange(len(self.whole)), self._sizes))


def layers_of(nodes: IntArray) -> list[IntArray]:
    """List the first published cell of every node, then the second of nodes with two, and so on.

    Args:
        nodes: For each published cell its node.
    """
    order = np.argsort(nodes, kind="stable")
    _, first, number = np.unique(nodes[order], return_index=True, return_counts=True)
    return [order[first[number > k] + k] for k in range(int(number.max(initial=0)))]


@dataclass(frozen=True)
class _ByNode:
    """The relations of each node.

    Attributes:
        node: The nodes, sorted.
        relation: The relations of the first node, those of the second, and so on.
        first: For each node the place of its first relation in `relation`.
    """

    node: IntArray
    relation: IntArray
    first: IntArray

    @classmethod
    def of(cls, nodes: IntArray, relations: IntArray) -> _ByNode:
        order = np.argsort(nodes, kind="stable")
        node, first = np.unique(nodes[order], return_index=True)
        return cls(node, relations[order], first)

    def join(self, words: WordArray, of_relation: WordArray) -> None:
        """Set, in place, those bits of each node that one of its relations has."""
        words[self.node] |= np.bitwise_or.reduceat(of_relation[self.relation], self.first, axis=0)


def make_lattice(release: Release, margins: Margins) -> Lattice:
    """Build the lattice of a pattern's margins and tallies.

    Args:
        margins: Closed under differences; only their relations are used, no values.
    """
    nodes: dict[tuple[Masks, int | None], int] = {}
    for masks in margins.known:
        nodes[masks, None] = len(nodes)
    for key in margins.tallies:
        nodes[key] = len(nodes)
    relations = {
        (nodes[whole, None], tuple(nodes[part, None] for part in parts))
        for whole, parts in margins.relations
    }
    for masks, feature in margins.tallies:
        options = predicates(masks, feature, release)
        if all((option, None) in nodes for option in options):
            relations.add((nodes[masks, feature], tuple(nodes[option, None] for option in options)))
    cells = [release.table_by_name[table].cells[number - 1] for table, number in margins.columns]
    return _assembled(nodes, [nodes[cell.masks, cell.tally] for cell in cells], sorted(relations))


def _assembled(
    nodes: dict[tuple[Masks, int | None], int],
    published: Sequence[int],
    relations: Sequence[tuple[int, tuple[int, ...]]],
) -> Lattice:
    sizes = np.array([len(parts) for _, parts in relations], dtype=np.int64)
    return Lattice(
        masks=tuple(masks for masks, _ in nodes),
        tally=tuple(tally for _, tally in nodes),
        node=np.array(published, dtype=np.int64),
        whole=np.array([whole for whole, _ in relations], dtype=np.int64),
        part=np.array([part for _, parts in relations for part in parts], dtype=np.int64),
        first=np.cumsum(sizes) - sizes,
    )
