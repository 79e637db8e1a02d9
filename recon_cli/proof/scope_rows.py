"""The published cells of a proof's scope as sparse rows, over the kinds that may have people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.proof.tables import runs
from recon_cli.reconcheck import Clique, Tables

#: Stands for an end that is open; more than any count.
OPEN: Final = 10**12
#: Printed texts with larger weights are left out of the search for proofs.
_LARGEST: Final = 10**9

#: Numbers of a table and of a cell in it.
Cell = tuple[int, int]


@dataclass(frozen=True)
class ScopeRows:
    """Rows over the unknowns of a scope, each combination of coefficients and bounds once.

    Attributes:
        names: Name of each row in proofs: ``2:0.13``; ``2=0,1:1,3`` for a separator of cliques;
            ``2:3.1@0`` and ``2:3.1%0`` for a sum and a row of a printed text.
        A: Sparse (rows × unknowns).
        least: Lower bound of each row; −1 where there is none.
        most: Upper bound of each row; `OPEN` where there is none.
        unknowns: Name of each unknown in the checker.
        unit: For each unknown the number of its unit; −1 for a sum of a printed text.
        sums: Place and name in proofs of each unknown that is a sum of a printed text.
    """

    names: tuple[str, ...]
    A: sparse.csr_array
    least: IntArray
    most: IntArray
    unknowns: IntArray
    unit: IntArray
    sums: Mapping[int, str] = field(default_factory=dict)

    def completed(self, people: IntArray) -> IntArray:
        """Fill in the sums of printed texts that follow from the number of people of each kind."""
        links = np.array([at for at, name in enumerate(self.names) if "@" in name], dtype=np.int64)
        if not len(links):
            return people
        is_sum = self.unknowns < 0
        A, kinds = sparse.csr_array(self.A[links]), np.where(is_sum, 0, people)
        found, of = kinds.copy(), sparse.coo_array(A[:, is_sum])
        found[np.flatnonzero(is_sum)[of.col]] = -(A @ kinds)[of.row]
        return found

    @property
    def lowest(self) -> IntArray:
        """Return the lower bound of each row, below all its values where it has none."""
        is_signed = np.zeros(len(self.names), dtype=bool)
        is_signed[
            np.repeat(np.arange(len(self.names)), np.diff(self.A.indptr))[self.A.data < 0]
        ] = True
        return np.where(is_signed & (self.least < 0), -OPEN, np.maximum(self.least, 0))


@dataclass(frozen=True)
class PatternRows:
    """The cells that are published together, with cells finer than the grain summed to it.

    Attributes:
        texts: Cells of each row, as in proofs.
        matrix: Sparse (rows × kinds of all cliques): how often a record of the kind is counted.
    """

    cells: tuple[tuple[Cell, ...], ...]
    texts: tuple[str, ...]
    matrix: sparse.csc_array

    @cached_property
    def rows_of(self) -> dict[Cell, list[int]]:
        """Map cells to the rows that contain them."""
        found: defaultdict[Cell, list[int]] = defaultdict(list)
        for row, cells in enumerate(self.cells):
            for cell in cells:
                found[cell].append(row)
        return found

    @cached_property
    def often(self) -> IntArray:
        """Return for each row the greatest number of times that it counts a record."""
        found = np.zeros(self.matrix.shape[0], dtype=np.int64)
        np.maximum.at(found, self.matrix.indices, self.matrix.data)
        return found


Patterns = dict[frozenset[Cell], PatternRows]


@dataclass(frozen=True)
class _Opened:
    """The kinds of some units that may have people, concatenated.

    Attributes:
        kinds: Unit → places of its kinds among those of all cliques.
    """

    kinds: Mapping[int, IntArray]

    @cached_property
    def first(self) -> dict[int, int]:
        """Map units to the start of their unknowns."""
        ends = np.cumsum([0, *map(len, self.kinds.values())]).tolist()
        return dict(zip(self.kinds, ends, strict=False))

    @cached_property
    def width(self) -> int:
        """Return the number of unknowns."""
        return sum(map(len, self.kinds.values()))

    def kinds_of(self, units: Sequence[int]) -> IntArray:
        """Return the kinds of units, one after the other."""
        return np.concatenate([self.kinds[unit] for unit in units])

    def columns_of(self, units: Sequence[int]) -> IntArray:
        """Return the unknowns of units, one after the other."""
        return np.concatenate(
            [self.first[unit] + np.arange(len(self.kinds[unit])) for unit in units]
        )


@dataclass(frozen=True)
class _Rows:
    """Some rows of a scope; see `ScopeRows`."""

    names: tuple[str, ...]
    A: sparse.csr_array
    least: IntArray
    most: IntArray


@dataclass
class RowSource:
    """Makes the rows of scopes of one publication.

    Attributes:
        tables: The publication, as the checker read it.
        cliques: Each has kinds of records, by atoms of its features; a cell is counted in the
            first clique that resolves it.
        shared: Pairs of cliques, by index, with the features that both have; no clique is second
            in two pairs.
        patterns: Rows of cells that are published together; other sources of the same tables and
            cliques may add to them.
    """

    tables: Tables
    cliques: Sequence[Clique]
    shared: Sequence[tuple[int, int, tuple[int, ...]]] = ()
    suffix: str = ""
    patterns: Patterns = field(default_factory=dict)
    _known_ends: dict[int, tuple[IntArray, IntArray]] = field(default_factory=dict)

    @cached_property
    def _first(self) -> list[int]:
        """Return the start of each clique's kinds, and the end of the last."""
        found: list[int] = np.cumsum([0, *(each.size for each in self._known)]).tolist()
        return found

    @cached_property
    def _known(self) -> tuple[Any, ...]:
        return tuple(self.cliques)

    def _kinds_of(self, scope: Any, unit: int) -> tuple[IntArray, IntArray]:
        """Return the kinds of a unit that no zero excludes, and their names in the scope."""
        opened = [scope.open[unit, at] for at in range(len(self.cliques))]
        kinds = [places_of_bits(kinds) for _, kinds in opened]
        places = [first + each for first, each in zip(self._first, kinds, strict=False)]
        unknowns = [start + each for (start, _), each in zip(opened, kinds, strict=True)]
        return np.concatenate(places), np.concatenate(unknowns)

    def rows(
        self, scope: Any, alone: Collection[int] | None = None, *, are_unlike: bool = True
    ) -> ScopeRows:
        """Return the rows of a scope of `recon_cli.reconcheck` over kinds that no zero excludes.

        Args:
            alone: Units whose own counts are wanted, without those of areas; default all counts.
            are_unlike: Keep only one of several equal rows.
        """
        tables: Any = self.tables
        units = sorted(scope.units if alone is None else alone)
        kinds_of = [self._kinds_of(scope, unit) for unit in units]
        lengths = [len(kinds) for kinds, _ in kinds_of]
        opened = _Opened(dict(zip(units, (kinds for kinds, _ in kinds_of), strict=True)))
        alike: defaultdict[tuple[bool, frozenset[Cell]], list[tuple[int, int]]] = defaultdict(list)
        for unit in units:
            for place in tables.home[unit] if alone is None else [unit]:
                alike[place != unit, tables.cells_at[place]].append((place, unit))
        parts, people = list[_Rows](), OPEN
        for (is_area, cells), pairs in sorted(alike.items(), key=lambda each: each[0][0]):
            part = self._counts(scope, self._pattern(cells), pairs, opened, people)
            if is_area or len(units) == 1:  # a count of everybody says more than loose ones
                is_all = (np.diff(part.A.indptr) == opened.width) & (part.least >= 0)
                people = int(part.most[is_all].min(initial=people))
            parts.append(part)
        found = _joined([*parts, self._agreed(opened)])
        found = _unlike(found) if are_unlike else found
        unknowns = np.concatenate([np.empty(0, dtype=np.int64), *(named for _, named in kinds_of)])
        unit_of = np.repeat(np.array(units, dtype=np.int64), lengths)
        rows = ScopeRows(found.names, found.A, found.least, found.most, unknowns, unit_of)
        places = {place for unit in units for place in tables.home[unit]}
        inside = [place for place in sorted(places) if tables.units[place] <= {*units}]
        return _with_printed(rows, scope, inside)

    def _counts(
        self,
        scope: Any,
        pattern: PatternRows,
        pairs: Sequence[tuple[int, int]],
        opened: _Opened,
        people: int,
    ) -> _Rows:
        """Return counts of places with one pattern; ``pairs`` names each unit with its place.

        Counts that only repeat the bound on the number of people are left out.
        """
        tables: Any = self.tables
        places = list(dict.fromkeys(place for place, _ in pairs))
        height = len(pattern.cells)
        start = {place: height * at for at, place in enumerate(places)}
        ends = [self._ends(place, pattern) for place in places]
        least, most = (np.concatenate(each) for each in zip(*ends, strict=True))
        for place in places:
            if not tables.units[place] <= scope.units:
                least[start[place] : start[place] + height] = -1
        units = [unit for _, unit in pairs]
        entries = pattern.matrix[:, opened.kinds_of(units)]
        often = np.diff(entries.indptr)
        lengths = [len(opened.kinds[unit]) for unit in units]
        row = entries.indices + np.repeat(
            np.repeat([start[place] for place, _ in pairs], lengths), often
        )
        at_most = np.minimum(people * np.tile(pattern.often, len(places)), OPEN)
        says = (np.bincount(row, minlength=len(least)) > 0) & ((least > 0) | (most < at_most))
        kept, said, number = says[row], np.flatnonzero(says), np.cumsum(says) - 1
        columns = np.repeat(opened.columns_of(units), often)[kept]
        entry = entries.data[kept], (number[row[kept]], columns)
        names = [
            f"{places[at // height]}:{pattern.texts[at % height]}{self.suffix}"
            for at in said.tolist()
        ]
        A = sparse.csr_array(entry, shape=(len(names), opened.width))
        return _Rows(tuple(names), A, least[said], most[said])

    def _agreed(self, opened: _Opened) -> _Rows:
        """Return the rows by which two cliques of a unit agree."""
        texts, agreement = self._agreement
        names, parts = list[str](), [sparse.csr_array((0, opened.width), dtype=np.int64)]
        for unit in opened.kinds if texts else ():
            inside = sparse.coo_array(agreement[:, opened.kinds[unit]])
            rows, row = np.unique(inside.row, return_inverse=True)
            entry = inside.data, (row, opened.first[unit] + inside.col)
            parts.append(sparse.csr_array(entry, shape=(len(rows), opened.width)))
            names += [f"{unit}={texts[at]}" for at in rows.tolist()]
        zero = np.zeros(len(names), dtype=np.int64)
        return _Rows(tuple(names), sparse.csr_array(sparse.vstack(parts)), zero, zero)

    def _ends(self, place: int, pattern: PatternRows) -> tuple[IntArray, IntArray]:
        """Return the least and greatest sums of the cells of each row of a place; read-only."""
        if place in self._known_ends:
            return self._known_ends[place]
        tables: Any = self.tables
        lows = np.zeros(len(pattern.cells), dtype=np.int64)
        highs = lows.copy()
        for cell, (low, high) in tables.counts[place].items():
            for row in pattern.rows_of.get(cell, ()):
                lows[row] += low
                highs[row] += OPEN if high is None else high
        found = lows, np.minimum(highs, OPEN)
        if len(tables.units[place]) > 1:  # further units of the area will ask
            self._known_ends[place] = found
        return found

    def _pattern(self, cells: frozenset[Cell]) -> PatternRows:
        if cells not in self.patterns:
            self.patterns[cells] = self._make_pattern(cells)
        return self.patterns[cells]

    def _make_pattern(self, cells: frozenset[Cell]) -> PatternRows:
        groups = list[tuple[Cell, ...]]()
        data, columns, rows = list[IntArray](), list[IntArray](), list[IntArray]()
        for group, predicates in self._resolved(sorted(cells)):
            clique, kinds = self._told_apart(predicates)
            at = np.concatenate([places_of_bits(each) for each in kinds]) + self._first[clique]
            found, often = np.unique(at, return_counts=True)
            rows.append(np.full(len(found), len(groups)))
            columns.append(found)
            data.append(often)
            groups.append(group)
        empty = np.empty(0, dtype=np.int64)
        entries = (np.concatenate([empty, *rows]), np.concatenate([empty, *columns]))
        shape = (len(groups), self._first[-1])
        matrix = sparse.csc_array((np.concatenate([empty, *data]), entries), shape=shape)
        texts = (f"{group[0][0]}.{runs([n for _, n in group])}" for group in groups)
        return PatternRows(tuple(groups), tuple(texts), matrix)

    def _resolved(self, cells: Sequence[Cell]) -> Iterator[tuple[tuple[Cell, ...], Any]]:
        """Yield cells that the grain resolves, and sums of cells that it does not."""
        tables: Any = self.tables
        fine: defaultdict[tuple[Any, ...], list[tuple[Cell, int]]] = defaultdict(list)
        for cell in cells:
            predicates = tables.cells[cell]
            if self._told_apart(predicates)[1]:
                yield (cell,), predicates
            elif len(predicates) == 1:
                (masks,) = predicates
                finer = [
                    f
                    for f, mask in enumerate(masks)
                    if any(atom & mask not in (0, atom) for atom in self._known[0].atoms[f])
                ]
                if len(finer) == 1:
                    (f,) = finer
                    fine[cell[0], f, *masks[:f], 0, *masks[f + 1 :]].append((cell, masks[f]))
        for (_, f, *others), members in fine.items():
            yield from self._sums(f, others, members)

    def _told_apart(self, predicates: Any) -> tuple[int, tuple[int, ...]]:
        """Return the first clique that resolves some predicates, and their kinds."""
        found = ((at, each.kinds(predicates)) for at, each in enumerate(self._known))
        return next((each for each in found if each[1]), (0, ()))

    def resolves(self, predicates: Any) -> bool:
        """Test whether some clique resolves some predicates."""
        return bool(self._told_apart(predicates)[1])

    @cached_property
    def _agreement(self) -> tuple[list[str], sparse.csc_array]:
        """Return names and sparse (rows × kinds) of the values that two cliques share."""
        names, rows, columns, data = list[str](), list[int](), list[IntArray](), list[int]()
        for one, other, features in self.shared:
            for choice in product(*(self._known[one].atoms[f] for f in features)):
                masks: Any = [(1 << size) - 1 for size in self.tables.sizes]
                for f, atom in zip(features, choice, strict=True):
                    masks[f] = atom
                for clique, sign in ((one, 1), (other, -1)):
                    (kinds,) = self._known[clique].kinds((tuple(masks),))
                    columns.append(self._first[clique] + places_of_bits(kinds))
                    rows.append(len(names))
                    data.append(sign)
                names.append(f"{one},{other}:{','.join(f'{mask:x}' for mask in masks)}")
        lengths = [len(each) for each in columns]
        entries = np.repeat(rows, lengths), np.concatenate([np.empty(0, dtype=np.int64), *columns])
        shape = (len(names), self._first[-1])
        return names, sparse.csc_array((np.repeat(data, lengths), entries), shape=shape)

    def _sums(
        self, feature: int, others: Sequence[int], members: Sequence[tuple[Cell, int]]
    ) -> Iterator[tuple[tuple[Cell, ...], Any]]:
        """Yield for each atom of a feature the cells that partition it, and their union."""
        for atom in self._known[0].atoms[feature]:
            inside = [(cell, mask) for cell, mask in members if mask & ~atom == 0]
            together = 0
            for _, mask in inside:
                if mask & together:
                    break
                together |= mask
            else:
                if together == atom:
                    masks = (*others[:feature], atom, *others[feature + 1 :])
                    if self.resolves((masks,)):
                        yield tuple(cell for cell, _ in inside), (masks,)


def places_of_bits(number: int) -> IntArray:
    """Return the sorted positions of the set bits of a number.

    >>> places_of_bits(0b1011).tolist()
    [0, 1, 3]
    """
    data = np.frombuffer(number.to_bytes(number.bit_length() // 8 + 1, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(data, bitorder="little")).astype(np.int64)


def _with_printed(rows: ScopeRows, scope: Any, places: Iterable[int]) -> ScopeRows:
    """Append the printed statistics of places: sums of counts as unknowns, and rows over them."""
    tables = scope.tables
    column = dict(zip(rows.unknowns.tolist(), range(len(rows.unknowns)), strict=True))
    names, sums = list[str](), dict[int, str]()
    line, at, data, least, most = (list[int]() for _ in range(5))
    for place, cell in ((at, cell) for at in places for cell in tables.printed[at]):
        of, text = tables.meaning(place, cell), f"{cell[0]}.{cell[1]}"
        for number in range(len(of[0])):
            unknown = scope.sum(place, cell, number)
            sums[unknown] = f"{place} {text}@{number}"
            column[unknown] = len(column)
        for mark, number in (
            (mark, n) for mark, part in zip("@%", of, strict=True) for n in range(len(part))
        ):
            row, low, high = scope.statistic(place, cell, number, mark == "%")
            if max(map(abs, (*row.values(), high))) < _LARGEST:
                used = [(column[unknown], a) for unknown, a in row.items() if a]
                line += [len(names)] * len(used)
                at += [number for number, _ in used]
                data += [a for _, a in used]
                names.append(f"{place}:{text}{mark}{number}")
                least.append(-1 if low is None else low)
                most.append(high)
    if not names:
        return rows
    shape = (len(names), len(column))
    further = sparse.csr_array((np.array(data, dtype=np.int64), (line, at)), shape=shape)
    wide = sparse.csr_array((len(rows.names), len(sums)), dtype=np.int64)
    return ScopeRows(
        (*rows.names, *names),
        sparse.csr_array(sparse.vstack([sparse.hstack([rows.A, wide]), further])),
        np.append(rows.least, np.array(least, dtype=np.int64)),
        np.append(rows.most, np.array(most, dtype=np.int64)),
        np.append(rows.unknowns, np.array(list(sums), dtype=np.int64)),
        np.append(rows.unit, np.full(len(sums), -1)),
        sums,
    )


def _joined(parts: Sequence[_Rows]) -> _Rows:
    names = tuple(name for part in parts for name in part.names)
    A = sparse.csr_array(sparse.vstack([part.A for part in parts]))
    least = np.concatenate([part.least for part in parts])
    return _Rows(names, A, least, np.concatenate([part.most for part in parts]))


def _unlike(rows: _Rows) -> _Rows:
    """Drop rows with the coefficients and bounds of an earlier row, compared by weighted sums.

    If the sums of two different rows collide, the later row is lost, which costs only proofs.
    """
    names, A, least, most = rows.names, rows.A, rows.least, rows.most
    total = A @ np.random.default_rng(1).integers(1 << 62, size=A.shape[1])
    order = np.lexsort((most, least, total))
    ordered = np.stack([each[order] for each in (total, least, most)])
    is_new = np.ones(len(names), dtype=bool)
    is_new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    kept = np.sort(order[is_new])
    return _Rows(tuple(names[at] for at in kept.tolist()), A[kept], least[kept], most[kept])
