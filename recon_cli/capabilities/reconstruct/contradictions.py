"""Contradictions: the published cells whose change makes a release possible.

Regions share no count, so the least change of a whole region is sought first. If that has too many
unknowns, the message names a single geounit whose own counts contradict each other, or a coarse
geounit that is not the sum of its units; it does not call this the least change. The unknowns are
all histogram cells of the units in question, those under a published zero included: a zero may be
wrong.

See *contradiction* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import AtomArray, IntArray
from recon_cli.capabilities.reconstruct.correction import min_l1_correction
from recon_cli.capabilities.reconstruct.facts import PublishedCell
from recon_cli.capabilities.reconstruct.statistic_contradictions import statistic_contradiction
from recon_cli.coverage import CoveragePattern
from recon_cli.errors import ContradictionError, SolverError
from recon_cli.frames import OPEN
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.distinct_rows import distinct_columns
from recon_cli.model.grain import Grain, enumerate_domain, group_rows, refine
from recon_cli.model.plan import Plan
from recon_cli.model.program import LinearConstraints
from recon_cli.plurals import plural
from recon_cli.publication import Publication
from recon_cli.schema.description import describe_cell

#: Most geounits that are examined one by one.
_TRIED = 200
#: Cells or geounits that a message lists.
_SHOWN = 8


def contradiction(
    plan: Plan, published: Publication, counts: PartitionCounts, suspects: IntArray
) -> ContradictionError:
    """Return the error for geounits whose counts no records can have.

    Args:
        suspects: Row numbers of geounits that take part in contradictions. A region with one of
            them has no solution.

    Raises:
        SolverError: Two engines disagree on the least change, or on whether one is needed.
    """
    cells = CellsInUse(plan, published, counts)
    level = plan.release.region
    regions = sorted({level.enclosing(cells.geoid(row)) for row in suspects.tolist()})
    others = ""
    if len(regions) > 1:
        name = level.name if len(regions) == 2 else plural(level.name)
        others = f"; at least {len(regions) - 1} other {name} contradict too"
    printed = statistic_contradiction(plan, counts, regions[0])
    if printed is not None:
        return printed
    region = f"{level.name} {regions[0]}"
    inside = cells.rows_in(regions[0])
    units = [row for row in inside if cells.level(row) == plan.release.geography.unit.name]
    correction = least_correction(plan, cells, inside, units)
    if correction is not None and not correction.cells:
        raise SolverError(
            f"{region}: bounds of its counts contradict each other, a solver does not"
        )
    if correction is not None:
        message = _correction_message(plan, correction, f"all counts of {region}")
    elif published.is_exact:
        order = [row for row in suspects.tolist() if row in set(inside)]
        message = _partial_message(plan, cells, inside, units, order)
        message += f"; the least change for all counts of {region} is not known"
    else:
        message = f"the least change for all counts of {region} is not known"
    if not published.is_exact:
        named = suspects[:_SHOWN].tolist()
        names = ", ".join(f"{cells.level(row)} {cells.geoid(row)}" for row in named)
        message = (
            f"in {names} no true counts within what they state fit together; {message}; is the law "
            "declared for them the right one?"
        )
    schema = f"does the schema of release {plan.release.name!r} say what the tables count?"
    return ContradictionError(
        f"published counts contradict each other: {message}{others}; {schema}", regions[0]
    )


def _partial_message(
    plan: Plan, cells: CellsInUse, inside: list[int], units: list[int], suspects: list[int]
) -> str:
    """Describe contradictions geounit by geounit, where the region has too many unknowns."""
    finest_first = sorted(suspects, key=lambda row: (-len(cells.geoid(row)), cells.geoid(row)))
    # A clash between levels may come from a unit that is no suspect.
    tried = [*finest_first, *(row for row in units if row not in set(suspects))][:_TRIED]
    alone = ((row, least_correction(plan, cells, [row], [row])) for row in tried)
    contradicting = [(row, each) for row, each in alone if each is not None and each.cells]
    if contradicting:
        row, correction = contradicting[0]
        name = f"{cells.level(row)} {cells.geoid(row)}"
        message = _correction_message(plan, correction, f"the counts of {name}, taken alone,")
        more = len(contradicting) - 1
        return message + (f"; at least {more} more geounits contradict themselves" if more else "")
    unit = plan.release.geography.unit.name
    for row in inside:
        if row not in units and (differing := list(_unequal_sums(cells, row, units))):
            return _listed(
                f"{_called(plan, cell)}: published {cell.count}, its {plural(unit)} sum to {total}"
                for cell, total in differing
            )
    names = [f"{cells.level(row)} {cells.geoid(row)}" for row in finest_first]
    return f"in {', '.join(names[:_SHOWN])}" + (" and others" if len(names) > _SHOWN else "")


def _unequal_sums(
    cells: CellsInUse, row: int, units: Sequence[int]
) -> Iterator[tuple[PublishedCell, int]]:
    """Yield cells of a coarse geounit that are not the sum of its units, with that sum."""
    inside = [unit for unit in units if cells.is_inside(unit, row)]
    totals: Counter[tuple[str, int]] = Counter()
    published: Counter[tuple[str, int]] = Counter()
    for unit in inside:
        for c in cells.of(unit):
            totals[c.table.name, c.cell.number] += c.count
            published[c.table.name, c.cell.number] += 1
    for c in cells.of(row):
        key = c.table.name, c.cell.number
        if inside and published[key] == len(inside) and totals[key] != c.count:
            yield c, totals[key]


def _called(plan: Plan, cell: PublishedCell) -> str:
    """Name a cell by its number, and by whom it counts."""
    code = cell.table.codes[cell.cell.number - 1]
    counted = f"{cell.cell.number} ({code}, {describe_cell(plan.release, cell.cell)})"
    return f"{cell.level} {cell.geoid} table {cell.table.name} cell {counted}"


def _correction_message(plan: Plan, correction: CountCorrection, counts: str) -> str:
    """Describe a change; call it the least only if that is proven."""
    kind = "the least change" if correction.is_least else "a change, not proven least,"
    number = len(correction.cells)
    listed = _listed(f"{_called(plan, c)}: {_changed(c, step)}" for c, step in correction.cells)
    message = (
        f"{kind} that makes {counts} possible is {correction.total} in "
        f"{number} {'cell' if number == 1 else 'cells'}: {listed}"
    )
    if correction.is_least and correction.has_alternative:
        message += "; others, of other cells, are as small"
    return message


def _changed(cell: PublishedCell, step: int) -> str:
    """Describe a published count or statement, and the value that it would need."""
    if cell.high in (None, cell.count):
        return f"{cell.count} → {cell.count + step}"
    stated = f"{cell.count} to {cell.high}" if cell.high < OPEN else f"{cell.count} or more"
    return f"{stated} → {cell.count + step if step < 0 else cell.high + step}"


def _listed(cells: Iterator[str]) -> str:
    texts = list(cells)
    more = f"; and {len(texts) - _SHOWN} more cells" if len(texts) > _SHOWN else ""
    return "; ".join(texts[:_SHOWN]) + more


#: Histogram cells that may be enumerated.
_LARGEST = 1_000_000
#: Most unknowns of a program that is solved.
_WIDEST = 30_000
#: Most published zeros that count a histogram cell in which people may be nevertheless.
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
        return sum(abs(step) for _, step in self.cells)


class CellsInUse:
    """The published cells of the tables in use, by row number of their geounit."""

    def __init__(self, plan: Plan, published: Publication, counts: PartitionCounts) -> None:
        self._plan = plan
        self._coverage = published.coverage
        self._counts = counts
        self._geography = plan.release.geography

    def geoid(self, row: int) -> str:
        return str(self._counts.geoids[row])

    def is_inside(self, row: int, other: int) -> bool:
        """Test whether a geounit is, or lies in, another."""
        return self._geography.inside(self.geoid(row), self.geoid(other))

    def level(self, row: int) -> str:
        return self._pattern(row).level

    def rows_in(self, geoid: str) -> list[int]:
        """List the geounits inside another one, itself included."""
        inside = self._geography.inside(self._counts.geoids, geoid).to_numpy()
        return [int(row) for row in np.flatnonzero(inside)]

    def of(self, row: int) -> Iterator[PublishedCell]:
        """Yield the geounit's published cells, zeros included."""
        low, high = self._ends(row)
        for table, cell in self._pattern(row).published_cells(self._plan.tables):
            at = self._plan.columns[table.name, cell.number]
            greatest = None if high is None else int(high[at])
            yield PublishedCell(
                self.level(row), self.geoid(row), table, cell, int(low[at]), greatest
            )

    def _ends(self, row: int) -> tuple[IntArray, IntArray | None]:
        """Return the counts by the plan's columns and None, or their least and greatest values."""
        if self._counts.intervals is None:
            return self._counts.matrix[[row]].toarray()[0], None
        low, high = self._counts.intervals.of(np.array([row]))
        return low[0], high[0]

    def _pattern(self, row: int) -> CoveragePattern:
        return self._coverage[int(self._counts.pattern[row])]


def least_correction(
    plan: Plan, cells: CellsInUse, geounits: Sequence[int], units: Sequence[int]
) -> CountCorrection | None:
    """Find the least change to the counts of some geounits that makes them possible: Eq. (slack).

    Args:
        geounits: Row numbers of the geounits whose counts must agree.
        units: The geounits among these that people are placed in.

    Returns:
        None if there are too many unknowns, or if only the change of all counts to zero was found
        in time. A correction without cells if the counts agree as they are.

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
        # A person counted by k published zeros changes all k of them, which costs at least k.
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
        """Return a sparse (published cells × unknowns) matrix, equal unknowns merged.

        Args:
            units: Row numbers of the units.
            allowed: Most published zeros that may count a histogram cell.
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
        return sparse.csr_array(A[:, distinct_columns(A)[0]])

    def _entries(self, unit: int, allowed: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return row, column and weight of one unit's entries."""
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
    """Return for each layer of disjoint cells the one that counts each histogram cell."""
    predicates = [c.cell for c in cells]
    groups = group_rows(
        grain, plan.release.full, [c.masks for c in predicates], [c.tally for c in predicates]
    )
    return [row for group in groups for row in group.rows_of(atoms)]
