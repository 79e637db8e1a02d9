"""Margins of one geounit as a lattice of sums, and intervals propagated over it.

Where counts are intervals a difference of two margins is no value. It stays as a relation, whole =
sum of disjoint parts, and bounds go both ways along all of them: Eq. (lattice).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.model.grain import IntArray
from recon_cli.model.margins import Margins, Masks, option_margins
from recon_cli.schema import Release
from recon_cli.statement import OPEN

BoolArray = npt.NDArray[np.bool_]

#: Valid at every sweep; the limit only stops intervals that creep by one person a sweep.
_SWEEPS = 200
#: Geounits at a time: their intervals stay in the processor's cache.
_GEOUNITS = 128


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

    def intervals(self, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
        """Intervals of all nodes from those of the published cells.

        Args:
            low: (geounits × published cells) least counts.
            high: The greatest, `OPEN` where there is none.

        Returns:
            (geounits × nodes) least and greatest counts that all relations allow. They cross
            where the statements of a geounit contradict each other.
        """
        shape = (len(self.masks), len(low))
        least = np.zeros(shape, dtype=np.int64)
        most = np.full(shape, OPEN, dtype=np.int64)
        self._by_node.raise_to(least, low.T)
        self._by_node.lower_to(most, high.T)
        if len(self.whole):
            for start in range(0, len(low), _GEOUNITS):
                slab = slice(start, start + _GEOUNITS)
                least[:, slab], most[:, slab] = self._propagate(least[:, slab], most[:, slab])
        return np.ascontiguousarray(least.T), np.ascontiguousarray(most.T)

    def _propagate(self, least: IntArray, most: IntArray) -> tuple[IntArray, IntArray]:
        """Eq. (lattice), of (nodes × geounits), to a fixed point or a contradiction.

        A geounit whose intervals no longer change is not looked at again.
        """
        least, most = least.copy(), most.copy()
        busy = np.arange(least.shape[1])
        lower, upper = least, most
        for _ in range(_SWEEPS):
            sums_low, sums_high = self._sums @ lower, self._sums @ upper
            whole_low, whole_high = lower[self.whole], upper[self.whole]
            room = np.where(whole_high < OPEN, whole_high - sums_low, OPEN)
            raised, lowered = lower.copy(), upper.copy()
            self._by_whole.raise_to(raised, sums_low)
            self._by_whole.lower_to(lowered, sums_high)
            # What a whole leaves to a part is the part's own other end and the relation's room.
            self._by_part.raise_to(raised, whole_low - sums_high, upper)
            self._by_part.lower_to(lowered, room, lower)
            changed = ((raised != lower) | (lowered != upper)).any(axis=0)
            changed &= (raised <= lowered).all(axis=0)
            least[:, busy], most[:, busy] = raised, lowered
            busy = busy[changed]
            if not len(busy):
                break
            lower, upper = raised[:, changed], lowered[:, changed]
        return least, most

    def needed(self, least: IntArray, most: IntArray) -> BoolArray:
        """(geounits × nodes) which intervals say more than those of their parts, and anything."""
        implied = np.zeros(least.shape, dtype=bool)
        if len(self.whole):
            sums_low, sums_high = self._sums @ least.T, self._sums @ most.T
            same = sums_low == least.T[self.whole]
            same &= np.minimum(sums_high, OPEN) == most.T[self.whole]
            self._by_whole.raise_to(implied.T, same)
        vacuous = (least <= 0) & (most >= OPEN)
        return ~implied & ~vacuous

    @cached_property
    def _sums(self) -> sparse.csr_array:
        """Sparse (relations × nodes): the parts of each relation."""
        ends = np.append(self.first, len(self.part))
        entries = (np.ones(len(self.part), dtype=np.int64), self.part, ends)
        return sparse.csr_array(entries, shape=(len(self.whole), len(self.masks)))

    @cached_property
    def _by_node(self) -> _Extremes:
        return _Extremes.of(self.node, np.arange(len(self.node)))

    @cached_property
    def _by_whole(self) -> _Extremes:
        return _Extremes.of(self.whole, np.arange(len(self.whole)))

    @cached_property
    def _by_part(self) -> _Extremes:
        sizes = np.diff(np.append(self.first, len(self.part)))
        return _Extremes.of(self.part, np.repeat(np.arange(len(self.whole)), sizes))


@dataclass(frozen=True)
class _Extremes:
    """The least and the greatest over the relations that each node is in.

    Attributes:
        node: The nodes, each once, those in most relations first.
        layers: The first relation of each node, the second of those that have one, and so on.
    """

    node: IntArray
    layers: tuple[IntArray, ...]

    @classmethod
    def of(cls, nodes: IntArray, relations: IntArray) -> _Extremes:
        order = np.argsort(nodes, kind="stable")
        node, first, number = np.unique(nodes[order], return_index=True, return_counts=True)
        falling = np.argsort(-number, kind="stable")
        first, number = first[falling], number[falling]
        layers = [relations[order[first[number > k] + k]] for k in range(int(number.max()))]
        return cls(node[falling], tuple(layers))

    def raise_to(self, least: IntArray, values: IntArray, more: IntArray | None = None) -> None:
        """Raise lower ends, in place, to (relations × geounits) ``values``, plus ``more``."""
        best = self._over_layers(np.maximum, values)
        if more is not None:
            best += more[self.node]
        least[self.node] = np.maximum(least[self.node], best)

    def lower_to(self, most: IntArray, values: IntArray, more: IntArray | None = None) -> None:
        """Lower upper ends, in place; see `raise_to`."""
        best = self._over_layers(np.minimum, values)
        if more is not None:
            best += more[self.node]
        most[self.node] = np.minimum(most[self.node], best)

    def _over_layers(self, best_of: np.ufunc, values: IntArray) -> IntArray:
        best: IntArray = values[self.layers[0]]
        for layer in self.layers[1:]:
            inside = best[: len(layer)]
            best_of(inside, values[layer], out=inside)
        return best


def make_lattice(release: Release, margins: Margins) -> Lattice:
    """The lattice of a pattern's margins and tallies.

    Args:
        release: Gives the cells' predicates.
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
        options = option_margins(masks, feature, release)
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
