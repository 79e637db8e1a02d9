"""Margins: the published cells of a geounit and all counts that follow by subtraction.

A margin is a set of histogram cells with a known count. Two margins that differ in one feature,
one inside the other, give a third: their difference (total minus Hispanic is not Hispanic).
Published cells are closed under such one-feature differences, and only the margins that are not
sums of smaller ones are kept: bounds from a sum of disjoint margins are never tighter than the
bounds from its parts.

See *margin* and *closure* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.coverage import CoveragePattern
from recon_cli.model.predicates import Masks, PredicatePairs, slabs
from recon_cli.schema import Release

#: A linear combination of published columns: column → coefficient.
Terms = dict[int, int]

#: Margins for each published cell at which the closure stops, since differences of overlapping
#: families can multiply. The margins found by then are valid, but maybe not all.
_GROWTH = 8


@dataclass(frozen=True)
class Margins:
    """The counts of a geounit that one coverage pattern determines.

    Attributes:
        columns: The published (table, cell number) pairs, the order of count vectors.
        seen: For each feature whether some published cell tells its values apart.
        masks: The minimal margins, one row each.
        tally: For each row the index of the tallied feature, or None where people count.
        combine: Sparse (rows × columns): published counts → the rows' counts.
        checks: Sparse (checks × columns): combinations that are zero for consistent counts.
        known: Every margin that was found, minimal or not, as terms over the columns.
        tallies: Every published tally, by predicate and tallied feature, as terms.
        relations: Margins that are sums of others, with their disjoint parts.
    """

    columns: tuple[tuple[str, int], ...]
    seen: tuple[bool, ...]
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
        columns: The published (table, cell number) pairs.
    """
    cells = [release.table_by_name[table].cells[number - 1] for table, number in columns]
    distinguished = release.distinguished_by(cells)
    closure = _Closure(release.full)
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
    known = closure.known()
    rows: list[tuple[Masks, int | None, Terms]] = [
        (masks, None, known[masks]) for masks in closure.minimal()
    ]
    for (masks, at), terms in tallies.items():
        implied = _tally_terms(masks, at, release, known)
        if implied is None:
            rows.append((masks, at, terms))
        else:
            closure.checks.append(_minus(terms, implied))
    return Margins(
        columns=tuple(columns),
        seen=tuple(f in distinguished for f in range(len(release.features))),
        masks=tuple(masks for masks, _, _ in rows),
        tally=tuple(tally for _, tally, _ in rows),
        combine=combination_matrix([terms for _, _, terms in rows], len(columns)),
        checks=combination_matrix(_distinct(closure.checks), len(columns)),
        known=known,
        tallies=tallies,
        relations=closure.relations(),
    )


class _Closure:
    """Known margins, closed one feature at a time.

    A predicate is one integer here, the concatenated masks of its features: along a feature two
    margins differ in that feature's bits alone.
    """

    def __init__(self, full: Masks) -> None:
        self.checks: list[Terms] = []
        self._shifts = tuple(accumulate((mask.bit_length() for mask in full[:-1]), initial=0))
        self._fields = tuple(m << shift for m, shift in zip(full, self._shifts, strict=True))
        self._masks: dict[int, Masks] = {}
        self._terms: dict[int, Terms] = {}
        self._sums: set[int] = set()
        # Margins that are sums, with their disjoint parts; each once, in the order of discovery.
        self._relations: dict[tuple[int, tuple[int, ...]], None] = {}
        # A feature and the bits of all others → the feature's bits; and the lines to look at.
        self._lines: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._touched: dict[tuple[int, int], None] = {}

    def known(self) -> dict[Masks, Terms]:
        """List every margin, in the order of discovery."""
        return {self._masks[margin]: terms for margin, terms in self._terms.items()}

    def minimal(self) -> list[Masks]:
        """List the margins that are not sums of smaller ones, in the order of discovery."""
        return [self._masks[margin] for margin in self._minimal()]

    def _minimal(self) -> list[int]:
        return [margin for margin in self._masks if margin not in self._sums]

    def relations(self) -> tuple[tuple[Masks, tuple[Masks, ...]], ...]:
        """List margins that are sums of others, with their disjoint parts."""
        masks = self._masks
        return tuple(
            (masks[whole], tuple(masks[part] for part in parts)) for whole, parts in self._relations
        )

    def publish(self, masks: Masks, terms: Terms) -> None:
        """Add a published count; if its margin is known already, the count becomes a check."""
        margin = self._number(masks)
        if margin in self._terms:
            self.checks.append(_minus(terms, self._terms[margin]))
        else:
            self._add(margin, masks, terms)

    def run(self, limit: int) -> None:
        """Take differences along every feature until nothing new appears."""
        while self._touched and len(self._terms) < limit:
            touched, self._touched = self._touched, {}
            for line in touched:
                if len(self._lines[line]) > 1:
                    self._split(line)
        self._lines.clear()  # of no further use, and larger than the margins

    def drop_sums(self) -> None:
        """Drop margins that are sums of disjoint smaller ones across several features.

        The parts of a margin are picked greedily, largest first, each disjoint from those before.
        Every dropped margin is such a sum, which is checked against the counts; but not every such
        sum is found. A redundant margin that stays is still correct; it only costs time.
        """
        margins = self._minimal()
        rows = [self._masks[margin] for margin in margins]
        pairs = PredicatePairs(rows)
        volume = np.array([math.prod(m.bit_count() for m in masks) for masks in rows], dtype=float)
        for slab in slabs(len(rows)):
            inside = pairs.inside(slab)
            # Only a margin whose parts are large enough together can be their sum.
            for at in np.flatnonzero(inside @ volume >= 2 * volume[slab]).tolist():
                whole = slab.start + at
                inner = np.flatnonzero(inside[at])
                inner = inner[np.argsort(-volume[inner], kind="stable")][1:]  # the first is itself
                parts = inner[pairs.first_disjoint(inner)]
                if volume[parts].sum() == volume[whole]:
                    self._is_sum(margins[whole], [margins[part] for part in parts.tolist()])

    def _number(self, masks: Masks) -> int:
        number = 0
        for mask, shift in zip(masks, self._shifts, strict=True):
            number |= mask << shift
        return number

    def _add(self, margin: int, masks: Masks, terms: Terms) -> None:
        self._masks[margin], self._terms[margin] = masks, terms
        for f, bits in enumerate(self._fields):
            mask = margin & bits
            line = (f, margin ^ mask)
            self._lines[line].append(mask)
            self._touched[line] = None

    def _is_sum(self, whole: int, parts: Sequence[int]) -> None:
        difference = self._less(whole, parts)
        self.checks.append(difference)
        self._relations[whole, tuple(parts)] = None
        self._sums.add(whole)

    def _less(self, whole: int, parts: Sequence[int]) -> Terms:
        """Subtract some parts from a margin's count."""
        difference = dict(self._terms[whole])
        for part in parts:
            _subtract(difference, self._terms[part])
        return difference

    def _split(self, line: tuple[int, int]) -> None:
        """Split the margins of a line, which differ in one feature, into disjoint parts."""
        f, rest = line
        parts: list[int] = []
        union = 0
        for mask in sorted(sorted(self._lines[line]), key=int.bit_count):
            inside, remainder = [], mask
            for part in parts if mask & union else ():
                if part & remainder == part:
                    inside.append(rest | part)
                    remainder ^= part
                    if not remainder:
                        break
            union |= mask
            if not inside:
                parts.append(mask)
                continue
            whole, left = rest | mask, rest | remainder
            self._sums.add(whole)
            within = (*inside, left) if remainder else tuple(inside)
            if remainder:
                parts.append(remainder)
            if (whole, within) in self._relations:
                continue
            self._relations[whole, within] = None
            if remainder and left not in self._terms:
                masks = list(self._masks[whole])
                masks[f] = remainder >> self._shifts[f]
                self._add(left, tuple(masks), self._less(whole, inside))
            else:
                self.checks.append(self._less(whole, within))


def _tally_terms(
    masks: Masks, at: int, release: Release, known: dict[Masks, Terms]
) -> Terms | None:
    """Express a tally as the sum of the margins of its options, if all are known."""
    total: Terms = {}
    for margin in predicates(masks, at, release):
        if margin not in known:
            return None
        total = _minus(total, {c: -n for c, n in known[margin].items()})
    return total


def predicates(masks: Masks, tally: int | None, release: Release) -> tuple[Masks, ...]:
    """Return the predicates whose counts a cell sums: one, or for a tally one for each option."""
    if tally is None:
        return (masks,)
    feature = release.features[tally]
    picked = (masks[tally] & feature.includes(option) for option in feature.options)
    return tuple((*masks[:tally], mask, *masks[tally + 1 :]) for mask in picked if mask)


def _minus(left: Terms, right: Terms) -> Terms:
    difference = dict(left)
    _subtract(difference, right)
    return difference


def _subtract(terms: Terms, right: Terms) -> None:
    """Subtract ``right`` from ``terms``, in place."""
    for column, coefficient in right.items():
        value = terms.get(column, 0) - coefficient
        if value:
            terms[column] = value
        else:
            terms.pop(column, None)


def _distinct(checks: list[Terms]) -> list[Terms]:
    """Return the distinct nonempty combinations."""
    unique = {(*(order := sorted(terms)), *map(terms.get, order)): terms for terms in checks}
    return [terms for terms in unique.values() if terms]


def combination_matrix(rows: Sequence[Terms], width: int) -> sparse.csr_array:
    """Build a sparse (combinations × columns) matrix of linear combinations."""
    lengths = [len(terms) for terms in rows]
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    indices = np.array([c for terms in rows for c in terms], dtype=np.int32)
    data = np.array([n for terms in rows for n in terms.values()], dtype=np.int64)
    return sparse.csr_array((data, indices, indptr), shape=(len(rows), width))


def cells_of(pattern: CoveragePattern) -> list[tuple[str, int]]:
    """List the (table, cell number) pairs of a pattern."""
    return [(name, number) for name, numbers in pattern.cells.items() for number in numbers]


def relations_of(release: Release, pattern: CoveragePattern) -> sparse.csr_array:
    """Return (relations × cells of the pattern) combinations that are zero for true counts."""
    return close_margins(release, cells_of(pattern)).checks


def count_matrix(
    pattern: CoveragePattern, geoids: pl.Series, counts: pl.DataFrame
) -> sparse.csr_array:
    """Return a (geounits × cells of the pattern) matrix of counts.

    Args:
        geoids: The geounits, distinct.
        counts: ``geoid, table, cell, count``; counts of other geounits are ignored.
    """
    cells = cells_of(pattern)
    columns = pl.DataFrame(cells, schema={"table": pl.String, "cell": pl.Int16}, orient="row")
    rows = pl.DataFrame({"geoid": geoids}).with_row_index("_row")
    placed = counts.join(rows, on="geoid").join(
        columns.with_row_index("_column"), on=["table", "cell"]
    )
    data: IntArray = placed["count"].cast(pl.Int64).to_numpy()
    at = (placed["_row"].to_numpy(), placed["_column"].to_numpy())
    return sparse.coo_array((data, at), shape=(len(geoids), len(cells))).tocsr()
