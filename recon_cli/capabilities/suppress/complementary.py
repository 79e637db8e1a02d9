"""Complementary suppression: for every primary cell other records with the published counts.

Primary cells are processed one after the other. For each that is not protected yet the change of
least cost is found, and the cells that it touches are suppressed, which costs later changes
nothing. Then complementary cells, in order of falling count, are published again if the primary
cells that depend on them have changes without them at a lower cost. The changes prove that no
primary cell is recovered; they do not prove that no other choice suppresses less.

See *complementary suppression* in docs/glossary.md.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.capabilities.suppress.least_change import Change, ChangeProgram, SensitiveCells
from recon_cli.capabilities.suppress.linked_cells import Neighbourhoods
from recon_cli.errors import SolverError

#: Numbers of units that may change beside the cell's own: first mostly a whole district; where no
#: integral change is found, fewer, then more.
_SIZES: Final = (12, 6, 2, 96, 10_000_000)
#: Most changes that are sought to spare one cell.
_RETRIES: Final = 6
#: Primary cells that may lose their protection if one cell is published: where more do, changes
#: without the cell have hardly ever been found.
_EXPOSED: Final = 4
#: Most attempts, and most cells over all attempts.
_STARTS: Final = 48
_CELLS: Final = 750
#: Number of cells up to which cells are spared in all attempts; beyond, only in the best attempts,
#: because sparing takes most of the time.
_FEW: Final = 40
#: Work of sparing cells, in attempts.
_SPARING: Final = 1
#: Cells of the programs that are kept.
_KEPT: Final = 60_000
#: Neighbourhoods whose columns are kept.
_KNOWN: Final = 1_000
#: Most columns of a neighbourhood that a program has whole. For a larger one it has the columns
#: with people, and `_SAMPLE` others, both of the cell's own and of all.
_COLUMNS: Final = 3_000
_SAMPLE: Final = 400


class KnownChanges:
    """The changes so far.

    Attributes:
        protecting: Number of changes that protect each cell.
        touching: Number of changes that touch each cell.
    """

    def __init__(self, width: int) -> None:
        self.protecting = np.zeros(width, dtype=np.int64)
        self.touching = np.zeros(width, dtype=np.int64)
        self._changes: dict[int, Change] = {}
        self._at: list[set[int]] = [set() for _ in range(width)]
        self._next = 0

    def add(self, change: Change) -> None:
        self._changes[self._next] = change
        for cell in change.touched.tolist():
            self._at[cell].add(self._next)
        self._next += 1
        self.touching[change.touched] += 1
        self.protecting[change.protected] += 1

    def remove_touching(self, cell: int) -> None:
        for number in sorted(self._at[cell]):
            change = self._changes.pop(number)
            for touched in change.touched.tolist():
                self._at[touched].discard(number)
            self.touching[change.touched] -= 1
            self.protecting[change.protected] -= 1

    def without(self, cell: int) -> tuple[IntArray, IntArray]:
        """Return the cells touched, and those protected, only by changes that touch ``cell``.

        The touched cells are sorted; the protected ones are in the order of their changes.
        """
        gone = [self._changes[number] for number in sorted(self._at[cell])]
        freed = _all_of(self.touching, [change.touched for change in gone])
        protected = [change.protected for change in gone]
        exposed = _all_of(self.protecting, protected)
        cells, first = np.unique(np.concatenate(protected), return_index=True)
        return freed, exposed[np.argsort(first[np.isin(cells, exposed)])]


def _all_of(number: IntArray, found: Sequence[IntArray]) -> IntArray:
    """Return the sorted cells all of whose ``number`` changes are found."""
    cells, times = np.unique(np.concatenate(found), return_counts=True)
    every: IntArray = cells[times == number[cells]]
    return every


def choose_complementary(
    cells: SensitiveCells,
    units: Neighbourhoods,
    cost: FloatArray,
    random: np.random.Generator,
    *,
    effort: float = np.inf,
    on_share: Callable[[float], None] = lambda _: None,
) -> BoolArray:
    """Choose cells to suppress besides the primary ones.

    Args:
        cells: Cells of one region.
        cost: Cost of suppressing each cell, at least 0.
        random: Random orders of the primary cells, and costs to try besides.
        effort: Deterministic seconds, after which nothing further is tried: cells stay suppressed
            that might have been spared.
        on_share: Called from time to time with the finished share of the work.

    Returns:
        A mask of all cells, true for those suppressed to protect primary ones.
    """
    programs = _Programs(cells, units, effort)
    number = len(cells.values)
    starts = int(np.clip(_CELLS // max(number, 1), 1, _STARTS))
    spared = max(starts // (1 + number // _FEW) ** 2, 1)
    work = starts + _SPARING * spared

    def price(search: _Search) -> float:
        return float(cost[search.hidden].sum())

    blocks = units.blocks(cells.rows)

    def by_block(some: IntArray) -> IntArray:
        return some[np.argsort(blocks[some], kind="stable")]

    primary = np.flatnonzero(cells.is_primary)
    order = by_block(primary[np.argsort(-cells.values[primary], kind="stable")])
    spared_first = by_block(np.argsort(-cells.values, kind="stable"))
    spared_first = spared_first[~cells.is_primary[spared_first]]
    best: list[_Search] = []
    for start in range(starts):
        if best and programs.left <= 0:
            break
        tried = cost if not start else cost * random.uniform(0.5, 1.5, len(cost))
        search = _Search(cells, programs, tried, random)
        for share in search.protect_all(order):
            on_share((start + share) / work)
        best = sorted([*best, search], key=price)[:spared]
        order = by_block(random.permutation(primary))
    for at, search in enumerate(best):
        if spared == 1:
            search.cost = cost
        for share in search.spare_all(spared_first):
            on_share((starts + _SPARING * (at + share)) / work)
    on_share(1.0)
    hidden = min(best, key=price).hidden
    complementary: BoolArray = hidden & ~cells.is_primary
    return complementary


class _Programs:
    """A cache of the latest neighbourhoods' programs, which are often needed again."""

    def __init__(self, cells: SensitiveCells, units: Neighbourhoods, effort: float) -> None:
        self.cells, self.units, self.left = cells, units, effort
        self._height = 0
        self._kept: OrderedDict[bytes, ChangeProgram] = OrderedDict()
        self._around: dict[tuple[bytes, int, int], IntArray] = {}

    def of(self, target: int, size: int) -> ChangeProgram:
        """Return the program of a cell's own units and some similar ones."""
        rows = self.cells.rows
        own = rows.indices[rows.indptr[target] : rows.indptr[target + 1]].astype(np.int64)
        columns = self._columns(own, size, int(self.units.level[target]))
        if len(columns) > _COLUMNS:
            columns = self._some(columns, own, target)
        key = columns.tobytes()
        if key not in self._kept:
            self._kept[key] = ChangeProgram(self.cells, columns)
            self._height += self._kept[key].height
            while self._height > _KEPT and len(self._kept) > 1:
                self._height -= self._kept.popitem(last=False)[1].height
        self._kept.move_to_end(key)
        return self._kept[key]

    def _columns(self, own: IntArray, size: int, level: int) -> IntArray:
        units = self.units.of_columns(own)
        key = (units.tobytes(), size, level)
        if key not in self._around:
            if len(self._around) == _KNOWN:
                self._around.clear()
            self._around[key] = self.units.around(units, size, level)
        return self._around[key]

    def _some(self, columns: IntArray, own: IntArray, target: int) -> IntArray:
        """Sample columns with people, and others; for an empty cell, its own among them."""
        random = np.random.default_rng(target)
        inhabited = columns[self.cells.known[columns] > 0]
        sample = (random.permutation(each)[:_SAMPLE] for each in (own, columns))
        return np.unique(np.concatenate([inhabited, *sample]))


class _Search:
    """The suppressed cells so far, and the changes that protect the primary ones."""

    def __init__(
        self,
        cells: SensitiveCells,
        programs: _Programs,
        cost: FloatArray,
        random: np.random.Generator,
    ) -> None:
        self.cells, self.programs, self.cost, self.random = cells, programs, cost, random
        self.hidden = cells.is_primary.copy()
        self.changes = KnownChanges(len(cells.values))

    def protect_all(self, order: IntArray) -> Iterator[float]:
        """Protect the primary cells in some order; yield the finished share from time to time."""
        for done, target in enumerate(order.tolist()):
            if not self.changes.protecting[target]:
                self.protect(target)
                yield done / len(order)

    def protect(self, target: int) -> None:
        """Suppress the cells that the cheapest change of a cell touches."""
        change = self._least_change(target, _SIZES)
        if change is None:  # one more person like those in the cell is always possible
            change = Change.of(self.cells, self._one_more(target))
        self.hidden[change.touched] = True
        self.changes.add(change)

    def _least_change(
        self, target: int, sizes: Sequence[int], barred: int = -1, ceiling: float = np.inf
    ) -> Change | None:
        """Find the change in the first neighbourhood that has one without a barred cell."""
        for size in sizes:
            program = self.programs.of(target, size)
            cost = np.where(self.hidden[program.at], 0.0, self.cost[program.at])
            cost[program.at == barred] = np.inf
            change, elapsed = program.least(target, cost, ceiling)
            self.programs.left -= elapsed
            if change is not None:
                return change
        return None

    def _one_more(self, target: int) -> IntArray:
        """Add as many equal people to a cell as the safety range requires.

        If the columns are clique tables, such a person is in one cell of each table: tables are
        made to agree, from clique to clique along the tree, by moving people already there.

        Raises:
            SolverError: Nobody can be in the cell.
        """
        cells = self.cells
        own = cells.rows.indices[cells.rows.indptr[target] : cells.rows.indptr[target + 1]]
        people = np.zeros(len(cells.known), dtype=np.int64)
        people[own[np.argmax(cells.known[own])]] = cells.safety
        while cells.agreement is not None:
            missing = cells.agreement @ people
            differing = np.flatnonzero(missing)
            if not len(differing):
                break
            row = cells.agreement[[int(differing[0])]]
            amount = int(missing[differing[0]])
            other = row.indices[row.data * np.sign(amount) < 0]
            if not len(other):
                raise SolverError("suppress: no record can be in a cell that is to be protected")
            people[other[np.argmax(cells.known[other])]] += abs(amount)
        return people

    def spare_all(self, order: IntArray) -> Iterator[float]:
        """Publish complementary cells again where possible; yield the finished share."""
        for done, cell in enumerate(order.tolist()):
            if self.programs.left <= 0:
                return
            if self.hidden[cell]:
                self.spare(cell)
                yield done / len(order)

    def _price(self, change: Change) -> float:
        """Return the cost of the published cells that a change touches."""
        return float(self.cost[change.touched[~self.hidden[change.touched]]].sum())

    def spare(self, cell: int) -> None:
        """Publish a complementary cell, if changes without it cost less in total."""
        freed, exposed = self.changes.without(cell)
        if len(exposed) > _EXPOSED:
            return
        freed = freed[~self.cells.is_primary[freed]]
        left = float(self.cost[freed].sum())
        self.hidden[freed] = False
        found: list[Change] = []
        while len(exposed):
            target = int(exposed[0])
            change = self._least_change(target, _SIZES[:1], cell, left)
            if change is not None:
                left -= self._price(change)
            if change is None or len(found) == _RETRIES or left <= 0:
                self._hide_again(freed, found)
                return
            self.hidden[change.touched] = True
            found.append(change)
            exposed = exposed[~np.isin(exposed, change.protected)]
        self.changes.remove_touching(cell)
        for change in found:
            self.changes.add(change)

    def _hide_again(self, freed: IntArray, found: Iterable[Change]) -> None:
        """Undo an attempt to publish cells."""
        for change in found:
            self.hidden[change.touched] = self.cells.is_primary[change.touched] | (
                self.changes.touching[change.touched] > 0
            )
        self.hidden[freed] = True
