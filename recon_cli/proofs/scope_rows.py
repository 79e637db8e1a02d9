"""The published cells of a scope of a proof as sparse rows, over the kinds that may have people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.proofs.tables import runs
from recon_cli.reconcheck import Clique, Tables

#: Stands for an end that is open; more than any count.
OPEN: Final = 10**12

Cell = tuple[int, int]
"""Number of a table and of a cell in it."""


@dataclass(frozen=True)
class ScopeRows:
    """Rows over the unknowns of a scope, each combination of coefficients and ends once.

    Attributes:
        names: Of each row, as a proof has them: ``2:0.13``, or ``2=0,1:1,3`` of what cliques share.
        A: Sparse (rows × unknowns).
        least: At least; −1 where the row has no lower end.
        most: At most; `OPEN` where it has no upper end.
        unknowns: What the checker calls each unknown.
    """

    names: tuple[str, ...]
    A: sparse.csr_array
    least: IntArray
    most: IntArray
    unknowns: IntArray


@dataclass(frozen=True)
class _PatternRows:
    """The cells that are published together, those finer than the grain as sums of such.

    Attributes:
        cells: Of each row, its cells.
        texts: Of each row, its cells as a proof has them.
        matrix: Sparse (rows × kinds of all cliques): how often a record of the kind is counted.
    """

    cells: tuple[tuple[Cell, ...], ...]
    texts: tuple[str, ...]
    matrix: sparse.csc_array

    @cached_property
    def rows_of(self) -> dict[Cell, list[int]]:
        """The rows that a cell is in."""
        found: defaultdict[Cell, list[int]] = defaultdict(list)
        for row, cells in enumerate(self.cells):
            for cell in cells:
                found[cell].append(row)
        return found

    @cached_property
    def often(self) -> IntArray:
        """How often each row counts a record at most."""
        found = np.zeros(self.matrix.shape[0], dtype=np.int64)
        np.maximum.at(found, self.matrix.indices, self.matrix.data)
        return found


@dataclass
class RowSource:
    """Makes the rows of scopes of one publication.

    Attributes:
        tables: The publication, as the checker read it.
        cliques: Kinds of records: atoms of the features of each; every cell is counted in the
            first that tells it apart.
        shared: Places of two cliques, the second in one pair alone, and the features of both.
        suffix: What names of rows end with.
    """

    tables: Tables
    cliques: Sequence[Clique]
    shared: Sequence[tuple[int, int, tuple[int, ...]]] = ()
    suffix: str = ""
    _patterns: dict[frozenset[Cell], _PatternRows] = field(default_factory=dict)
    _known_ends: dict[int, tuple[IntArray, IntArray]] = field(default_factory=dict)

    @cached_property
    def _first(self) -> list[int]:
        """Where the kinds of each clique begin, and where the last ones end."""
        found: list[int] = np.cumsum([0, *(each.size for each in self._known)]).tolist()
        return found

    @cached_property
    def _known(self) -> tuple[Any, ...]:
        return tuple(self.cliques)

    def _kinds_of(self, scope: Any, unit: int) -> tuple[IntArray, IntArray]:
        """The kinds of a unit that no zero excludes, and what the scope calls them."""
        opened = [scope.open[unit, at] for at in range(len(self.cliques))]
        kinds = [places_of_bits(kinds) for _, kinds in opened]
        places = [first + each for first, each in zip(self._first, kinds, strict=False)]
        unknowns = [start + each for (start, _), each in zip(opened, kinds, strict=True)]
        return np.concatenate(places), np.concatenate(unknowns)

    def rows(self, scope: Any) -> ScopeRows:
        """The rows of a scope (`recon_cli.reconcheck.Scope`) over kinds that no zero excludes."""
        tables: Any = self.tables
        units = sorted(scope.units)
        kinds_of = {unit: self._kinds_of(scope, unit) for unit in units}
        kinds = {unit: places for unit, (places, _) in kinds_of.items()}
        first = dict(zip(units, np.cumsum([0, *map(len, kinds.values())]).tolist(), strict=False))
        unknowns = [named for _, named in kinds_of.values()]
        width = sum(map(len, kinds.values()))
        places: defaultdict[int, list[int]] = defaultdict(list)
        for unit in units:
            for place in tables.home[unit]:
                places[place].append(unit)
        names, least, most = list[str](), list[int](), list[int]()
        data, columns, ends = list[IntArray](), list[IntArray](), [0]
        seen: set[tuple[bytes, bytes, int, int]] = set()
        people = OPEN
        for place in sorted(places, key=lambda at: (len(tables.units[at]), at)):
            pattern = self._pattern(tables.cells_at[place])
            parts = [pattern.matrix[:, kinds[unit]] for unit in places[place]]
            at = np.concatenate([first[u] + np.arange(len(kinds[u])) for u in places[place]])
            whole = parts[0].tocsr() if len(parts) == 1 else sparse.csr_array(sparse.hstack(parts))
            whole.sort_indices()
            is_whole = tables.units[place] <= scope.units
            lows, highs = self._ends(place, pattern)
            lows = lows if is_whole else np.full(len(lows), -1)
            length = np.diff(whole.indptr)
            says = (length > 0) & ((lows > 0) | (highs < np.minimum(people * pattern.often, OPEN)))
            if is_whole and len(at) == width:  # a count of everybody says more than loose ones
                people = int(highs[length == width].min(initial=people))
            for row in np.flatnonzero(says).tolist():
                low, high = int(lows[row]), int(highs[row])
                start, end = whole.indptr[row : row + 2]
                key = at[whole.indices[start:end]], whole.data[start:end]
                if (found := (*_bytes(key), low, high)) in seen:
                    continue
                seen.add(found)
                names.append(f"{place}:{pattern.texts[row]}{self.suffix}")
                least.append(low)
                most.append(high)
                columns.append(key[0])
                data.append(key[1])
                ends.append(ends[-1] + end - start)
        texts, agreement = self._agreement
        for unit in units if texts else ():
            inside = sparse.csr_array(agreement[:, kinds[unit]])
            for row in np.flatnonzero(np.diff(inside.indptr)).tolist():
                start, end = inside.indptr[row : row + 2]
                names.append(f"{unit}={texts[row]}")
                least.append(0)
                most.append(0)
                columns.append(first[unit] + inside.indices[start:end])
                data.append(inside.data[start:end])
                ends.append(ends[-1] + end - start)
        empty = np.empty(0, dtype=np.int64)
        A = sparse.csr_array(
            (np.concatenate([empty, *data]), np.concatenate([empty, *columns]), ends),
            shape=(len(names), width),
        )
        return ScopeRows(
            tuple(names),
            A,
            np.array(least, dtype=np.int64),
            np.array(most, dtype=np.int64),
            np.concatenate([empty, *unknowns]),
        )

    def _ends(self, place: int, pattern: _PatternRows) -> tuple[IntArray, IntArray]:
        """The least and greatest sums of the cells of each row of a place; read-only."""
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

    def _pattern(self, cells: frozenset[Cell]) -> _PatternRows:
        if cells not in self._patterns:
            self._patterns[cells] = self._make_pattern(cells)
        return self._patterns[cells]

    def _make_pattern(self, cells: frozenset[Cell]) -> _PatternRows:
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
        return _PatternRows(tuple(groups), tuple(texts), matrix)

    def _resolved(self, cells: Sequence[Cell]) -> Iterator[tuple[tuple[Cell, ...], Any]]:
        """Cells that the grain tells apart, and sums of such that it does not."""
        tables: Any = self.tables
        fine: defaultdict[tuple[Any, ...], list[tuple[Cell, int]]] = defaultdict(list)
        for cell in cells:
            predicates = tables.cells[cell]
            if self._told_apart(predicates)[1]:
                yield (cell,), predicates
            elif len(predicates) == 1:
                (masks,) = predicates
                finer = [f for f, mask in enumerate(masks) if not self._is_union(f, mask)]
                if len(finer) == 1:
                    (f,) = finer
                    fine[cell[0], f, *masks[:f], 0, *masks[f + 1 :]].append((cell, masks[f]))
        for (_, f, *others), members in fine.items():
            yield from self._sums(f, others, members)

    def _told_apart(self, predicates: Any) -> tuple[int, tuple[int, ...]]:
        """The first clique that tells records with some predicates apart, and their kinds."""
        found = ((at, each.kinds(predicates)) for at, each in enumerate(self._known))
        return next((each for each in found if each[1]), (0, ()))

    def resolves(self, predicates: Any) -> bool:
        """Whether some clique tells records with some predicates apart."""
        return bool(self._told_apart(predicates)[1])

    @cached_property
    def _agreement(self) -> tuple[list[str], sparse.csc_array]:
        """Names and sparse (rows × kinds) of what two cliques say alike, for each value of it."""
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

    def _is_union(self, feature: int, mask: int) -> bool:
        return all(atom & mask in (0, atom) for atom in self._known[0].atoms[feature])

    def _sums(
        self, feature: int, others: Sequence[int], members: Sequence[tuple[Cell, int]]
    ) -> Iterator[tuple[tuple[Cell, ...], Any]]:
        """For each atom of a feature the cells inside that partition it."""
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
    """Which bits of a number are set, rising."""
    data = np.frombuffer(number.to_bytes(number.bit_length() // 8 + 1, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(data, bitorder="little")).astype(np.int64)


def _bytes(arrays: tuple[IntArray, IntArray]) -> tuple[bytes, bytes]:
    return arrays[0].tobytes(), arrays[1].tobytes()
