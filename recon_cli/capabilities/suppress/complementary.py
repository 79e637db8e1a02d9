"""Complementary suppression: for every primary cell other records with the published counts.

Primary cells are processed one after the other. For each that is not protected yet the change of
least cost is found, and the cells that it touches are suppressed, which costs later changes
nothing. Then complementary cells are published again, those of the greatest count first, if the
primary cells that depend on one have changes without it at a lower cost. The changes prove that no
primary cell is recovered; they do not prove that no other choice suppresses less.

See *complementary suppression* in docs/glossary.md.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.capabilities.suppress.least_change import ChangeProgram, SensitiveCells
from recon_cli.capabilities.suppress.linked_cells import Neighbourhoods
from recon_cli.errors import SolverError

#: Units beside the cell's own that may change with them, and how often more are tried.
_SIZES: Final = (6, 24, 96, 10_000_000)
#: A region of so few units can afford the second size where a cell is to be published again.
_FEW_UNITS: Final = 48
#: Changes that may be looked for to spare one cell.
_RETRIES: Final = 6
#: Attempts where there are few cells, and the cells of all of them.
_STARTS: Final = 48
_CELLS: Final = 1_500
#: Cells that are spared in all attempts, where there are no more; where there are, in the best.
#: That takes most of the time.
_FEW: Final = 40
#: Work of sparing cells, in attempts.
_SPARING: Final = 4
#: Cells of the programs that are kept.
_KEPT: Final = 200_000
#: Columns of a region that all programs have; where there are more, a program has those with people
#: and this many others, once of the cell's own and once of all.
_COLUMNS: Final = 3_000
_SAMPLE: Final = 400


@dataclass(frozen=True)
class Change:
    """A change to other records with the same counts except in some cells.

    Attributes:
        touched: The cells that have another count then, rising.
        protected: The primary cells among them whose count is the safety range away, rising.
    """

    touched: IntArray
    protected: IntArray

    @classmethod
    def of(cls, cells: SensitiveCells, people: IntArray) -> Change:
        """Apply a change of each column's people to the cells.

        Raises:
            ValueError: There are no such records, or a flag would not be true of them.
        """
        difference = cells.difference(people)
        protected = cells.is_primary & (np.abs(difference) >= cells.safety)
        return cls(np.flatnonzero(difference), np.flatnonzero(protected))


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

    def without(self, cell: int) -> tuple[BoolArray, BoolArray]:
        """Return the cells that changes without a cell touch, and those that lose protection."""
        gone = [self._changes[number] for number in sorted(self._at[cell])]
        touching = self.touching - self._times(change.touched for change in gone)
        lost = self._times(change.protected for change in gone)
        return touching > 0, (lost > 0) & (lost == self.protecting)

    def _times(self, cells: Iterable[IntArray]) -> IntArray:
        return np.bincount(np.concatenate(list(cells)), minlength=len(self.touching))


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
        on_share: Told now and then which share of the work is done.

    Returns:
        A mask of all cells: those that are suppressed to protect primary ones.
    """
    programs = _Programs(cells, units, effort)
    number = len(cells.values)
    starts = int(np.clip(_CELLS // max(number, 1), 1, _STARTS))
    spared = max(starts // (1 + number // _FEW) ** 2, 1)
    work = starts + _SPARING * spared

    def price(search: _Search) -> float:
        return float(cost @ search.hidden)

    primary = np.flatnonzero(cells.is_primary)
    order = primary[np.argsort(-cells.values[primary], kind="stable")]
    best: list[_Search] = []
    for start in range(starts):
        if best and programs.left <= 0:
            break
        tried = cost if not start else cost * random.uniform(0.5, 1.5, len(cost))
        search = _Search(cells, programs, tried, random)
        for share in search.protect_all(order):
            on_share((start + share) / work)
        best = sorted([*best, search], key=price)[:spared]
        order = random.permutation(primary)
    for at, search in enumerate(best):
        if spared == 1:
            search.cost = cost
        for share in search.spare_all():
            on_share((starts + _SPARING * (at + share)) / work)
    on_share(1.0)
    hidden = min(best, key=price).hidden
    complementary: BoolArray = hidden & ~cells.is_primary
    return complementary


class _Programs:
    """A cache of the latest neighbourhoods' programs, which are often needed again."""

    def __init__(self, cells: SensitiveCells, units: Neighbourhoods, effort: float) -> None:
        self.cells, self.units, self.left = cells, units, effort
        self.kept: OrderedDict[tuple[int, bytes, int], ChangeProgram] = OrderedDict()

    def least_change(
        self, target: int, size: int, cost: FloatArray, ceiling: float = np.inf
    ) -> Change | None:
        """Find the change of least cost in a cell's own units and some similar ones."""
        rows = self.cells.rows
        own = rows.indices[rows.indptr[target] : rows.indptr[target + 1]].astype(np.int64)
        units = self.units.of_columns(own)
        has_many = len(self.units.unit) > _COLUMNS
        key = (target if has_many else -1, units.tobytes(), size)
        if key not in self.kept:
            columns = self.units.around(units, size)
            if has_many:
                columns = self._some(columns, own, target)
            self.kept[key] = ChangeProgram(self.cells, columns)
            while sum(each.height for each in self.kept.values()) > _KEPT and len(self.kept) > 1:
                self.kept.popitem(last=False)
        self.kept.move_to_end(key)
        people, elapsed = self.kept[key].least(target, cost, ceiling)
        self.left -= elapsed
        return None if people is None else Change.of(self.cells, people)

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
        cost = np.where(self.hidden, 0.0, self.cost)
        change = self._least_change(target, _SIZES, cost)
        if change is None:  # one more person like those in the cell is always possible
            change = Change.of(self.cells, self._one_more(target))
        self.hidden[change.touched] = True
        self.changes.add(change)

    def _least_change(
        self, target: int, sizes: Sequence[int], cost: FloatArray, ceiling: float = np.inf
    ) -> Change | None:
        """Find the change in the first neighbourhood that has one."""
        found = (self.programs.least_change(target, size, cost, ceiling) for size in sizes)
        return next((change for change in found if change is not None), None)

    def _one_more(self, target: int) -> IntArray:
        """Add as many equal people to a cell as the safety range requires.

        If the columns are tables of cliques, such a person is in one cell of each: tables are made
        to agree, from clique to clique along the tree, by moving people who are there already.

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

    def spare_all(self) -> Iterator[float]:
        """Publish complementary cells again where possible, those of the greatest count first.

        Yields the finished share.
        """
        order = np.argsort(-self.cells.values, kind="stable")
        order = order[~self.cells.is_primary[order]]
        for done, cell in enumerate(order.tolist()):
            if self.programs.left <= 0:
                return
            if self.hidden[cell]:
                self.spare(cell)
                yield done / len(order)

    def spare(self, cell: int) -> None:
        """Publish a complementary cell, if changes without it cost less in total."""
        sizes = _SIZES[:2] if self.programs.units.inhabited.shape[0] <= _FEW_UNITS else _SIZES[:1]
        hidden, exposed = self.changes.without(cell)
        hidden |= self.cells.is_primary
        found: list[Change] = []
        before = float(self.cost @ self.hidden)
        while exposed.any():
            cost = np.where(hidden, 0.0, self.cost)
            cost[cell] = np.inf
            target = int(self.random.choice(np.flatnonzero(exposed)))
            ceiling = before - float(self.cost @ hidden)
            change = self._least_change(target, sizes, cost, ceiling)
            if change is None:
                return
            hidden[change.touched] = True
            if len(found) == _RETRIES or self.cost @ hidden >= before:
                return
            found.append(change)
            exposed[change.protected] = False
        self.hidden = hidden
        self.changes.remove_touching(cell)
        for change in found:
            self.changes.add(change)
