"""Contradicting counts, named: the cells whose change would make a release possible.

The smallest part that contradicts itself is looked for first: a single geounit, then a coarse
geounit against the sum of its units, then a whole region.

See *contradiction* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from scipy import sparse

from recon_cli.errors import ContradictionError
from recon_cli.explain.facts import PublishedCell
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.grain import Grain, IntArray, enumerate_domain, group_rows, refine
from recon_cli.model.plan import Plan
from recon_cli.publication import CoveragePattern, Publication
from recon_cli.solve.repair import min_l1_correction

#: Histogram cells that an explanation may enumerate; larger parts are only named.
_LARGEST = 1_000_000
#: Zeros that a person may be put under; beyond, a change is found but not called the least.
_ZEROS = 6
#: Units that are looked at although nothing points at them.
_TRIED = 200
_SHOWN = 8


def contradiction(
    plan: Plan, published: Publication, counts: PartitionCounts, suspects: IntArray
) -> ContradictionError:
    """The error for geounits whose counts no records can have.

    Args:
        plan: Which tables are in use.
        published: The partition.
        counts: The same as arrays.
        suspects: Row numbers of geounits that take part in the contradiction.
    """
    cells = _Cells(plan, published, counts)
    geography = plan.release.geography
    order = sorted(suspects.tolist(), key=lambda row: (-len(cells.geoid(row)), cells.geoid(row)))
    regions = sorted({cells.geoid(row)[: plan.release.region.digits] for row in order})
    where = f" ({len(regions)} {plan.release.region.name}s are affected)" if regions[1:] else ""
    region = regions[0]
    order = [row for row in order if cells.geoid(row).startswith(region)]
    inside = cells.rows_in(region)
    units = [row for row in inside if cells.level(row) == geography.unit.name]
    for row in order:
        if (change := _change(plan, cells, [row], [row])) is not None:
            return ContradictionError(_message(change, where))
    for row in inside:
        if row not in units and (clash := _sums(cells, row, units)):
            return ContradictionError(_clash_message(clash, geography.unit.name, where))
    # A clash between levels may come from a unit that looked fine so far.
    for row in [unit for unit in units if unit not in order][:_TRIED]:
        if (change := _change(plan, cells, [row], [row])) is not None:
            return ContradictionError(_message(change, where))
    change = _change(plan, cells, inside, units)
    if change is not None:
        return ContradictionError(_message(change, where))
    names = ", ".join(f"{cells.level(row)} {cells.geoid(row)}" for row in order[:_SHOWN])
    return ContradictionError(f"published counts contradict each other in {names}{where}")


class _Cells:
    """The published cells in use, by geounit."""

    def __init__(self, plan: Plan, published: Publication, counts: PartitionCounts) -> None:
        self._plan = plan
        self._coverage = published.coverage
        self._counts = counts

    def geoid(self, row: int) -> str:
        return str(self._counts.geoids[row])

    def pattern(self, row: int) -> CoveragePattern:
        return self._coverage[int(self._counts.pattern[row])]

    def level(self, row: int) -> str:
        return self.pattern(row).level

    def rows_in(self, region: str) -> list[int]:
        inside = self._counts.geoids.str.starts_with(region).to_numpy()
        return [int(row) for row in np.flatnonzero(inside)]

    def of(self, row: int) -> Iterator[PublishedCell]:
        numbers = self.pattern(row).cells
        found = self._counts.matrix[[row]].toarray()[0]
        for table in self._plan.tables:
            for number in numbers.get(table.name, ()):
                count = int(found[self._plan.columns[table.name, number]])
                cell = table.cells[number - 1]
                yield PublishedCell(self.level(row), self.geoid(row), table, cell, count)


def _change(
    plan: Plan, cells: _Cells, geounits: Sequence[int], units: Sequence[int]
) -> tuple[list[tuple[PublishedCell, int]], bool] | None:
    """The least change to the counts of ``geounits`` that makes them possible.

    None when they are possible as they are, or too large to enumerate.
    """
    published = {row: list(cells.of(row)) for row in geounits}
    every = [cell for row in geounits for cell in published[row]]
    if not every:
        return None
    tallied = {c.cell.tally for c in every if c.cell.tally is not None}
    grain = refine(plan.release, {c.cell.masks for c in every}, tallied)
    if math.prod(grain.sizes) * len(units) > _LARGEST:
        return None
    rhs = np.array([c.count for c in every], dtype=np.int64)
    allowed = 1
    while True:
        matrix = _unknowns(plan, grain, cells, published, units, allowed=allowed)
        rows = np.flatnonzero((rhs > 0) | (np.diff(matrix.indptr) > 0))
        slack = min_l1_correction(sparse.csr_array(matrix[rows]), rhs[rows])
        total = int(np.abs(slack.change).sum())
        # Whoever is put under k zeros changes each of them: more zeros cannot be cheaper.
        if total <= allowed + 1 or not slack.is_least or allowed >= _ZEROS:
            break
        allowed = min(total - 1, _ZEROS)
    changed = np.flatnonzero(slack.change)
    if not len(changed):
        return None
    is_least = slack.is_least and total <= allowed + 1
    return [(every[rows[i]], int(slack.change[i])) for i in changed], is_least


def _unknowns(
    plan: Plan,
    grain: Grain,
    cells: _Cells,
    published: dict[int, list[PublishedCell]],
    units: Sequence[int],
    *,
    allowed: int,
) -> sparse.csr_array:
    """Sparse (published cells × unknowns): histogram cells of the units under few zeros.

    A count wrongly published as zero rules histogram cells out alone, so ``allowed`` zeros are
    let pass.
    """
    atoms = enumerate_domain(grain.sizes)
    full = plan.release.full
    offsets = dict(
        zip(published, np.cumsum([0, *map(len, published.values())])[:-1].tolist(), strict=True)
    )
    entries: list[tuple[IntArray, IntArray, IntArray]] = []
    width = 0
    for unit in units:
        above = [row for row in published if cells.geoid(unit).startswith(cells.geoid(row))]
        rows: list[IntArray] = []
        for row in above:
            predicates = [c.cell for c in published[row]]
            groups = group_rows(
                grain, full, [c.masks for c in predicates], [c.tally for c in predicates]
            )
            for group in groups:
                codes = group.codes(atoms)
                rows += [
                    np.where(layer[codes] < 0, -1, layer[codes] + offsets[row])
                    for layer in group.layers
                ]
        if not rows:
            continue
        table = np.stack(rows)
        counts = np.array([c.count for row in published for c in published[row]])
        zeros = ((counts[table] == 0) & (table >= 0)).sum(axis=0)
        keep = np.flatnonzero((zeros <= allowed) & (table >= 0).any(axis=0))
        line, cell = np.nonzero(table[:, keep] >= 0)
        row_number = table[line, keep[cell]]
        weight = _weights(plan, grain, published, row_number, atoms[keep[cell]])
        entries.append((row_number, width + cell, weight))
        width += len(keep)
    height = sum(map(len, published.values()))
    if not entries:
        return sparse.csr_array((height, 0), dtype=np.int64)
    r, c, w = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    return sparse.csr_array((w, (r, c)), shape=(height, width))


def _weights(
    plan: Plan,
    grain: Grain,
    published: dict[int, list[PublishedCell]],
    row: IntArray,
    atoms: np.ndarray[tuple[int, ...], np.dtype[np.int16]],
) -> IntArray:
    weight = np.ones(len(row), dtype=np.int64)
    tally = np.array(
        [
            -1 if c.cell.tally is None else c.cell.tally
            for cells in published.values()
            for c in cells
        ]
    )
    for feature in set(tally.tolist()) - {-1}:
        picked = grain.picked(plan.release, feature)
        mine = tally[row] == feature
        weight[mine] = picked[atoms[mine, feature]]
    return weight


def _sums(cells: _Cells, row: int, units: Iterable[int]) -> list[tuple[PublishedCell, int]]:
    """Cells of a coarse geounit that are not the sum of its units, with that sum."""
    totals: dict[tuple[str, int], int] = {}
    inside = [unit for unit in units if cells.geoid(unit).startswith(cells.geoid(row))]
    for unit in inside:
        for c in cells.of(unit):
            key = (c.table.name, c.cell.number)
            totals[key] = totals.get(key, 0) + c.count
    shared = set(totals)
    for unit in inside:
        shared &= {(c.table.name, c.cell.number) for c in cells.of(unit)}
    return [
        (c, totals[c.table.name, c.cell.number])
        for c in cells.of(row)
        if (c.table.name, c.cell.number) in shared
        and totals[c.table.name, c.cell.number] != c.count
    ]


def _message(change: tuple[list[tuple[PublishedCell, int]], bool], where: str) -> str:
    cells, is_least = change
    total = sum(abs(step) for _, step in cells)
    kind = "the least change" if is_least else "a change"
    listed = "; ".join(f"{c}: {c.count} → {c.count + step}" for c, step in cells[:_SHOWN])
    more = f"; and {len(cells) - _SHOWN} more cells" if len(cells) > _SHOWN else ""
    return (
        f"published counts contradict each other: {kind} that makes them possible is {total} "
        f"in {len(cells)} cell(s): {listed}{more}{where}"
    )


def _clash_message(clash: list[tuple[PublishedCell, int]], unit: str, where: str) -> str:
    listed = "; ".join(
        f"{c}: published {c.count}, its {unit}s sum to {total}" for c, total in clash[:_SHOWN]
    )
    more = f"; and {len(clash) - _SHOWN} more cells" if len(clash) > _SHOWN else ""
    return f"published counts contradict each other: {listed}{more}{where}"
