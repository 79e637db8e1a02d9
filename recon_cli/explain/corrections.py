"""The least change of published counts under which records with these counts exist.

The unknowns are all histogram cells of the units in question, those under a published zero
included: a zero may be what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import AtomArray, IntArray
from recon_cli.coverage import CoveragePattern
from recon_cli.explain.facts import PublishedCell
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.grain import Grain, enumerate_domain, group_rows, refine
from recon_cli.model.plan import Plan
from recon_cli.publication import Publication
from recon_cli.solve.correction import min_l1_correction

#: Histogram cells that may be enumerated.
_LARGEST = 1_000_000
#: Unknowns of a program that is tried.
_WIDEST = 30_000
#: Published zeros above a histogram cell that may hold people all the same.
_ZEROS = 12


@dataclass(frozen=True)
class CountCorrection:
    """A change of published counts that makes some geounits' counts possible.

    Attributes:
        cells: The changed cells, and what to add to each count, or to what it states.
        is_least: Whether it is proven that no smaller total change makes them possible.
        has_alternative: Whether another change, as small and of other cells too, is known.
    """

    cells: tuple[tuple[PublishedCell, int], ...]
    is_least: bool
    has_alternative: bool

    @property
    def total(self) -> int:
        """By how much the counts change, all together."""
        return sum(abs(step) for _, step in self.cells)


class CellsInUse:
    """The published cells of the tables in use, by row number of their geounit."""

    def __init__(self, plan: Plan, published: Publication, counts: PartitionCounts) -> None:
        self._plan = plan
        self._coverage = published.coverage
        self._counts = counts
        self._geography = plan.release.geography

    def geoid(self, row: int) -> str:
        """The geounit's geoid."""
        return str(self._counts.geoids[row])

    def is_inside(self, row: int, other: int) -> bool:
        """Whether a geounit lies in another, or is it."""
        return self._geography.inside(self.geoid(row), self.geoid(other))

    def level(self, row: int) -> str:
        """The geounit's level."""
        return self._pattern(row).level

    def rows_in(self, geoid: str) -> list[int]:
        """The geounits inside another one, itself included."""
        inside = self._geography.inside(self._counts.geoids, geoid).to_numpy()
        return [int(row) for row in np.flatnonzero(inside)]

    def of(self, row: int) -> Iterator[PublishedCell]:
        """The geounit's published cells, zeros included."""
        low, high = self._ends(row)
        for table, cell in self._pattern(row).published_cells(self._plan.tables):
            at = self._plan.columns[table.name, cell.number]
            greatest = None if high is None else int(high[at])
            yield PublishedCell(
                self.level(row), self.geoid(row), table, cell, int(low[at]), greatest
            )

    def _ends(self, row: int) -> tuple[IntArray, IntArray | None]:
        """Counts by the plan's columns; or the least and the greatest that are stated."""
        if self._counts.intervals is None:
            return self._counts.matrix[[row]].toarray()[0], None
        low, high = self._counts.intervals.of(np.array([row]))
        return low[0], high[0]

    def _pattern(self, row: int) -> CoveragePattern:
        return self._coverage[int(self._counts.pattern[row])]


def least_correction(
    plan: Plan, cells: CellsInUse, geounits: Sequence[int], units: Sequence[int]
) -> CountCorrection | None:
    """The least change to the counts of some geounits that makes them possible: Eq. (slack).

    Args:
        plan: Which tables are in use.
        cells: The published cells.
        geounits: Row numbers of the geounits whose counts must agree.
        units: Those of them that people are placed in.

    Returns:
        None where there are too many unknowns to try, or nothing was found in time but to take all
        counts back. No cells where the counts agree as they are.

    Raises:
        SolverError: Two engines disagree on what is least.
    """
    published = {row: list(cells.of(row)) for row in geounits}
    every = [cell for row in geounits for cell in published[row]]
    tallied = {c.cell.tally for c in every if c.cell.tally is not None}
    grain = refine(plan.release, {c.cell.masks for c in every}, tallied)
    if math.prod(grain.sizes) * len(units) > _LARGEST:
        return None
    unknowns = _Unknowns(plan, grain, cells, published)
    least = np.array([c.count for c in every], dtype=np.int64)
    most = np.array([c.greatest for c in every], dtype=np.int64)
    allowed = 1
    while True:
        matrix = unknowns.matrix(units, allowed)
        if matrix.shape[1] > _WIDEST:
            return None
        rows = np.flatnonzero((least > 0) | (np.diff(matrix.indptr) > 0))
        counts = LinearConstraints(sparse.csr_array(matrix[rows]), least[rows], most[rows])
        correction = min_l1_correction(counts)
        # Whoever is under k zeros changes each of them: more than the total cannot be cheaper.
        is_complete = correction.total <= allowed
        if not correction.is_least and correction.total >= least.sum():
            return None
        if is_complete or not correction.is_least or allowed == _ZEROS:
            break
        allowed = min(correction.total, _ZEROS)
    return CountCorrection(
        cells=tuple(
            (every[rows[i]], int(correction.change[i]))
            for i in np.flatnonzero(correction.change).tolist()
        ),
        is_least=correction.is_least and is_complete,
        has_alternative=correction.has_alternative,
    )


class _Unknowns:
    """Histogram cells of units, and the published cells that count them."""

    def __init__(
        self,
        plan: Plan,
        grain: Grain,
        cells: CellsInUse,
        published: Mapping[int, list[PublishedCell]],
    ) -> None:
        self._cells = cells
        self._atoms = enumerate_domain(grain.sizes)
        self._greatest = np.array(
            [cell.greatest for each in published.values() for cell in each], dtype=np.int64
        )
        self._tally = np.array(
            [
                -1 if cell.cell.tally is None else cell.cell.tally
                for each in published.values()
                for cell in each
            ],
            dtype=np.int64,
        )
        self._picked = {f: grain.picked(plan.release, f) for f in set(self._tally.tolist()) - {-1}}
        self._layers: dict[int, list[IntArray]] = {}
        of_cells: dict[tuple[tuple[str, int], ...], list[IntArray]] = {}
        first = 0
        for row, each in published.items():
            key = tuple((cell.table.name, cell.cell.number) for cell in each)
            if key not in of_cells:
                of_cells[key] = _layers(plan, grain, self._atoms, each)
            self._layers[row] = [np.where(at < 0, -1, at + first) for at in of_cells[key]]
            first += len(each)

    def matrix(self, units: Sequence[int], allowed: int) -> sparse.csr_array:
        """Sparse (published cells × unknowns), unknowns that nothing tells apart as one.

        Args:
            units: Row numbers of the units.
            allowed: Published zeros that may be above a histogram cell.
        """
        entries = [self._entries(unit, allowed) for unit in units]
        width = np.cumsum([0, *(int(column.max(initial=-1)) + 1 for _, column, _ in entries)])
        columns = [column + at for at, (_, column, _) in zip(width, entries, strict=False)]
        A = sparse.csc_array(
            (
                np.concatenate([weight for _, _, weight in entries]),
                (np.concatenate([row for row, _, _ in entries]), np.concatenate(columns)),
            ),
            shape=(len(self._greatest), int(width[-1])),
        )
        return _distinct_columns(A)

    def _entries(self, unit: int, allowed: int) -> tuple[IntArray, IntArray, IntArray]:
        """Row, column and weight of one unit's entries."""
        layers = [
            layer
            for row, each in self._layers.items()
            if self._cells.is_inside(unit, row)
            for layer in each
        ]
        if not layers:
            return (np.empty(0, dtype=np.int64),) * 3
        counted = np.stack(layers)
        zeros = ((self._greatest[counted] == 0) & (counted >= 0)).sum(axis=0)
        keep = np.flatnonzero((zeros <= allowed) & (counted >= 0).any(axis=0))
        line, column = np.nonzero(counted[:, keep] >= 0)
        row = counted[line, keep[column]]
        weight = np.ones(len(row), dtype=np.int64)
        for feature, picked in self._picked.items():
            tallied = self._tally[row] == feature
            weight[tallied] = picked[self._atoms[keep[column[tallied]], feature]]
        return row, column, weight


def _layers(
    plan: Plan, grain: Grain, atoms: AtomArray, cells: Sequence[PublishedCell]
) -> list[IntArray]:
    """For each layer of disjoint cells, the place of the one that counts each histogram cell."""
    predicates = [c.cell for c in cells]
    groups = group_rows(
        grain, plan.release.full, [c.masks for c in predicates], [c.tally for c in predicates]
    )
    return [
        layer[codes] for group in groups for codes in [group.codes(atoms)] for layer in group.layers
    ]


def _distinct_columns(A: sparse.csc_array) -> sparse.csr_array:
    """The first of each set of equal columns."""
    A.sort_indices()
    seen: dict[bytes, int] = {}
    for column in range(A.shape[1]):
        part = slice(A.indptr[column], A.indptr[column + 1])
        seen.setdefault(A.indices[part].tobytes() + A.data[part].tobytes(), column)
    return sparse.csr_array(A[:, list(seen.values())])
