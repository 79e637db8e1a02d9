"""Margins of one geounit as a lattice of sums, and intervals propagated over it.

Where counts are intervals a difference of two margins is no value. It stays as a relation, whole =
sum of disjoint parts, and bounds go both ways along all of them: Eq. (lattice).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recon_cli.model.grain import IntArray
from recon_cli.model.margins import Margins, Masks, option_margins
from recon_cli.schema import Release
from recon_cli.statement import OPEN

BoolArray = npt.NDArray[np.bool_]

#: Valid at every sweep; the limit only stops intervals that creep by one person a sweep.
_SWEEPS = 200
#: Numbers in a working array: bounds memory.
_NUMBERS = 8_000_000


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
        shape = (len(low), len(self.masks))
        least = np.zeros(shape, dtype=np.int64)
        most = np.full(shape, OPEN, dtype=np.int64)
        np.maximum.at(least.T, self.node, low.T)
        np.minimum.at(most.T, self.node, high.T)
        if len(self.whole):
            rows = max(_NUMBERS // len(self.part), 1)
            for start in range(0, len(low), rows):
                slab = slice(start, start + rows)
                least[slab], most[slab] = self._propagate(least[slab], most[slab])
        return least, most

    def _propagate(self, least: IntArray, most: IntArray) -> tuple[IntArray, IntArray]:
        """Eq. (lattice), to a fixed point or a contradiction."""
        relation = np.repeat(np.arange(len(self.whole)), np.diff([*self.first, len(self.part)]))
        by_whole, by_part = _Groups.of(self.whole), _Groups.of(self.part)
        for _ in range(_SWEEPS):
            sums_low, sums_high = self._sums(least), self._sums(most)
            lower, upper = least.copy(), most.copy()
            by_whole.raise_to(lower, sums_low)
            by_whole.lower_to(upper, np.minimum(sums_high, OPEN))
            others_low = sums_low[:, relation] - least[:, self.part]
            others_high = sums_high[:, relation] - most[:, self.part]
            whole_high = most[:, self.whole][:, relation]
            room = np.where(whole_high < OPEN, whole_high - others_low, OPEN)
            by_part.raise_to(lower, least[:, self.whole][:, relation] - others_high)
            by_part.lower_to(upper, room)
            done = np.array_equal(lower, least) and np.array_equal(upper, most)
            least, most = lower, upper
            if done or (least > most).any(axis=1).all():
                break
        return least, most

    def needed(self, least: IntArray, most: IntArray) -> BoolArray:
        """(geounits × nodes) which intervals say more than those of their parts, and anything."""
        implied = np.zeros(least.shape, dtype=bool)
        if len(self.whole):
            same = (self._sums(least) == least[:, self.whole]) & (
                np.minimum(self._sums(most), OPEN) == most[:, self.whole]
            )
            np.logical_or.at(implied.T, self.whole, same.T)
        vacuous = (least <= 0) & (most >= OPEN)
        return ~implied & ~vacuous

    def _sums(self, values: IntArray) -> IntArray:
        """(geounits × relations) sums over the parts."""
        sums: IntArray = np.add.reduceat(values[:, self.part], self.first, axis=1)
        return sums


@dataclass(frozen=True)
class _Groups:
    """Columns by the node that they speak of.

    Attributes:
        node: The nodes, each once.
        order: The columns, by node.
        first: For each node its first place in `order`.
    """

    node: IntArray
    order: IntArray
    first: IntArray

    @classmethod
    def of(cls, nodes: IntArray) -> _Groups:
        order = np.argsort(nodes, kind="stable")
        node, first = np.unique(nodes[order], return_index=True)
        return cls(node, order, first)

    def raise_to(self, least: IntArray, values: IntArray) -> None:
        """Raise lower ends, in place."""
        best = np.maximum.reduceat(values[:, self.order], self.first, axis=1)
        least[:, self.node] = np.maximum(least[:, self.node], best)

    def lower_to(self, most: IntArray, values: IntArray) -> None:
        """Lower upper ends, in place."""
        best = np.minimum.reduceat(values[:, self.order], self.first, axis=1)
        most[:, self.node] = np.minimum(most[:, self.node], best)


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
