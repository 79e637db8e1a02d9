"""Margins: the published cells of a geounit and every count they determine by subtraction.

A margin is a set of histogram cells with a known count. Two known margins that differ in one
feature, one inside the other, give a third: their difference (total minus Hispanic is not
Hispanic). Published cells are closed under such one-feature differences, and only the margins
that are not sums of smaller ones are kept: bounds from a sum of disjoint margins are never
tighter than the bounds from its parts.

See *margin* and *closure* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.schema import Release

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Masks = tuple[int, ...]
Terms = dict[int, int]
"""A linear combination of published columns: column → coefficient."""

#: Differences of overlapping families can multiply; beyond this many margins for each published
#: cell the closure stops. What it has by then is valid, only maybe not the strongest.
_GROWTH = 8
#: Rows of which all relations to all others are in memory at a time.
_SLAB = 64


@dataclass(frozen=True)
class Margins:
    """What one coverage pattern determines about one geounit.

    Attributes:
        columns: The published (table, cell number) pairs, the order of count vectors.
        masks: The minimal margins, one row each.
        tally: For each row the index of the tallied feature, or None where people count.
        combine: Sparse (rows × columns): published counts → the rows' counts.
        checks: Sparse (checks × columns): combinations that are zero for consistent counts.
        known: Every margin that was found, minimal or not, as terms over the columns.
        tallies: Every published tally, by predicate and tallied feature, likewise.
        relations: Margins that are sums of others, with their disjoint parts.
    """

    columns: tuple[tuple[str, int], ...]
    masks: tuple[Masks, ...]
    tally: tuple[int | None, ...]
    combine: sparse.csr_array
    checks: sparse.csr_array
    known: dict[Masks, Terms] = field(repr=False)
    tallies: dict[tuple[Masks, int], Terms] = field(repr=False)
    relations: tuple[tuple[Masks, tuple[Masks, ...]], ...] = field(repr=False)


def close_margins(release: Release, columns: Sequence[tuple[str, int]]) -> Margins:
    """Close published cells under differences, Eq. (closure), and keep the minimal margins.

    Args:
        release: Gives the cells' predicates.
        columns: The published (table, cell number) pairs.
    """
    cells = [release.table_by_name[table].cells[number - 1] for table, number in columns]
    closure = _Closure()
    tallies: dict[tuple[Masks, int], Terms] = {}
    for column, cell in enumerate(cells):
        if cell.tally is None:
            closure.publish(cell.masks, {column: 1})
        elif (cell.masks, cell.tally) in tallies:
            closure.checks.append(_minus({column: 1}, tallies[cell.masks, cell.tally]))
        else:
            tallies[cell.masks, cell.tally] = {column: 1}
    closure.run(limit=_GROWTH * len(cells) + 1)

    closure.drop_sums()

    rows: list[tuple[Masks, int | None, Terms]] = [
        (masks, None, terms) for masks, terms in closure.minimal()
    ]
    for (masks, at), terms in tallies.items():
        implied = _tally_terms(masks, at, release, closure.known)
        if implied is None:
            rows.append((masks, at, terms))
        else:
            closure.checks.append(_minus(terms, implied))
    return Margins(
        columns=tuple(columns),
        masks=tuple(masks for masks, _, _ in rows),
        tally=tuple(tally for _, tally, _ in rows),
        combine=combination_matrix([terms for _, _, terms in rows], len(columns)),
        checks=combination_matrix(_distinct(closure.checks), len(columns)),
        known=closure.known,
        tallies=tallies,
        relations=tuple(dict.fromkeys(closure.relations)),
    )


class _Closure:
    """Known margins, closed one feature at a time."""

    def __init__(self) -> None:
        self.known: dict[Masks, Terms] = {}
        self.checks: list[Terms] = []
        self.relations: list[tuple[Masks, tuple[Masks, ...]]] = []
        self._sums: set[Masks] = set()
        # Margins alike but for one feature, by that feature and the rest; and those to look at.
        self._lines: dict[tuple[int, Masks], list[int]] = defaultdict(list)
        self._touched: dict[tuple[int, Masks], None] = {}

    def publish(self, masks: Masks, terms: Terms) -> None:
        if masks in self.known:
            self.checks.append(_minus(terms, self.known[masks]))
        else:
            self._add(masks, terms)

    def run(self, limit: int) -> None:
        """Take differences along every feature until nothing new appears."""
        while self._touched and len(self.known) < limit:
            touched, self._touched = self._touched, {}
            for f, rest in touched:
                if len(self._lines[f, rest]) > 1:
                    self._split(f, rest)
        self._lines.clear()  # of no further use, and larger than the margins

    def _add(self, masks: Masks, terms: Terms) -> None:
        self.known[masks] = terms
        for f, mask in enumerate(masks):
            line = (f, _without(masks, f))
            self._lines[line].append(mask)
            self._touched[line] = None

    def drop_sums(self) -> None:
        """Drop margins that are sums of disjoint smaller ones across several features.

        Greedy: the parts of a margin are picked from the largest to the smallest, each disjoint
        from those before. What is dropped is such a sum, and the sum is checked against the
        counts; but not every such sum is found. One that stays is right, too: it costs time only.
        """
        rows = [masks for masks, _ in self.minimal()]
        pairs = _Pairs(rows)
        volume = np.array([math.prod(m.bit_count() for m in masks) for masks in rows], dtype=float)
        for slab in _slabs(len(rows)):
            inside = pairs.inside(slab)
            # Only a margin whose parts are large enough together can be their sum.
            for at in np.flatnonzero(volume @ inside >= 2 * volume[slab]).tolist():
                whole = slab.start + at
                inner = np.flatnonzero(inside[:, at])
                inner = inner[np.argsort(-volume[inner], kind="stable")][1:]  # the first is itself
                parts = inner[pairs.first_disjoint(inner)]
                if volume[parts].sum() == volume[whole]:
                    self._is_sum(rows[whole], [rows[part] for part in parts.tolist()])

    def _is_sum(self, whole: Masks, parts: Sequence[Masks]) -> None:
        difference = dict(self.known[whole])
        for part in parts:
            _subtract(difference, self.known[part])
        self.checks.append(difference)
        self.relations.append((whole, tuple(parts)))
        self._sums.add(whole)

    def minimal(self) -> list[tuple[Masks, Terms]]:
        """The margins that are not sums of smaller ones, in the order they were found."""
        return [(masks, terms) for masks, terms in self.known.items() if masks not in self._sums]

    def _split(self, f: int, rest: Masks) -> None:
        """Split the margins of one line, which differ in feature ``f`` only, into smaller ones."""
        parts: list[int] = []
        for mask in sorted(self._lines[f, rest], key=lambda m: (m.bit_count(), m)):
            inside, remainder = [], mask
            for part in parts:
                if part & ~remainder == 0:
                    inside.append(part)
                    remainder &= ~part
            if not inside:
                parts.append(mask)
                continue
            whole = _with(rest, f, mask)
            self._sums.add(whole)
            difference = dict(self.known[whole])
            for part in inside:
                _subtract(difference, self.known[_with(rest, f, part)])
            within = [*inside, remainder] if remainder else inside
            self.relations.append((whole, tuple(_with(rest, f, part) for part in within)))
            if remainder:
                left = _with(rest, f, remainder)
                parts.append(remainder)
                if left not in self.known:
                    self._add(left, difference)
                    continue
                _subtract(difference, self.known[left])
            self.checks.append(difference)


class _Pairs:
    """Relations between predicates, through their few distinct masks of each feature."""

    def __init__(self, rows: Sequence[Masks]) -> None:
        self._columns: list[tuple[list[int], IntArray]] = []
        for column in zip(*rows, strict=True):
            place = {mask: i for i, mask in enumerate(dict.fromkeys(column))}
            self._columns.append((list(place), np.array([place[mask] for mask in column])))
        self._apart = [np.array([[a & b == 0 for b in m] for a in m]) for m, _ in self._columns]
        self._size = len(rows)

        self._within = [np.array([[a & ~b == 0 for b in m] for a in m]) for m, _ in self._columns]

    def inside(self, slab: slice) -> BoolArray:
        """(rows × slab) table: whether row i is inside row j of the slab."""
        table = np.ones((self._size, slab.stop - slab.start), dtype=bool)
        for (_, at), within in zip(self._columns, self._within, strict=True):
            table &= within[:, at[slab]][at]
        return table

    def first_disjoint(self, rows: IntArray) -> IntArray:
        """Places in ``rows`` picked in order, each disjoint from all picked before."""
        picked: list[int] = []
        left = np.ones(len(rows), dtype=bool)
        while left.any():
            slab = np.flatnonzero(left)[:_SLAB]
            for place, apart in zip(slab.tolist(), self.apart(rows[slab], rows), strict=True):
                if left[place]:
                    picked.append(place)
                    left &= apart
                    left[place] = False
        return np.array(picked, dtype=np.int64)

    def apart(self, rows: IntArray, others: IntArray) -> BoolArray:
        """(rows × others) table: whether no record can satisfy both."""
        table = np.zeros((len(rows), len(others)), dtype=bool)
        for (_, at), apart in zip(self._columns, self._apart, strict=True):
            table |= apart[:, at[others]][at[rows]]
        return table


def all_disjoint(rows: Sequence[Masks]) -> bool:
    """Whether no record can satisfy two of the predicates."""
    pairs, every = _Pairs(rows), np.arange(len(rows))
    apart = sum(int(pairs.apart(every, every[slab]).sum()) for slab in _slabs(len(rows)))
    return apart == len(rows) * (len(rows) - 1)


def _slabs(rows: int) -> Iterator[slice]:
    """Ranges of rows: a table of all pairs of thousands of rows would take 100 MB."""
    return (slice(start, min(start + _SLAB, rows)) for start in range(0, rows, _SLAB))


def _tally_terms(
    masks: Masks, at: int, release: Release, known: dict[Masks, Terms]
) -> Terms | None:
    """A tally as the sum of the margins of its options, if all of those are known."""
    total: Terms = {}
    for margin in option_margins(masks, at, release):
        if margin not in known:
            return None
        total = _minus(total, {c: -n for c, n in known[margin].items()})
    return total


def option_margins(masks: Masks, at: int, release: Release) -> tuple[Masks, ...]:
    """The margins that a tally of the feature ``at`` adds up: who picked each option."""
    feature = release.features[at]
    picked = (masks[at] & feature.includes(option) for option in feature.options)
    return tuple(_with(masks, at, mask) for mask in picked if mask)


def _without(masks: Masks, f: int) -> Masks:
    return (*masks[:f], 0, *masks[f + 1 :])


def _with(masks: Masks, f: int, mask: int) -> Masks:
    return (*masks[:f], mask, *masks[f + 1 :])


def _minus(left: Terms, right: Terms) -> Terms:
    difference = dict(left)
    _subtract(difference, right)
    return difference


def _subtract(terms: Terms, right: Terms) -> None:
    """Take ``right`` away from ``terms``, in place."""
    for column, coefficient in right.items():
        value = terms.get(column, 0) - coefficient
        if value:
            terms[column] = value
        else:
            terms.pop(column, None)


def _distinct(checks: list[Terms]) -> list[Terms]:
    """Each combination once, without the empty ones."""
    unique = {(*(order := sorted(terms)), *map(terms.get, order)): terms for terms in checks}
    return [terms for terms in unique.values() if terms]


def combination_matrix(rows: Sequence[Terms], width: int) -> sparse.csr_array:
    """Sparse (combinations × columns) matrix of linear combinations of columns."""
    lengths = [len(terms) for terms in rows]
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    indices = np.array([c for terms in rows for c in terms], dtype=np.int32)
    data = np.array([n for terms in rows for n in terms.values()], dtype=np.int64)
    return sparse.csr_array((data, indices, indptr), shape=(len(rows), width))
