"""Complementary suppression: for every primary cell other records with the published counts.

Primary cells are taken one after the other, and for each that is not protected yet the change of
least cost is found; what it touches is suppressed, which costs later changes nothing. Then
complementary cells are spared, those of the greatest count first, where the primary cells that
depend on one have changes that do without and cost less. The changes are the proof that no primary
cell is recovered; that no other choice suppresses less is not shown.

See *complementary suppression* in docs/glossary.md.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from recon_cli.protect.least_change import SensitiveCells, least_change
from recon_cli.protect.neighbourhoods import Neighbourhoods
from recon_cli.statement.law import BoolArray, FloatArray, IntArray

#: Units beside the cell's own that may change with them, and how often more are tried.
_SIZES: Final = (6, 24, 96, 10_000_000)
#: Changes that may be looked for to spare one cell.
_RETRIES: Final = 6
#: Attempts where there are few cells, and the cells of all of them.
_STARTS: Final = 24
_CELLS: Final = 1_000


def choose_complementary(
    cells: SensitiveCells, units: Neighbourhoods, cost: FloatArray, random: np.random.Generator
) -> BoolArray:
    """Cells to suppress besides the primary ones.

    Args:
        cells: Of one region.
        units: Its units.
        cost: Of suppressing each cell, at least 0.
        random: Of orders of the primary cells and of costs that are tried besides.

    Returns:
        Of all cells, those that are suppressed to protect primary ones.

    """
    primary = np.flatnonzero(cells.is_primary)
    order = primary[np.argsort(-cells.values[primary], kind="stable")]
    found = [_Search(cells, units, cost, random).complementary(order)]
    for _ in range(int(np.clip(_CELLS // max(len(cells.values), 1), 1, _STARTS)) - 1):
        other_cost = cost * random.uniform(0.5, 1.5, len(cost))
        search = _Search(cells, units, other_cost, random)
        found.append(search.complementary(random.permutation(primary)))
    return min(found, key=lambda hidden: float(cost[hidden].sum()))


class _Search:
    """The suppressed cells so far, and the changes that protect the primary ones."""

    def __init__(
        self,
        cells: SensitiveCells,
        units: Neighbourhoods,
        cost: FloatArray,
        random: np.random.Generator,
    ) -> None:
        self.cells, self.units, self.cost, self.random = cells, units, cost, random
        self.hidden = cells.is_primary.copy()
        self.touched: BoolArray = np.empty((0, len(cells.values)), dtype=bool)
        self.protected: BoolArray = self.touched
        #: How many changes protect each cell.
        self.times = np.zeros(len(cells.values), dtype=np.int64)

    def complementary(self, order: IntArray) -> BoolArray:
        """Protect the primary cells in some order, then spare what can be."""
        for target in order.tolist():
            if not self.times[target]:
                self.protect(target)
        for cell in np.argsort(-self.cells.values, kind="stable").tolist():
            if self.hidden[cell] and not self.cells.is_primary[cell]:
                self.spare(cell)
        complementary: BoolArray = self.hidden & ~self.cells.is_primary
        return complementary

    def protect(self, target: int) -> None:
        """Suppress what the cheapest change of a cell touches."""
        own = self._columns(target)
        cost = np.where(self.hidden, 0.0, self.cost)
        for size in _SIZES:
            columns = self.units.around(own, size)
            change = least_change(self.cells, target, self.hidden, columns, cost)
            if change is not None:
                break
        else:
            # One more person like those in the cell is always possible.
            change = np.zeros(len(self.cells.known), dtype=np.int64)
            change[own[0]] = self.cells.safety
        touched, protected = self._effect(change)
        self.hidden |= touched
        self._keep([touched], [protected])

    def spare(self, cell: int) -> None:
        """Publish a complementary cell, if changes that leave it alone cost less altogether."""
        stays = ~self.touched[:, cell]
        hidden = self.cells.is_primary | self.touched[stays].any(axis=0)
        lost = self.protected[~stays].sum(axis=0)
        exposed = (self.times > 0) & (self.times == lost)
        touched: list[BoolArray] = []
        protected: list[BoolArray] = []
        before = self.cost @ self.hidden
        while exposed.any():
            cost = np.where(hidden, 0.0, self.cost)
            cost[cell] = np.inf
            target = int(self.random.choice(np.flatnonzero(exposed)))
            columns = self.units.around(self._columns(target), _SIZES[0])
            change = least_change(self.cells, target, hidden, columns, cost)
            if change is None:
                return
            effect = self._effect(change)
            hidden = hidden | effect[0]
            if len(touched) == _RETRIES or self.cost @ hidden >= before:
                return
            touched.append(effect[0])
            protected.append(effect[1])
            exposed &= ~effect[1]
        self.hidden = hidden
        self.times -= lost
        self.touched, self.protected = self.touched[stays], self.protected[stays]
        if touched:
            self._keep(touched, protected)

    def _columns(self, cell: int) -> IntArray:
        rows = self.cells.rows
        return np.sort(rows.indices[rows.indptr[cell] : rows.indptr[cell + 1]]).astype(np.int64)

    def _effect(self, change: IntArray) -> tuple[BoolArray, BoolArray]:
        """The cells that a change touches, and the primary ones that it protects."""
        difference = np.abs(self.cells.rows @ change)
        protected = self.cells.is_primary & (difference >= self.cells.safety)
        return self.cells.touched(change), protected

    def _keep(self, touched: list[BoolArray], protected: list[BoolArray]) -> None:
        self.touched = np.vstack([self.touched, *touched])
        self.protected = np.vstack([self.protected, *protected])
        self.times += np.sum(protected, axis=0, dtype=np.int64)
